"""What a folder of results does about damaged files, foreign files and full disks."""

import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import policies
import pytest
from test_plan import assert_equal
from test_store import Counted, identity, plan_for

from bluke_env import bots
from bluke_env.evaluation import ResultStore
from bluke_env.evaluation.evaluate import played
from bluke_env.evaluation.store import packed, unpacked

# Damage.


@pytest.fixture
def content() -> bytes:
    plan = plan_for()
    return packed(plan.play(plan.jobs()[0], bots.make))


def test_what_was_packed_comes_back(content: bytes) -> None:
    plan = plan_for()
    (result,) = plan.play(plan.jobs()[0], bots.make)
    (back,) = unpacked(content, "it")
    assert_equal(result, back)
    assert packed((back,)) == content


def test_a_file_under_another_name_is_refused() -> None:
    plan = plan_for()
    content = packed(plan.play(plan.jobs()[0], bots.make), "one-5-0-250")
    assert unpacked(content, "it", "one-5-0-250")
    with pytest.raises(
        ValueError, match=r"^it holds the results of one-5-0-250: delete it, and it will be played again$"
    ):
        unpacked(content, "it", "one-4-0-250")


def test_every_damage_is_noticed(content: bytes) -> None:
    """A flipped bit or a missing end gives a sentence, or changes nothing that counts."""
    (result,) = unpacked(content, "it")
    sentences = set()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        try:
            (back,) = unpacked(bytes(changed), "it")
            assert_equal(result, back)
        except ValueError as error:
            sentences.add(str(error))
        with pytest.raises(ValueError, match=r"^it is damaged"):
            unpacked(content[:place], "it")
    assert sentences == {"it is damaged or no file of results: delete it, and it will be played again"}


def archive(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


class Trap:
    """Unpickling it would run code."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("something was unpickled",)


def test_nothing_is_unpickled(content: bytes) -> None:
    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file)
    trap = np.array([Trap()], object)
    for foreign in (archive(**(arrays | {"points": trap})), trap.dumps(), archive(points=arrays["points"])):
        with pytest.raises(ValueError, match=r"^it is damaged or no file of results"):
            unpacked(foreign, "it")
    single = io.BytesIO()
    np.save(single, arrays["points"])
    with pytest.raises(ValueError, match=r"^it is damaged or no file of results"):
        unpacked(single.getvalue(), "it")


def test_a_damaged_file_is_named_and_played_again_once_deleted(tmp_path: Path) -> None:
    plan = plan_for()
    store = ResultStore(tmp_path, plan, identity)
    played(plan, bots.make, store=store)
    damaged = sorted(tmp_path.glob("*.npz"))[3]
    damaged.write_bytes(b"")
    with pytest.raises(ValueError, match=rf"^{re.escape(str(damaged))} is damaged or no file of results: delete it"):
        played(plan, bots.make, store=store)
    damaged.unlink()
    counted = Counted()
    played(plan, counted, store=store)
    assert counted.jobs == 1


def test_a_result_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for()
    store = ResultStore(tmp_path, plan, identity)

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        played(plan, bots.make, store=store)
    assert [file.name for file in tmp_path.iterdir()] == ["deals.json"]


# Folders.


def of_something_else(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine", encoding="utf-8")


def of_other_facts(folder: Path) -> None:
    (folder / "deals.json").write_text('["format", 1]', encoding="utf-8")


def of_another_format(folder: Path) -> None:
    (folder / "deals.json").write_text('{"format": 99}', encoding="utf-8")


def of_no_json(folder: Path) -> None:
    (folder / "deals.json").write_bytes(b"\xff\xfe{")


@pytest.mark.parametrize("fill", [of_something_else, of_other_facts, of_another_format, of_no_json])
def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, fill: Callable[[Path], None]) -> None:
    fill(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="holds no results of an evaluation: give such a folder, an empty one or "):
        ResultStore(tmp_path, plan_for(), identity)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    own = ResultStore(tmp_path / "own", plan_for(), identity)
    for other in (tmp_path, tmp_path / "nowhere", policies.source()):
        with pytest.raises(ValueError, match="holds no results of an evaluation"):
            own.merge(other)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    path = shutil.copy(policies.source(), tmp_path / "results")
    with pytest.raises(ValueError, match="holds no results of an evaluation"):
        ResultStore(Path(path), plan_for(), identity)


def test_two_processes_may_make_the_same_folder_at_once(tmp_path: Path) -> None:
    """One looks while the other has not yet moved its file to its place."""
    (tmp_path / "deals.json.4711.tmp").write_bytes(b"{")
    ResultStore(tmp_path, plan_for(), identity)
    ResultStore(tmp_path, plan_for(), identity)
