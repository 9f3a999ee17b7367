"""What a page looks like to a reader's browser: headless Chromium, started afresh for every question."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATH = next((found for name in NAMES if (found := shutil.which(name))), None)

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--virtual-time-budget=5000",
    "--window-size=1400,1000",
    "--dump-dom",
]

FRAME = """<!doctype html><meta charset="utf-8"><body>
<iframe style="width:{width}px;height:800px;border:0" srcdoc="{page}"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {{
  const page = frame.contentDocument.documentElement;
  const measured = {{
    "page": page.scrollWidth,
    "window": page.clientWidth,
    "requests": frame.contentWindow.performance.getEntriesByType("resource").map(entry => entry.name),
    "plots": [...page.querySelectorAll("svg")].map(plot => Math.round(plot.getBoundingClientRect().width)),
  }};
  frame.remove();
  document.body.dataset.measured = JSON.stringify(measured);
}});
</script>"""


def measured(page: str, width: int, folder: Path) -> dict[str, Any]:
    """Shows a page in a frame of that width; returns its width, the window's, those of the plots, requests, console."""
    wrapper = folder / "frame.html"
    wrapper.write_text(FRAME.format(width=width, page=html.escape(page)), encoding="utf-8")
    assert PATH
    run = subprocess.run(
        [PATH, *FLAGS, f"--user-data-dir={folder / 'profile'}", wrapper.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = re.search(r'data-measured="([^"]*)"', run.stdout)
    assert found, run.stderr
    console = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    return {**json.loads(html.unescape(found[1])), "console": console}
