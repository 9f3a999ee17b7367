"""Small files for playing, their cards, and networks by name."""

from pathlib import Path

import pytest
from tiny_runs import trainer

import agents
from agents import checkpoint, export
from agents.config import TrainConfig
from agents.options import load_player
from bluke_env import Rules, bots
from bluke_env.evaluation import measure, write_json
from bluke_env.evaluation.page_text import estimate_text
from bluke_env.evaluation.statistics import MIN_DEALS


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of networks that come with the project, with one that a run of a moment made."""
    with trainer(tmp_path / "run", num_players=3, past_share=0.25, past_every=1, average=0.5) as made:
        made.iterate()
        made.iterate()
        made.save()
    folder = tmp_path / "pretrained"
    monkeypatch.setattr(agents, "PRETRAINED", folder)
    export.main([str(tmp_path / "run" / "checkpoint.pt"), "small", "--folder", str(folder), "--processes", "1"])
    return folder


def test_an_exported_network_plays_as_the_run_it_comes_from(exported: Path, tmp_path: Path) -> None:
    run = tmp_path / "run" / "checkpoint.pt"
    assert (exported / "small.pt").stat().st_size < run.stat().st_size / 2
    assert agents.pretrained() == ["small"]
    rule, rules = bots.make("rule"), Rules(num_players=3)
    players = agents.load(run), agents.load("small"), load_player("small")
    assert [player.name for player in players] == [str(run), "small", "small"]
    leads = [measure(player, rule, rules, MIN_DEALS, 1, sizes=[4]).average["points"] for player in players]
    assert leads[0] == leads[1] == leads[2]


def test_a_card_says_how_the_network_was_made(exported: Path) -> None:
    card = (exported / "small.md").read_text("utf-8")
    data = checkpoint.read(exported / "small.pt")
    assert f"2 of {TrainConfig.from_dict(data['config']).iterations} iterations" in card
    command = card[card.index("```bash\n") + 8 :].partition("\n```")[0].replace("\\\n", "")
    assert command.startswith("python train.py ")
    assert "--num_players 3 " in command
    assert "run_dir" not in command
    assert str(exported.parent) not in card


def test_the_command_of_a_card_asks_for_the_same_settings(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from train import parse

    config = TrainConfig.from_dict(checkpoint.read(exported / "small.pt")["config"])
    words = export.command_of(config, 2).replace("\\\n", "").split()
    assert words[:4] == ["torchrun", "--nproc-per-node", "2", "train.py"]
    assert parse(words[4:]) == (config, None)


def test_a_run_cannot_go_on_from_a_network_for_playing_but_can_begin_with_it(exported: Path, tmp_path: Path) -> None:
    from train import parse

    with pytest.raises(ValueError, match="for playing alone: begin a run with --initial"):
        parse(["--resume", str(exported / "small.pt"), "--iterations", "9"])
    with trainer(tmp_path / "next", num_players=3, initial="small") as made:
        expected = agents.load("small").network.state_dict()
        assert all((made.learner.network.state_dict()[name] == value).all() for name, value in expected.items())


def test_what_cannot_be_exported_is_refused_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        export.main([str(tmp_path / "none.pt"), "small", "--folder", str(tmp_path)])
    assert "there is no checkpoint at" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_results_become_tables(exported: Path, tmp_path: Path) -> None:
    from agents.evaluate import compare

    result = compare(agents.load("small"), [bots.make("rule")], Rules(num_players=3), MIN_DEALS, 1, sizes=[4, 2])
    command = ["python -m agents.evaluate", "small", "--against", "rule", "--sizes", "4", "2"]
    write_json(tmp_path / "result.json", result.to_dict(command))
    run = str(tmp_path / "run" / "checkpoint.pt")
    export.main([run, "small", "--folder", str(exported), "--results", str(tmp_path / "result.json")])
    card = (exported / "small.md").read_text("utf-8")
    assert "```bash\npython -m agents.evaluate small --against rule --sizes 4 2\n```" in card
    lead = result.comparisons[0].average["over_same_seat"]
    assert f"| average | {lead.mean:+.2f} ± {lead.half_width:.2f} |" in card
    assert "## small against rule (version 1)" in card


def test_results_of_matches_say_how_many_were_won(exported: Path, tmp_path: Path) -> None:
    from agents.evaluate import compare

    result = compare(agents.load("small"), [bots.make("rule")], Rules(num_players=3), MIN_DEALS, 1, matches=True)
    write_json(tmp_path / "result.json", result.to_dict())
    run = str(tmp_path / "run" / "checkpoint.pt")
    export.main([run, "small", "--folder", str(exported), "--results", str(tmp_path / "result.json")])
    card = (exported / "small.md").read_text("utf-8")
    won = result.to_dict()["comparisons"][0]["average"]["match_wins"]
    assert f"{MIN_DEALS} matches × 3 rotations" in card
    assert f" {estimate_text(won, share=True)} |" in card


def test_what_is_no_result_is_refused_before_anything_is_written(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "none.json").write_text("{}")
    run, before = str(tmp_path / "run" / "checkpoint.pt"), sorted(exported.iterdir())
    with pytest.raises(SystemExit):
        export.main([run, "other", "--folder", str(exported), "--results", str(tmp_path / "none.json")])
    assert "none.json is no result of python -m agents.evaluate --json" in capsys.readouterr().err
    assert sorted(exported.iterdir()) == before
