"""Makes a small file for playing, and its card, of a trained network.

python -m agents.export runs/ppo_4p/best.pt bluke-4p --results pimc.json rule.json
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from agents import PRETRAINED, checkpoint
from agents.config import TrainConfig
from agents.logs import CURVE, read_rows
from agents.options import Parser
from bluke_env.evaluation.files import write_text
from bluke_env.evaluation.page_text import command_text, estimate_text
from bluke_env.evaluation.report import cpu_name, versions

CURVE_ROWS = 12


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    parser = Parser(prog="python -m agents.export", description="Makes a small file for playing of a trained network.")
    parser.add_argument("checkpoint", type=Path, help="of the run, in its folder")
    parser.add_argument("name", help="what the network is to be called")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="of the run (default: 2)")
    parser.add_argument(
        "--results", nargs="*", type=Path, default=[], metavar="JSON", help="of python -m agents.evaluate"
    )
    parser.add_argument("--folder", type=Path, default=PRETRAINED, help="where the files go (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        data = checkpoint.read(options.checkpoint)
        results = [_read(path) for path in options.results]
    except (OSError, ValueError) as error:
        parser.error(str(error))
    path = options.folder / f"{options.name}.pt"
    checkpoint.save(path, checkpoint.for_playing(data))
    curve = read_rows(options.checkpoint.with_name(CURVE))
    card = card_of(options.name, data, options.processes, curve, results, path)
    write_text(path.with_suffix(".md"), card)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, and {path.with_suffix('.md')}")


def _read(path: Path) -> dict[str, Any]:
    result = json.loads(path.read_text("utf-8"))
    if not isinstance(result, dict) or not {"command", "comparisons", "unit"} <= result.keys():
        raise ValueError(f"{path} is no result of python -m agents.evaluate --json")
    return result


def card_of(
    name: str,
    data: dict[str, Any],
    processes: int,
    curve: Sequence[dict[str, float]],
    results: Sequence[dict[str, Any]],
    path: Path,
) -> str:
    """Returns what there is to know about a network, as Markdown.

    Args:
        name: Of the network.
        data: The checkpoint of the run.
        processes: Of the run.
        curve: Its live evaluations.
        results: Evaluations of the network, as `agents.evaluate --json` writes them.
        path: The file for playing.
    """
    config, progress = TrainConfig.from_dict(data["config"]), data["progress"]
    tables = " or ".join(map(str, config.seats))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    packages = ", ".join(f"{package} {version}" for package, version in versions().items())
    lines = [
        f"# {name}",
        "",
        f"Plays {'Back Alley' if config.preset == 'back_alley' else 'Bluke'} at tables of {tables}: "
        f'`agents.load("{name}")`, or `{name}` wherever a player is named. SHA-256 of the file: `{digest}`.',
        "",
        "## How it was made",
        "",
        f"{progress['iteration']:,} of {config.iterations:,} iterations, {progress['decisions'] / 1e6:.0f} million "
        f"decisions, {progress['seconds'] / 60:.1f} minutes of training in {progress['precision']}, {processes} "
        f"process(es), on {cpu_name()}; {packages}.",
        "",
        "```bash",
        command_of(config, processes),
        "```",
    ]
    if curve:
        lines += ["", "## Learning curve", "", *_curve(curve)]
    for result in results:
        lines += ["", *_results(result)]
    return "\n".join(lines) + "\n"


def command_of(config: TrainConfig, processes: int) -> str:
    """Returns the command that trains with these settings; those that are the default are left out."""
    start = "python" if processes == 1 else f"torchrun --nproc-per-node {processes}"
    default, settings = TrainConfig().to_dict(), config.to_dict()
    chosen = [
        f"--{field.name} {json.dumps(settings[field.name], separators=(',', ':')).strip(chr(34))}"
        for field in fields(TrainConfig)
        if field.name != "run_dir" and settings[field.name] != default[field.name]
    ]
    return " \\\n  ".join([f"{start} train.py", *chosen])


def _curve(curve: Sequence[dict[str, float]]) -> list[str]:
    """Returns a table of at most about `CURVE_ROWS` live evaluations, the last among them."""
    step = -(-len(curve) // CURVE_ROWS)
    members = [column.removeprefix("over ") for column in curve[0] if f"{column} half width" in curve[0]]
    members = [member for member in members if f"over {member}" in curve[0]]
    lines = [
        "| minutes | million decisions | " + " | ".join(f"over {member}" for member in members) + " |",
        "|" + "---|" * (2 + len(members)),
    ]
    for row in curve[::-1][::step][::-1]:
        leads = [f"{row[f'over {member}']:+.2f} ± {row[f'over {member} half width']:.2f}" for member in members]
        lines.append(f"| {row['seconds'] / 60:.1f} | {row['decisions'] / 1e6:.1f} | " + " | ".join(leads) + " |")
    return lines


def _results(result: dict[str, Any]) -> list[str]:
    """Returns a table for each comparison of an evaluation, by hand size if it is not about whole matches."""
    lines, matches = [], result["unit"] == "match"
    command = ["", "```bash", command_text(result["command"]), "```"] if result["command"] else []
    played = "matches" if matches else "deals of each kind"
    for comparison in result["comparisons"]:
        player, opponent = (_named(comparison[side]) for side in ("player", "opponent"))
        lines += [
            f"## {player} against {opponent}",
            "",
            f"{result['rules']['num_players']} players, {result['deals']:,} {played} × {result['rotations']} "
            f"rotations, seed {result['seed']} ({result['split']}).",
            *command,
            "",
            "| cards | over same seat | over opponents | made | bid |" + matches * " matches won |",
            "|---|---|---|---|---|" + matches * "---|",
        ]
        rows = [(str(hand["cards"]), hand["estimates"]) for hand in comparison["hands"]]
        for name, estimates in [*rows, ("average", comparison["average"])]:
            leads = [f"{estimates[key]['mean']:+.2f} ± {estimates[key]['half_width']:.2f}" for key in LEADS]
            made, bid = estimates["made"]["mean"], estimates["bid"]["mean"]
            line = f"| {name} | {' | '.join(leads)} | {made:.1%} | {bid:.2f} |"
            if matches:
                line += f" {estimate_text(estimates['match_wins'], share=True)} |"
            lines.append(line)
        lines.append("")
    return lines[:-1]


def _named(player: dict[str, Any]) -> str:
    version = player["version"]
    return player["name"] if version is None else f"{player['name']} (version {version})"


LEADS = ("over_same_seat", "over_opponents")


if __name__ == "__main__":
    main()
