"""docs/rules.md against the code: its tables are true, the tests it names exist, and every choice is pinned by one."""

import ast
import re
from dataclasses import fields
from pathlib import Path

from bluke_env import Rules
from bluke_env.rules import PRESETS
from bluke_env.schedule import EXTENDED

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
FOLLOWING = "tests/test_rules_follow_suit.py"  # the one table with a column for tests of one file


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def named_tests(text: str) -> list[str]:
    found = re.findall(r"`([\w/.]*::\w+)`", text)
    return [FOLLOWING + name if name.startswith("::") else name for name in found]


ALL_TESTS = {f"tests/{path.name}::{name}" for path in (ROOT / "tests").glob("test_*.py") for name in names_in(path)}
CHOICES = re.findall(r"^- \*\*Choice: ([^*]+)\.\*\*((?:.|\n)*?)(?=^\S|^$)", PAGE, re.M)
TABLES = [
    [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    for table in re.findall(r"(?:^\|.*\n)+", PAGE, re.M)
]


def table(*columns: str) -> list[list[str]]:
    """The rows of the table with such a head."""
    (rows,) = (rows for head, _, *rows in TABLES if head[: len(columns)] == list(columns))
    return rows


def code(cell: str) -> str:
    assert cell.startswith("`")
    assert cell.endswith("`")
    return cell[1:-1]


# Tests that the page names.


def test_every_test_that_the_page_names_exists() -> None:
    names = named_tests(PAGE)
    assert len(names) >= 60
    assert sorted(set(names) - ALL_TESTS) == []
    assert "::" not in re.sub(r"`[\w/.]*::\w+`", "", PAGE)  # none hides in another form


def test_every_choice_has_a_name_of_its_own_and_a_test() -> None:
    assert len(CHOICES) == PAGE.count("**Choice: ") >= 15
    assert len({name for name, _ in CHOICES}) == len(CHOICES)
    for name, text in CHOICES:
        assert named_tests(text), name


def test_the_page_names_every_test_that_pins_a_choice_or_an_option() -> None:
    pins = {name for name in ALL_TESTS if re.search(r"::test_(choice|option)_", name)}
    assert len(pins) >= 15
    assert sorted(pins - set(named_tests(PAGE))) == []


# Its tables.


def test_the_table_of_standard_matches() -> None:
    players = []
    for seats, most_cards, hands in table("players", "most cards", "hands"):
        for seat_count in map(int, seats.split(",")):
            rules = Rules(num_players=seat_count)
            assert (rules.most_cards, rules.num_hands) == (int(most_cards), int(hands))
            players.append(seat_count)
    assert players == list(range(2, 16))


def test_the_table_of_extended_matches() -> None:
    rows = table("players", "extended match", "its last hand")
    assert [int(players) for players, _, _ in rows] == list(EXTENDED)
    for players, text, last in rows:
        rules = Rules(num_players=int(players), schedule="extended")
        whole = rules.num_players * rules.most_cards == 54
        assert rules.schedule_text == code(text)
        assert last == f"{rules.most_cards} cards at no trump" + (", the whole pack" if whole else "")


def test_the_table_of_schedule_texts() -> None:
    for text, hands in table("text", "hands"):
        rules = Rules(schedule=code(text))
        assert " ".join(f"{hand.cards}{'nt' if hand.no_trump else ''}" for hand in rules.schedule) == hands
        assert rules.schedule_text == code(text)


def test_the_table_of_presets() -> None:
    rows = table("preset", "is")
    assert [code(name) for name, _ in rows] == list(PRESETS)
    for name, call in rows:
        assert eval(code(call), {"Rules": Rules}) == Rules.preset(code(name))


def test_the_table_of_fields() -> None:
    rows = table("field", "default", "values")
    assert [code(name) for name, _, _ in rows] == [field.name for field in fields(Rules)]
    defaults = {code(name): ast.literal_eval(code(default)) for name, default, _ in rows}
    assert Rules(**defaults) == Rules()
    for field in fields(Rules):
        if field.name not in ("schedule", "most_cards"):
            assert defaults[field.name] == field.default


def test_what_boards_are_worth() -> None:
    board, double, triple, quadruple = (Rules.preset("back_alley").points_per_trick << level for level in range(1, 5))
    sentence = (
        f"A board is worth {board} for each card dealt, double board {double}, triple {triple}, quadruple {quadruple}"
    )
    assert sentence in PAGE
