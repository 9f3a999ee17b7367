"""A match as plain text, for a spectator: all hands are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bluke_env.actions import bid_text
from bluke_env.cards import (
    LO_BLUKE,
    NUM_RANKS,
    NUM_SUITS,
    RANKS,
    SUIT_NAMES,
    SUIT_SYMBOLS,
    SUITS,
    card_text,
    suit_of,
)
from bluke_env.engine.play import beats
from bluke_env.engine.state import NONE
from bluke_env.game import Game, Phase
from bluke_env.results import HandResult, first_leader

_LETTERS = str.maketrans(SUIT_SYMBOLS, SUITS)

Plays = Sequence[tuple[int, int]]
"""(seat, card id) pairs in order of play."""


def frame(game: Game) -> str:
    """Returns the state of a match as text, without a newline at the end.

    It shows every seat's score, bid, tricks, result of the last hand and cards held, the trick before and the
    trick so far. After a hand has been scored, until the next bid and at the end of the match, all tricks of
    that hand come first.
    """
    sections = [[_headline(game)], _table(game)]
    last = game.last_hand
    if last is not None and (game.is_terminal or not any(bid is not None for bid in game.bids)):
        sections.insert(0, _scored_hand(last, game.rules.num_hands))
    if not game.is_terminal:
        sections.append(_play(game))
    return "\n\n".join("\n".join(lines) for lines in sections)


def printable(text: str, encoding: str | None) -> str:
    """Returns the text with letters for the suits where the encoding lacks their symbols."""
    try:
        text.encode(encoding or "ascii")
    except UnicodeEncodeError:
        return text.translate(_LETTERS)
    return text


def _scored_hand(hand: HandResult, num_hands: int) -> list[str]:
    lines = [f"Hand {hand.number + 1} of {num_hands} is scored: dealer {_name(hand.dealer)}, {_trump(hand)}"]
    seats = len(hand.hands)
    tricks = _tricks(hand.order, seats, hand.leader, hand.trump)
    for number, (plays, winner) in enumerate(tricks, 1):
        lines.append(f"  trick {number:2}: {_plays(plays)} -> {_name(winner)}")
    return lines


def _headline(game: Game) -> str:
    if game.is_terminal:
        winners = " and ".join(map(_name, game.winners))
        verb = "wins" if len(game.winners) == 1 else "share the win"
        return f"The match is over: {winners} {verb} with {max(game.scores)} points"
    number = f"Hand {game.hand_number + 1} of {game.rules.num_hands}"
    cards = f"{game.hand_size} {'card' if game.hand_size == 1 else 'cards'} each"
    return f"{number}: {cards}, dealer {_name(game.dealer)}, {_trump(game)}"


def _table(game: Game) -> list[str]:
    rows = [["", "score", "bid", "tricks", "last hand", *SUIT_SYMBOLS, "Blukes"]]
    last, bids, tricks, scores, hands = game.last_hand, game.bids, game.tricks, game.scores, game.hands
    for seat in range(game.num_players):
        mark = "> " if seat == game.current_player else "  "
        told = bids[seat]
        bid = "-" if told is None else bid_text(told)
        result = "-"
        if last is not None:
            result = f"bid {bid_text(last.bids[seat])} took {last.tricks[seat]}: {last.points[seat]:+}"
        cards = _by_suit(hands[seat])
        rows.append([mark + _name(seat), str(scores[seat]), bid, str(tricks[seat]), result, *cards])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(_aligned, row, widths, range(len(row)))).rstrip() for row in rows]


def _aligned(text: str, width: int, column: int) -> str:
    return text.rjust(width) if 1 <= column <= 4 else text.ljust(width)


def _play(game: Game) -> list[str]:
    """The trick before, the trick so far and who is to do what."""
    if game.phase is Phase.BID:
        return [f"{_name(game.current_player)} is to bid."]
    seats, record = game.num_players, game._record[0]
    order = record["order"][: record["num_played"]].tolist()
    leader = first_leader(game.rules, game.dealer, record["bids"].tolist())
    lines = []
    for plays, winner in _tricks(order, seats, leader, game.trump):
        if len(plays) == seats:
            lines = [f"Last trick: {_plays(plays)} -> {_name(winner)}"]
        else:
            lines.append(f"This trick: {_plays(plays)}, {_name(winner)} is winning")
    return [*lines, f"{_name(game.current_player)} is to play."]


def _tricks(order: Sequence[int], seats: int, leader: int, trump: int | None) -> Iterator[tuple[Plays, int]]:
    """Cuts the cards of a hand into tricks, the last perhaps unfinished, each with the seat that takes it."""
    for start in range(0, len(order), seats):
        plays = [((leader + place) % seats, card) for place, card in enumerate(order[start : start + seats])]
        leader, best = plays[0]
        for seat, card in plays[1:]:
            if beats.py_func(card, best, NONE if trump is None else trump):
                leader, best = seat, card
        yield plays, leader


def _by_suit(hand: Sequence[int]) -> list[str]:
    columns: list[list[str]] = [[] for _ in range(NUM_SUITS + 1)]
    for card in reversed(hand):
        if card >= LO_BLUKE:
            columns[NUM_SUITS].append(card_text(card))
        else:
            columns[card // NUM_RANKS].append(RANKS[card % NUM_RANKS])
    return [" ".join(cards) or "-" for cards in columns]


def _plays(plays: Plays) -> str:
    return ", ".join(f"{_name(seat)} {_card(card)}" for seat, card in plays)


def _card(card: int) -> str:
    suit = suit_of(card)
    return card_text(card) if suit is None else RANKS[card % NUM_RANKS] + SUIT_SYMBOLS[suit]


def _trump(hand: Game | HandResult) -> str:
    shown = "no card turned up" if hand.turned_up is None else f"{_card(hand.turned_up)} turned up"
    if hand.exchanged is not None:
        shown += f", {_name(hand.exchanged)} gave back the other Blooper"
    return f"{'no trump' if hand.trump is None else f'{SUIT_NAMES[hand.trump]} are trump'} ({shown})"


def _name(seat: int | None) -> str:
    return f"player_{seat}"
