"""Checkpoints: loaded anywhere, refused when they cannot be what they should, never lost."""

import functools
import os
import pickle
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import trainer

import agents
from agents import checkpoint, evaluate
from bluke_env import BatchGame, Rules, Turn
from bluke_env.observation import OBSERVATION_VERSION


def save_run(folder: Path, **changes: Any) -> Path:
    """Trains for a moment and returns the checkpoint."""
    with trainer(folder, iterations=1, **changes) as made:
        made.iterate()
        made.save()
        return made.path


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a run with four players; to be left as it is."""
    return save_run(tmp_path_factory.mktemp("four"), seed=4)


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(saved, tmp_path / "copy.pt"))


def turns(rules: Rules, count: int = 30) -> list[Turn]:
    batch, stream, made = BatchGame(rules, 16, 1), np.array([1], np.uint64), []
    for _ in range(count):
        made.append(Turn(rules, batch.views(), batch.seats.copy(), np.arange(16)))
        batch.step(batch.random_actions(stream))
    return made


def actions(agent: Any, rules: Rules) -> list[list[int]]:
    return [agent.act(turn).tolist() for turn in turns(rules)]


def rewrite(path: Path, **changes: Any) -> None:
    """Changes what stands in a checkpoint; None takes it out."""
    data = torch.load(path, weights_only=True) | changes
    torch.save({name: value for name, value in data.items() if changes.get(name, 0) is not None}, path)


# Loading what is good.


def test_a_loaded_network_plays_as_it_did_when_it_was_saved(tmp_path: Path) -> None:
    with trainer(tmp_path, iterations=2, min_bid=0, bluke_lead="trump") as made:
        for _ in range(2):
            made.iterate()
        made.save()
        rules = made.config.rules
        before = actions(made.learner.agent, rules)
    loaded = agents.load(tmp_path / "checkpoint.pt")
    assert loaded.rules == rules
    assert str(tmp_path) in loaded.name
    assert actions(loaded, rules) == before
    assert actions(agents.load(str(tmp_path / "checkpoint.pt")), rules) == before


def test_a_moved_checkpoint_plays_and_goes_on(tmp_path: Path) -> None:
    path = save_run(tmp_path / "first place")
    before = actions(agents.load(path), Rules())
    (tmp_path / "first place").rename(tmp_path / "zweiter Ört")
    moved = tmp_path / "zweiter Ört" / "checkpoint.pt"
    assert actions(agents.load(moved), Rules()) == before
    with trainer(moved.parent, checkpoint.read(moved), iterations=2) as made:
        made.iterate()
        assert made.learner.progress.iteration == 2


def test_plain_torch_loads_it_and_finds_nothing_but_plain_values_and_tensors(saved: Path) -> None:
    def check(value: Any) -> None:
        if type(value) is dict:
            for key, item in value.items():
                check(key)
                check(item)
        elif type(value) in (list, tuple):
            for item in value:
                check(item)
        else:
            assert value is None or type(value) in (bool, int, float, str, torch.Tensor), type(value)

    data = torch.load(saved, weights_only=True)
    weights = data.pop("network")
    assert all(type(name) is str and type(value) is torch.Tensor for name, value in weights.items())
    check(data)
    assert data["observation_version"] == OBSERVATION_VERSION
    assert [Rules.from_dict(rules) for rules in data["tables"]] == [Rules()]


def test_a_checkpoint_made_on_a_gpu_loads_without_one(copy: Path) -> None:
    before = actions(agents.load(copy), Rules())
    parts = read_parts(copy)
    name = next(name for name in parts if name.endswith("data.pkl"))
    here, there = b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0"
    assert here in parts[name]
    write_parts(copy, parts | {name: parts[name].replace(here, there)})
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="CUDA"):
            torch.load(copy, weights_only=True)
    assert actions(agents.load(copy), Rules()) == before


def read_parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_parts(path: Path, parts: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


# A checkpoint knows what it was trained for.


def test_every_checkpoint_brings_its_own_players_and_layers(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    three = save_run(tmp_path, num_players=3, hidden_sizes=(24,))
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".pt"] == ["checkpoint.pt"]
    for path, players in ((saved, 4), (three, 3)):
        evaluate.main([str(path), "--against", "random", "--deals", "4", "--sizes", "2"])
        assert capsys.readouterr().out.startswith(f"{players} players, ")


def test_networks_for_other_numbers_of_players_are_not_seated_together(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    three = save_run(tmp_path, num_players=3)
    for arguments in (
        [str(three), "--against", str(saved)],
        [str(saved), "--against", "random", "--num-players", "3"],
    ):
        with pytest.raises(SystemExit):
            evaluate.main([*arguments, "--deals", "4", "--sizes", "2"])
        sentence = capsys.readouterr().err
        assert sentence.count("\n") == 1
        assert f"{saved} plays at tables of 4 players, but this table has 3" in sentence


def test_a_network_for_bluke_is_not_seated_at_back_alley(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([str(saved)], ["rule", "--against", str(saved)]):
        with pytest.raises(SystemExit) as ended:
            evaluate.main([*arguments, "--preset", "back_alley", "--deals", "4", "--sizes", "2"])
        assert ended.value.code == 2
        sentence = f"python -m agents.evaluate: error: {saved} plays Bluke, but this table plays Back Alley\n"
        assert capsys.readouterr().err == sentence


# Refusing what is not.


class Code:
    """Pickled, it makes whoever unpickles it make a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (str(self.folder),)


def refusal(path: Path) -> str:
    """The one sentence with which a file is refused, by all that read it."""
    sentences = []
    for load in (checkpoint.read, agents.load):
        with pytest.raises(ValueError, match=r".") as refused:
            load(path)
        sentences.append(str(refused.value))
    assert sentences[0] == sentences[1]
    assert "\n" not in sentences[0]
    assert str(path) in sentences[0]
    assert len(sentences[0]) < 200 + len(str(path))
    return sentences[0]


DAMAGED = "is damaged or no checkpoint of this project"


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "there is no checkpoint at" in refusal(tmp_path / "missing.pt")
    assert "there is no checkpoint at" in refusal(tmp_path)


def test_a_truncated_file_is_refused(copy: Path) -> None:
    whole = copy.read_bytes()
    rng = random.Random(1)
    for length in (0, 1, 4, 100, len(whole) // 2, len(whole) - 1, *rng.sample(range(len(whole)), 20)):
        copy.write_bytes(whole[:length])
        assert DAMAGED in refusal(copy)


def test_a_file_with_wrong_bytes_is_refused_or_as_good_as_the_right_one(copy: Path) -> None:
    """Some bytes, such as padding and dates, mean nothing."""
    before, whole, rng, refused = actions(agents.load(copy), Rules()), copy.read_bytes(), random.Random(2), 0
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        copy.write_bytes(damaged)
        try:
            loaded = agents.load(copy)
        except ValueError:
            assert DAMAGED in refusal(copy)
            refused += 1
        else:
            assert actions(loaded, Rules()) == before
    assert refused > 60


def test_other_files_are_refused(tmp_path: Path) -> None:
    path, rng = tmp_path / "other.pt", random.Random(3)
    contents = [
        b"",
        b"hello",
        b"PK\x03\x04",
        rng.randbytes(5000),
        *(b"\x80\x02" + rng.randbytes(40) for _ in range(50)),
    ]
    for content in contents:
        path.write_bytes(content)
        assert DAMAGED in refusal(path)
    for value in ({"model": torch.zeros(3)}, [1, 2], torch.zeros(3), {"format": "another"}, torch.nn.Linear(1, 1)):
        torch.save(value, path)
        assert DAMAGED in refusal(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "nothing")
    assert DAMAGED in refusal(path)


def test_no_code_in_a_file_is_run(tmp_path: Path) -> None:
    path, folder = tmp_path / "code.pt", tmp_path / "made by the code"
    data = {"format": checkpoint.FORMAT, "observation_version": OBSERVATION_VERSION, "network": Code(folder)}
    new: Callable[[], None] = functools.partial(torch.save, data, path)
    old = functools.partial(torch.save, data, path, _use_new_zipfile_serialization=False)
    plain = functools.partial(path.write_bytes, pickle.dumps(data))
    for write in (new, old, plain):
        write()
        assert DAMAGED in refusal(path)
        assert not folder.exists()
    function, arguments = Code(folder).__reduce__()
    function(*arguments)
    assert folder.exists()  # so a careless reader would have made it


def test_another_observation_version_is_refused_by_number(copy: Path) -> None:
    rewrite(copy, observation_version=OBSERVATION_VERSION + 1, package="9.9.9")
    sentence = refusal(copy)
    assert f"observations of version {OBSERVATION_VERSION + 1}" in sentence
    assert f"this package has version {OBSERVATION_VERSION}" in sentence
    assert "9.9.9" in sentence


# Never losing what was saved.


def test_nothing_else_is_left_in_the_folder(saved: Path) -> None:
    files = {path.name.split(".")[0] for path in saved.parent.iterdir() if path.name != ".lock"}
    assert files == {"checkpoint", "events", "log"}


def no_space(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


def half_written(value: Any, file: Any) -> None:
    file.write(b"half of it")
    no_space()


@pytest.mark.parametrize("where", ["writing", "syncing", "renaming"])
def test_a_checkpoint_is_written_whole_or_not_at_all(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with trainer(tmp_path) as made:
        made.save()
        before = made.path.read_bytes()
        made.iterate()
        with monkeypatch.context() as patch:
            if where == "writing":
                patch.setattr(torch, "save", half_written)
            elif where == "syncing":
                patch.setattr(os, "fsync", no_space)
            else:
                patch.setattr(Path, "replace", no_space)
            with pytest.raises(OSError, match="No space"):
                made.save()
        assert made.path.read_bytes() == before
        assert not list(tmp_path.glob("*.tmp"))
        made.save()
        assert checkpoint.read(made.path)["progress"]["iteration"] == 1
