"""Matches as text: there and back bit for bit, and every damage found where it is."""

import pickle
import random
import re
import shutil
from pathlib import Path

import make_golden
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_damages import BY_HAND, DAMAGES
from tables import deal_of, rules_for

from bluke_env import BatchGame, Deal, Game, Rules, bluke_v0
from bluke_env.cards import HI_BLUKE, LO_BLUKE, parse_card, parse_cards
from bluke_env.records import RecordError, replay, write_record

GOLDEN = sorted(make_golden.FOLDER.glob("*.txt"))

FUZZ_CHARACTERS = 300_000
"""How much damaged text is read for each golden game."""


def same_in_every_bit(game: Game, other: Game) -> bool:
    return game == other and game.to_bytes() == other.to_bytes() and game.history == other.history


def refusal(text: str) -> RecordError:
    with pytest.raises(RecordError) as caught:
        replay(text)
    return caught.value


# Golden games.


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_games_are_replayed_and_written_again(path: Path) -> None:
    text = path.read_bytes().decode("ascii")
    game = replay(text)
    assert write_record(game) == text
    assert max(map(len, text.splitlines())) <= 110
    assert game.is_terminal == (path.stem not in make_golden.STOPS)


def test_golden_games_are_as_the_script_makes_them() -> None:
    make_golden.main(["--check"])
    for name, game in make_golden.golden_games().items():
        assert same_in_every_bit(replay((make_golden.FOLDER / f"{name}.txt").read_text(encoding="ascii")), game)


def test_a_golden_game_that_would_change_is_named_and_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "golden"
    shutil.copytree(make_golden.FOLDER, folder)
    (folder / "micro.txt").write_text("bluke record 1\n")
    (folder / "mini.txt").unlink()
    (folder / "old.txt").write_text("")
    with pytest.raises(SystemExit, match=r"^micro\.txt, mini\.txt, old\.txt would change: run"):
        make_golden.main(["--check", "--folder", str(folder)])
    make_golden.main(["--folder", str(folder)])
    assert capsys.readouterr().out == "changed micro.txt\nchanged mini.txt\nchanged old.txt\n"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        path.name: path.read_bytes() for path in GOLDEN
    }


def test_golden_games_show_what_is_rare() -> None:
    texts = {path.stem: path.read_text(encoding="ascii") for path in GOLDEN}
    for name in ("back_alley", "back_alley_trump_lead"):
        for part in (r"turned up [LH]B", r"\nexchange ", r"leads HB", r"leads LB", r"winners \d \d\n"):
            assert re.search(part, texts[name]), (name, part)
    assert "quadruple board" in texts["back_alley"]
    assert re.search(r"turned up [LH]B", texts["standard_4"])
    assert "26 cards   dealer 0   no trump" in texts["extended_2"]
    assert re.search(r"begins(   \d)*   0", texts["pass_and_trump_lead"])


# Round trips.


@st.composite
def all_rules(draw: st.DrawFn) -> Rules:
    """Rules of every form of the game, with up to three hands."""
    if draw(st.booleans()):
        sizes = draw(st.lists(st.sampled_from([1, 2, 3, 5, 13]), min_size=1, max_size=3))
        leads = draw(st.sampled_from(["trump", "high_low"]))
        return Rules.preset("back_alley", schedule=sizes, bluke_lead=leads)
    seats, suits, ranks = draw(st.integers(2, 15)), draw(st.integers(1, 4)), draw(st.integers(4, 13))
    most = (suits * ranks + 2) // seats
    if most == 0:
        suits, ranks, most = 4, 13, 54 // seats
    hand = st.tuples(st.integers(1, most), st.booleans())
    return rules_for(
        seats,
        draw(st.lists(hand, min_size=1, max_size=3)),
        num_suits=suits,
        num_ranks=ranks,
        min_bid=draw(st.integers(0, 1)),
        bluke_lead=draw(st.sampled_from(["none", "trump"])),
        points_per_trick=draw(st.integers(0, 20)),
        points_per_overtrick=draw(st.integers(0, 20)),
    )


def random_deals(rules: Rules, rng: random.Random) -> list[Deal]:
    """Deals in no order, with or without their dealers; Bloopers are turned up often."""
    first = rng.choice([None, rng.randrange(rules.num_players)])
    deals = []
    for number, (size, no_trump) in enumerate(rules.schedule):
        pack = rng.sample(rules.cards, rules.num_cards)
        turned_up = None if no_trump else pack.pop()
        if not no_trump and rng.random() < 0.3:
            pack = [card for card in (*pack, turned_up) if card != HI_BLUKE]
            turned_up = HI_BLUKE
        hands = [[pack.pop() for _ in range(size)] for _ in range(rules.num_players)]
        given_back = rules.teams and {turned_up, *(card for hand in hands for card in hand)} >= {LO_BLUKE, HI_BLUKE}
        exchange = given_back and turned_up in (LO_BLUKE, HI_BLUKE)
        dealer = None if first is None or (number > 0 and rng.random() < 0.5) else (first + number) % rules.num_players
        deals.append(Deal(hands, turned_up, dealer, pack.pop() if exchange else None))
    return deals


@settings(max_examples=150, deadline=None)
@given(all_rules(), st.integers(0, 2**64 - 1), st.booleans(), st.floats(0, 1))
def test_a_match_is_the_same_after_there_and_back(rules: Rules, seed: int, dealt: bool, share: float) -> None:
    """At any point of a match, and so is what follows."""
    rng = random.Random(seed)
    game = Game(rules, seed, deals=random_deals(rules, rng) if dealt else None)
    actions = sum(rules.num_players * (cards + 1) for cards, _ in rules.schedule)
    for _ in range(int(share * actions)):
        game.apply_action(rng.choice(game.legal_actions()))
    text = write_record(game)
    again = replay(text)
    assert same_in_every_bit(again, game)
    assert write_record(again) == text
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 115
    while not game.is_terminal:
        action = rng.choice(game.legal_actions())
        game.apply_action(action)
        again.apply_action(action)
    assert same_in_every_bit(again, game)


def test_every_point_of_a_match_is_there_and_back() -> None:
    rng, game = random.Random(3), Game(Rules.preset("back_alley", schedule="3-1-2"), seed=3)
    while not game.is_terminal:
        assert same_in_every_bit(replay(write_record(game)), game)
        game.apply_action(rng.choice(game.legal_actions()))
    assert same_in_every_bit(replay(write_record(game)), game)


def test_the_methods_of_a_game_are_the_functions() -> None:
    game = Game(seed=1)
    assert game.record() == write_record(game)
    assert same_in_every_bit(Game.replay(game.record()), game)


def test_games_with_another_number_than_0_are_written_with_a_seed_of_their_own() -> None:
    game = Game(Rules.preset("mini"), seed=5, number=3)
    assert same_in_every_bit(replay(write_record(game)), game)
    assert f"\nseed {game.seed}\n" in write_record(game)
    assert game.seed != 5


def test_the_match_of_an_environment() -> None:
    env = bluke_v0.env(rules=Rules.preset("back_alley", schedule="2-1-2"))
    env.reset(seed=4)
    for _ in range(25):
        env.step(int(env.last()[0]["action_mask"].argmax()))
    game = env.unwrapped.game
    assert game.hand_number == 2
    assert same_in_every_bit(replay(write_record(game)), game)


def test_a_game_out_of_a_batch_can_be_written_while_its_past_is_known() -> None:
    batch = BatchGame(Rules(num_players=2, schedule="1,2"), num_games=2, seed=0)
    for _ in range(3):
        batch.step(batch.masks.argmax(axis=1))
    game = batch.game(1)
    assert same_in_every_bit(replay(write_record(game)), game)
    batch.step(batch.masks.argmax(axis=1))
    with pytest.raises(ValueError, match="the first 1 hands of this game are not known"):
        write_record(batch.game(1))


def test_a_game_that_its_seed_does_not_lead_to_is_refused() -> None:
    """Two players have changed hands, as happens where a bot imagines what others hold."""
    for actions in (0, 2):
        game = Game(Rules(num_players=2, schedule="5"), seed=8)
        for _ in range(actions):
            game.apply_action(game.legal_actions()[0])
        record = game._record.copy()
        record["hands"][0, :2] = record["hands"][0, 1::-1]
        other = Game.from_record(game.rules, record)
        for _ in range(2):
            other.apply_action(other.legal_actions()[0])
        with pytest.raises(
            ValueError, match=r"^this game cannot be written down: its hands are not those that its rules"
        ):
            write_record(other)


# What may differ.


def test_a_match_written_by_hand_needs_no_seed() -> None:
    game = replay(BY_HAND)
    cards = [parse_cards(hand) for hand in ("AS KS", "2H AH", "TC HB")]
    last = [parse_cards(card) for card in ("2C", "3C", "4C")]
    deals = [deal_of(cards, parse_card("7H"), dealer=2), Deal(last)]
    expected = Game(Rules(num_players=3, schedule=[2, (1, True)]), seed=0, deals=deals)
    for action in (56, 55, 55, *parse_cards("AS 2H HB TC KS AH"), 55):
        expected.apply_action(action)
    assert same_in_every_bit(game, expected)
    assert game.scores == (-20, 10, 10)
    text = write_record(game)
    assert text == BY_HAND.replace("AS KS", "KS AS").replace("HB TC", "TC  HB").replace(
        "deals given", "seed 0\ndeals given"
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text + "\n \n\t\n\r\n",
        lambda text: "\n" + text.rstrip("\n"),
        lambda text: text.replace("   ", "\t").replace("\n", " \n"),
        lambda text: text.replace("\n\n", "\n"),
    ],
)
@pytest.mark.parametrize("path", GOLDEN[:4], ids=lambda path: path.stem)
def test_line_ends_empty_lines_and_gaps_do_not_matter(path: Path, change) -> None:
    text = path.read_text(encoding="ascii")
    assert change(text) != text
    assert write_record(replay(change(text))) == text


# Damages.


@pytest.mark.parametrize(("line", "damaged", "further", "column", "problem"), DAMAGES)
def test_damage_is_found_where_it_is(line: str, damaged: list[str], further: int, column: int, problem: str) -> None:
    lines = BY_HAND.splitlines()
    number = lines.index(line)
    lines[number : number + 1] = damaged
    error = refusal("\n".join(lines))
    assert (error.line, error.column) == (number + 1 + further, column)
    assert re.fullmatch(re.escape(problem).replace(r"\.\.\.", ".*"), error.problem)
    assert str(error) == f"line {error.line}, column {error.column}: {error.problem}"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_windows_line_ends_do_not_move_the_place(ends: str) -> None:
    error = refusal(BY_HAND.replace("seat 2 wins", "seat 1 wins").replace("\n", ends))
    assert (error.line, error.column) == (19, 40)
    error = refusal(BY_HAND.replace(" wins", "").replace("\n", ends))
    assert (error.line, error.column) == (19, 41)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "line 1, column 1: the text ends here, where 'bluke' of 'bluke record 1' is due"),
        (" \n\n", "line 1, column 1: the text ends here, where 'bluke' of 'bluke record 1' is due"),
        ("bluke\n", "line 1, column 6: the line ends here, where 'record' of 'bluke record 1' is due"),
        ("bluke record 1\n", "line 2, column 1: the text ends here, where 'num_players' is due"),
        ("BLUKE1\n\x00", "line 1, column 1: 'BLUKE1' stands here, where 'bluke' of 'bluke record 1' is due"),
        ("é" * 99, f"line 1, column 1: '{'é' * 40}' stands here, where 'bluke' of 'bluke record 1' is due"),
        (BY_HAND + "\n\nmore", "line 35, column 1: 'more' stands here, where the end of the text is due"),
    ],
)
def test_what_is_no_record(text: str, complaint: str) -> None:
    assert str(refusal(text)) == complaint


@pytest.mark.parametrize("text", [None, b"bluke record 1", 3, ["bluke record 1"]])
def test_what_is_no_text(text: object) -> None:
    with pytest.raises(ValueError, match=r"^text is .*, but it must be the text of a record"):
        replay(text)  # type: ignore[arg-type]


def test_a_record_cut_off_anywhere_is_refused_where_it_ends() -> None:
    """At its last word, or after it, or after the line before it, where something else was due."""
    whole = BY_HAND.rstrip("\n")
    for length in range(len(whole)):
        text = whole[:length].rstrip()
        error = refusal(whole[:length])
        words = [(text.count("\n", 0, found.start()) + 1, found) for found in re.finditer(r"\S+", text)]
        ends = [(line, found.end() - text.rfind("\n", 0, found.end())) for line, found in words]
        starts = [(line, found.start() - text.rfind("\n", 0, found.start())) for line, found in words]
        after = (text.count("\n") + 1 + bool(text), 1)
        assert (error.line, error.column) in {*starts[-1:], *ends[-2:], after}, (text, error)


@pytest.mark.parametrize(
    ("name", "part", "damaged", "line", "problem"),
    [
        ("mini", "KD  LB HB", "KD  LB QC", 15, "'QC' stands here, where a card of seat 0 (HB) is due"),
        ("mini", "KD  LB HB", "HB LB", 15, "the line ends here, where a card of seat 0 (KD) is due"),
        ("mini", "dealer 1", "dealer 0", 14, "'0' stands here, where the seat of the dealer (1) is due"),
        ("mini", "turned up JC", "turned up QC", 14, "'QC' stands here, where a card (JC) is due"),
        ("mini", "seed 1\n", "seed 3\n", 14, "'JC' stands here, where a card (QD) is due"),
        ("mini", "seed 1\n", "", 13, "'hand' stands here, where 'seed' or 'deals' is due"),
        ("mini", "winners 0", "winners 1", 26, "'1' stands here, where '0' of 'winners 0' is due"),
        ("mini", "\nend", "\nhand", 26, "'hand' stands here, where 'end' is due"),
        ("given_deals_back_alley", "takes 7C", "takes 3H", 20, "'3H' stands here, where a card that is still in"),
        (
            "given_deals_back_alley",
            "gives back LB",
            "gives back HB",
            20,
            "'HB' stands here, where 'LB' of 'seat 1 gives",
        ),
        ("given_deals_back_alley", "begins   board", "begins   double board", 21, "'double' stands here, where a bid"),
        (
            "given_deals_back_alley",
            "exchange   seat 1 gives back LB and takes 7C\n",
            "",
            20,
            "'bids' stands here, where",
        ),
    ],
)
def test_damage_to_a_golden_game(name: str, part: str, damaged: str, line: int, problem: str) -> None:
    text = (make_golden.FOLDER / f"{name}.txt").read_text(encoding="ascii")
    assert text.count(part) == 1
    error = refusal(text.replace(part, damaged))
    assert (error.line, error.problem[: len(problem)]) == (line, problem)


def test_errors_survive_pickling() -> None:
    error = refusal("bluke")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (RecordError, str(error))
    assert (again.line, again.column, again.problem) == (error.line, error.column, error.problem)
    assert isinstance(error, ValueError)


# Random damages.


def random_damage(text: str, rng: random.Random) -> str:
    """Changes a character, a word, a line or the length of a text."""
    lines = text.splitlines(keepends=True)
    at, line, other = rng.randrange(len(text)), rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(8):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + rng.choice("0123456789ACDHSKBT- \t\n\r\x00é") + text[at:]
        case 2:
            return text[:at] + rng.choice("0123456789ACDHSKBT- \t\n\r\x00é") + text[at + 1 :]
        case 3:
            return text[:at]
        case 4:
            del lines[line]
        case 5:
            lines.insert(line, lines[other])
        case 6:
            lines[line], lines[other] = lines[other], lines[line]
        case 7:
            words = re.split(r"(\s+)", text)
            word = rng.randrange(0, len(words), 2)
            words[word] = words[rng.randrange(0, len(words), 2)]
            return "".join(words)
    return "".join(lines)


def words_of(text: str) -> list[list[str]]:
    """The words of each line; the cards of a hand may stand in any order, and given deals need no seed."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return [sorted(words) if words[0] == "seat" else words for words in lines if words != ["seed", "0"]]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_random_damage_is_refused_or_does_no_harm(path: Path) -> None:
    """The complaint points into the text; a text that is read says just what the match is."""
    text = path.read_text(encoding="ascii")
    rng = random.Random(text)
    refused = 0
    for _ in range(FUZZ_CHARACTERS // len(text)):
        damaged = random_damage(text, rng)
        error = game = None
        try:
            game = replay(damaged)
        except RecordError as refusal:
            error, refused = refusal, refused + 1
        if error is not None:
            lines = [*damaged.split("\n"), ""]
            assert 1 <= error.line <= len(lines), (damaged, error)
            assert 1 <= error.column <= len(lines[error.line - 1]) + 1, (damaged, error)
        else:
            assert words_of(write_record(game)) == words_of(damaged), damaged
    assert refused > 0.7 * (FUZZ_CHARACTERS // len(text))
