"""Action ids and their text: 0..53 play that card, 54 + b bids b tricks, and then come the levels of board.

A bid, as `Game.bids` and `HandResult.bids` tell it, is a number of tricks, or `BOARD + level` for a board: 28 is board,
29 double board, 30 triple and 31 quadruple board.
"""

from __future__ import annotations

from bluke_env.cards import card_text
from bluke_env.engine.step import BID_BASE, bid_action_of, bid_of
from bluke_env.errors import checked_integer
from bluke_env.rules import BOARD, MAX_BOARD_LEVEL

_BOARDS = ("board", "double board", "triple board", "quadruple board")


def bid_action(bid: int, most_cards: int = BOARD) -> int:
    """Returns the action id of a bid; boards come after the bids up to `most_cards`, the room that the rules have."""
    return bid_action_of.py_func(bid, most_cards)


def bid_text(bid: int) -> str:
    """Returns `3` for three tricks and `double board` for that board.

    Raises:
        ValueError: There is no such bid.
    """
    checked_integer("the bid", bid, 0, BOARD + MAX_BOARD_LEVEL)
    return _BOARDS[bid - BOARD - 1] if bid > BOARD else str(bid)


def action_text(action: int, most_cards: int = BOARD) -> str:
    """Returns `AS` for playing a card, `bid 3` and `bid double board` for bids.

    Args:
        action: The action id.
        most_cards: The room for bids that the rules have, `Rules.most_cards`; it says where boards begin.

    Raises:
        ValueError: There is no such action.
    """
    checked_integer("the action", action, 0, BID_BASE + most_cards + MAX_BOARD_LEVEL)
    return card_text(action) if action < BID_BASE else f"bid {bid_text(bid_of.py_func(action, most_cards))}"
