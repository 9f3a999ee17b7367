"""A match as text, there and back: `write_record` and `replay`. docs/records.md shows the notation.

The functions that take a tape say what a record holds, line by line, once for both directions: along a `Writer` they
write it, along a `Reader` they compare what is written with what the rules make of it. So a record is not believed
where it can be checked: what a seed deals, who leads and wins a trick, points and scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from bluke_env.actions import action_text, bid_text
from bluke_env.cards import HI_BLUKE, LO_BLUKE, card_text
from bluke_env.deals import Deal
from bluke_env.game import Game, Phase
from bluke_env.results import HandResult
from bluke_env.rules import Rules
from bluke_env.tapes import Reader, RecordError, Writer

__all__ = ["RecordError", "replay", "write_record"]

_FORMAT = "bluke record 1"
_YES_NO = {"yes": True, "no": False}
_LINES_OF_PLAY = ("bids", "trick", "seat", "tricks", "points", "scores")
_NARROWEST_COLUMN = 6

Tape = Writer | Reader


def write_record(game: Game) -> str:
    """Returns the record of a match up to where it stands, in ASCII, with a newline at the end.

    Raises:
        ValueError: The match is not the one that its rules, seed and given deals lead to, or its past is not known.
    """
    tape = Writer(_action_texts(game))
    _write_head(tape, game)
    again = Game(game.rules, game.seed, deals=game.deals)
    _walk(tape, again, game.deals)
    if again != game:
        raise ValueError(
            "this game cannot be written down: its hands are not those that its rules, seed and given deals lead to"
        )
    return tape.text


def replay(text: str) -> Game:
    """Returns the match that a record tells, at the point where the record ends.

    Raises:
        RecordError: The text is no record, or it tells of something that cannot be.
        ValueError: It is no text.
    """
    if not isinstance(text, str):
        raise ValueError(f"text is {text!r}, but it must be the text of a record, as write_record returns it")
    tape = Reader(text)
    tape.line(_FORMAT)
    rules = _read_rules(tape)
    seed, deals = _read_source(tape, rules)
    game = Game(rules, seed, deals=deals)
    _walk(tape, game, deals)
    tape.finish()
    return game


# What comes before the first hand.


def _write_head(tape: Writer, game: Game) -> None:
    tape.line(_FORMAT)
    for field in fields(Rules):
        tape.line(f"{field.name} {_value_text(game.rules, field.name)}")
    tape.line(f"seed {game.seed}")
    if game.deals is not None:
        tape.line("deals given")


def _value_text(rules: Rules, name: str) -> str:
    value = rules.schedule_text if name == "schedule" else getattr(rules, name)
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _read_rules(tape: Reader) -> Rules:
    default = Rules()
    places: dict[str, tuple[int, int]] = {}
    values: dict[str, Any] = {}
    for field in fields(Rules):
        tape.line(field.name)
        places[field.name] = tape.place
        values[field.name] = _read_value(tape, f"the value of {field.name}", getattr(default, field.name))
    try:
        return Rules(**values)
    except ValueError as error:
        problem = str(error)
        named = [name for name in places if name in problem] or ["schedule"]  # else it is about its hands
        raise RecordError(*places[min(named, key=problem.find)], problem) from None


def _read_value(tape: Reader, due: str, default: Any) -> Any:
    if isinstance(default, bool):
        return tape.pick(_YES_NO, due)
    return tape.number(due) if isinstance(default, int) else tape.word(due)


def _read_source(tape: Reader, rules: Rules) -> tuple[int, list[Deal] | None]:
    """Reads where the cards come from: a seed, or given deals, which can do without and then have seed 0."""
    seed = 0
    if tape.next_line("seed", "deals") == "seed":
        tape.line("seed")
        seed = tape.number("a seed")
    if tape.next_line("deals", "hand") == "hand":
        return seed, None
    tape.line("deals given")
    return seed, _read_deals(tape, rules)


def _read_deals(tape: Reader, rules: Rules) -> list[Deal]:
    """Reads the deals of all hands ahead of everything else, and leaves the tape before the first."""
    start, tape.stops = tape.position, ("hand", "end")
    deals: list[Deal] = []
    for number in range(rules.num_hands):
        while tape.next_line("hand", *(_LINES_OF_PLAY if deals else ())) != "hand":
            tape.skip_line()
        deals.append(_deal(tape, rules, number, deals[0].dealer if deals else None, None))
    tape.position = start
    return deals


# The hands.


def _walk(tape: Tape, game: Game, deals: Sequence[Deal] | None) -> None:
    """Goes along the whole match, and makes its moves in a game that has just begun.

    Args:
        tape: The record, before the first hand.
        game: The game, which is played on as far as the record goes.
        deals: The given deals; those of hands not reached stand in the record as well.
    """
    first_dealer, going_on = game.dealer, True
    for number in range(game.rules.num_hands):
        if going_on:
            _deal(tape, game.rules, number, first_dealer, _deal_of(game))
            going_on = _play(tape, game)
        elif deals is not None:
            _deal(tape, game.rules, number, first_dealer, deals[number])
    tape.line("end", apart=True)
    if game.is_terminal:
        tape.say("winners " + " ".join(map(str, game.winners)))
    else:
        tape.say(f"seat {game.current_player} is to {'bid' if game.phase is Phase.BID else 'play'}")


def _deal(tape: Tape, rules: Rules, number: int, first_dealer: int | None, known: Deal | None) -> Deal:
    """Goes along the deal of a hand and returns it.

    Args:
        tape: The record, before the hand.
        rules: The rules.
        number: The hand, from 0.
        first_dealer: The dealer of the first hand, None where this is to be read.
        known: The deal as it must be, None where it is to be read: any that the pack allows.
    """
    seats, (size, no_trump) = rules.num_players, rules.schedule[number]
    pack = set(rules.cards)
    tape.line(f"hand {number + 1} of {rules.num_hands}", apart=True)
    tape.say("1 card" if size == 1 else f"{size} cards")
    tape.say("dealer")
    dealers = range(seats) if first_dealer is None else [(first_dealer + number) % seats]
    dealer = tape.pick({str(seat): seat for seat in dealers}, "the seat of the dealer")
    turned_up = next_card = None
    if no_trump:
        tape.say("no trump")
    else:
        tape.say("turned up")
        (turned_up,) = _cards(tape, pack, None if known is None else [known.turned_up], 1, "a card")
    hands = []
    for seat in range(seats):
        tape.line(f"seat {_aligned(seat, seats)} ")
        hand = None if known is None else known.hands[seat]
        hands.append(_cards(tape, pack, hand, size, f"a card of seat {seat}"))
    given_back = (HI_BLUKE + LO_BLUKE - turned_up) if rules.teams and turned_up in (LO_BLUKE, HI_BLUKE) else None
    for seat, hand in enumerate(hands):
        if given_back in hand:
            tape.line("exchange")
            tape.say(f"seat {seat} gives back {card_text(given_back)} and takes")
            (next_card,) = _cards(tape, pack, None if known is None else [known.next_card], 1, "a card")
    return Deal(tuple(hands), turned_up, dealer, next_card)


def _cards(tape: Tape, pack: set[int], known: Sequence[Any] | None, count: int, due: str) -> tuple[int, ...]:
    """Goes along cards that leave the pack, the known ones or else any, and returns them."""
    if known is None:
        known, due = sorted(pack), f"{due} that is still in the pack"
    cards = tape.cards(known, count, due)
    pack.difference_update(cards)
    return cards


def _deal_of(game: Game) -> Deal:
    """Returns the deal of a hand in which nothing has happened yet, as it was before the exchange."""
    hands, turned_up, drawn = [set(hand) for hand in game.hands], game.turned_up, None
    if game.exchanged is not None and game.drawn is not None and turned_up is not None:
        drawn = game.drawn
        hands[game.exchanged] ^= {drawn, LO_BLUKE + HI_BLUKE - turned_up}
    return Deal([sorted(hand) for hand in hands], turned_up, game.dealer, drawn)


def _play(tape: Tape, game: Game) -> bool:
    """Goes along the bids, tricks and score of a hand; returns whether it was played to its end."""
    seats, size = game.num_players, game.hand_size
    if not tape.goes_on("bids"):
        return False
    tape.line("bids")
    tape.say(f"seat {game.current_player} begins")
    while game.phase is Phase.BID:
        if not _act(tape, game):
            return False
    for trick in range(1, size + 1):
        if not tape.goes_on("trick"):
            return False
        tape.line(f"trick {_aligned(trick, size + 1)}")
        tape.say(f"seat {_aligned(game.current_player, seats)} leads")
        before = game.tricks
        for _ in range(seats):
            if not _act(tape, game):
                return False
        after = game.tricks if trick < size else _last_hand(game).tricks
        winner = next(seat for seat in range(seats) if after[seat] > before[seat])
        tape.say(f"seat {_aligned(winner, seats)} wins")
    _score(tape, game)
    return True


def _act(tape: Tape, game: Game) -> bool:
    """Goes along one bid or card and makes that move; returns whether there was one."""
    bidding = game.phase is Phase.BID
    choices = {_action_text(action, game.rules): action for action in game.legal_actions()}
    due = f"a {'bid' if bidding else 'card'} that seat {game.current_player} may {'make' if bidding else 'play'}"
    action = tape.action(choices, due, apart=bidding)
    if action is None:
        return False
    game.apply_action(action)
    return True


def _score(tape: Tape, game: Game) -> None:
    """Goes along the score of the hand that has just ended."""
    hand = _last_hand(game)
    rows = {"seat": range(game.num_players), "tricks": hand.tricks, "points": hand.points, "scores": game.scores}
    width = max(_NARROWEST_COLUMN, *(len(f" {value}") for row in rows.values() for value in row))
    for name, row in rows.items():
        tape.line(f"{name:<6}" + "".join(f"{value:>{width}}" for value in row))


def _last_hand(game: Game) -> HandResult:
    assert game.last_hand is not None
    return game.last_hand


# Texts.


def _action_texts(game: Game) -> Iterator[str]:
    """Yields the texts of all actions of the match, in order."""
    for hand in game.history:
        yield from _hand_texts(game.rules, hand.dealer, hand.bids, hand.order)
    if not game.is_terminal:
        yield from _hand_texts(game.rules, game.dealer, game.bids, game.order)


def _hand_texts(rules: Rules, dealer: int, bids: Sequence[int | None], order: Sequence[int]) -> Iterator[str]:
    seats = rules.num_players
    for place in range(1, seats + 1):
        bid = bids[(dealer + place) % seats]
        if bid is not None:
            yield bid_text(bid)
    yield from map(card_text, order)


def _action_text(action: int, rules: Rules) -> str:
    return action_text(action, rules.most_cards).removeprefix("bid ")


def _aligned(number: int | None, count: int) -> str:
    """Returns a number below `count` as wide as the widest of them."""
    return f"{number:>{len(str(count - 1))}}"
