"""The report page as a file: safe to open, readable for all, the same every time, whole or not there."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import chromium
import pytest
from report_page import FACTS, FACTS_PATH, Page, as_matches, only, renamed

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from bluke_env.evaluation import page
from bluke_env.evaluation.files import write_text
from bluke_env.evaluation.page import main, render_page, write_page

NASTY = "<script>alert('1')</script>&\"$x^$ --> 牌 " + "long" * 30
CSS = Path(page.__file__).parent / "templates" / "page.css"


@pytest.fixture(scope="module")
def text() -> str:
    return render_page(FACTS)


@pytest.fixture(scope="module")
def shown(text: str) -> Page:
    return Page(text)


# Safe, accessible, and the same every time.


def test_names_are_text_and_nothing_else(shown: Page) -> None:
    nasty = Page(render_page(renamed(NASTY)))
    assert not nasty.all("script")
    assert not [name for _, attributes in nasty.tags for name in attributes if name.startswith("on")]
    assert [row[0] for row in nasty.tables["Tournament matrix"]][1] == NASTY
    assert any(NASTY in (svg["aria-label"] or "") for svg in nasty.all("svg"))
    assert Counter(tag for tag, _ in nasty.tags) == Counter(tag for tag, _ in shown.tags)


def test_nothing_is_loaded_from_elsewhere(text: str, shown: Page) -> None:
    assert "://" not in text
    assert "@import" not in text
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    links = [value or "" for _, tag in shown.tags for name, value in tag.items() if name in ("href", "src", "srcset")]
    assert all(link.startswith("#") or link == "data:," for link in links)


def test_every_reference_within_the_page_has_one_target(text: str, shown: Page) -> None:
    ids = Counter(attributes["id"] for _, attributes in shown.tags if "id" in attributes)
    assert set(ids.values()) == {1}
    targets = {attributes["href"] for _, attributes in shown.tags if (attributes.get("href") or "").startswith("#")}
    assert targets | set(re.findall(r"url\((#[^)]*)", text)) <= {f"#{name}" for name in ids}


def test_plots_and_tables_speak_to_those_who_cannot_see(shown: Page) -> None:
    plots = shown.all("svg")
    assert len(plots) == 12
    assert all(plot["role"] == "img" and len(plot["aria-label"] or "") > 20 for plot in plots)
    assert all(header["scope"] in ("col", "row") for header in shown.all("th"))


def luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance, WCAG 2.2."""
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", [0, 1])
def test_text_contrasts_with_what_is_behind_it(scheme: int) -> None:
    block = re.findall(r":root \{(.*?)\}", CSS.read_text(encoding="utf-8"), flags=re.DOTALL)[scheme]
    colours = {
        name: tuple(int(code[place : place + 2], 16) / 255 for place in (0, 2, 4))
        for name, code in re.findall(r"--(\w+): #([0-9a-f]{6});", block)
    }
    for side in ("more", "less"):
        mixed = zip(colours[side], colours["surface"], strict=True)
        colours[f"deepest {side}"] = tuple(0.45 * part + 0.55 * rest for part, rest in mixed)
    pairs = [(front, back) for front in ("ink", "muted", "accent") for back in ("page", "surface")]
    pairs += [("ink", back) for back in ("notice", "deepest more", "deepest less")]
    for front, back in pairs:
        dark, light = sorted((luminance(colours[front]), luminance(colours[back])))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (front, back)


def test_same_facts_give_the_same_bytes(text: str, tmp_path: Path) -> None:
    settings = tmp_path / "matplotlibrc"
    settings.write_text("font.size: 30\nsvg.fonttype: path\n", encoding="utf-8")
    elsewhere = os.environ | {"MATPLOTLIBRC": str(settings), "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "COLUMNS": "40"}
    command = [sys.executable, "-m", "bluke_env.evaluation.page", str(FACTS_PATH), str(tmp_path / "page.html")]
    subprocess.run(command, check=True, env=elsewhere)
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text


# Written whole or not at all.


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.html"
    write_text(path, "before ±\n")

    def full(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_page(path, only())
    assert path.read_bytes() == "before ±\n".encode()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("absent", ["jinja2", "matplotlib"])
def test_a_missing_extra_is_named(absent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(ModuleNotFoundError, match=f"needs {absent}: pip install 'bluke-env\\[evaluate\\]'"):
        write_page(tmp_path / "page.html", FACTS)
    assert not list(tmp_path.iterdir())


def test_importing_it_imports_neither_package() -> None:
    code = "import sys, bluke_env.evaluation.page; print({'jinja2', 'matplotlib'} & sys.modules.keys())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "Expecting property name"),
        ("[]", "no report of format 1"),
        ('{"format": 2}', "no report of format 1"),
        ('{"format": 1, "title": "x"}', "something is missing: 'rules'"),
    ],
)
def test_what_is_no_report_is_refused(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        main([str(facts), str(tmp_path / "page.html")])
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == [facts]


def test_files_that_cannot_be_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["absent.json", "page.html"], [str(FACTS_PATH), str(tmp_path / "absent" / "page.html")]):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        assert "absent" in capsys.readouterr().err


# To a browser.


@pytest.mark.slow
@pytest.mark.skipif(chromium.PATH is None, reason="needs Chromium")
@pytest.mark.parametrize("width", [360, 500, 1280])
class TestBrowser:
    @pytest.mark.parametrize("facts", [FACTS, renamed(NASTY), as_matches()], ids=["usual", "nasty", "matches"])
    def test_the_page_fits_and_loads_nothing(self, facts: dict[str, Any], width: int, tmp_path: Path) -> None:
        found = chromium.measured(render_page(facts), width, tmp_path)
        assert found["window"] == width
        assert found["page"] <= width
        assert len(set(found["plots"])) == 1
        assert 300 <= found["plots"][0] <= width
        assert found["requests"] == []
        assert found["console"] == []

    def test_a_bad_page_would_be_noticed(self, width: int, tmp_path: Path) -> None:
        bad = (
            '<!doctype html><div style="width: 2000px">wide</div><img src="http://127.0.0.1:9/absent.png">'
            "<script>console.error('bad')</script>"
        )
        found = chromium.measured(bad, width, tmp_path)
        assert found["page"] >= 2000
        assert found["requests"] == ["http://127.0.0.1:9/absent.png"]
        assert len(found["console"]) == 1


@pytest.mark.slow
@pytest.mark.skipif(chromium.PATH is None, reason="needs Chromium")
@pytest.mark.parametrize("name", ["runs/ppo-4p-13/best.pt", NASTY], ids=["usual", "nasty"])
def test_the_averages_of_whole_matches_need_no_scrolling(name: str, tmp_path: Path) -> None:
    facts = as_matches(mean=0.0, half_width=0.0, low=0.0, high=0.278)
    for comparison in facts["comparisons"]:
        comparison["player"]["name"] = comparison["opponent"]["name"] = name
    table = re.search('<table class="names averages">.*?</table>', render_page(facts), flags=re.DOTALL)
    assert table
    style = CSS.read_text(encoding="utf-8") + "body { padding: 0; }"
    room = 1000 - 2 * (16 + 1 + 24)  # what a window leaves beside the padding of the page and of the section
    assert chromium.measured(f"<!doctype html><style>{style}</style>{table[0]}", room, tmp_path)["page"] <= room
