"""Action ids and their text: 0..53 play that card, 54 + b bids b tricks."""

from __future__ import annotations

from bluke_env.cards import NUM_CARDS, card_text
from bluke_env.engine.step import BID_BASE


def bid_action(tricks: int) -> int:
    """Returns the action id of bidding so many tricks."""
    return BID_BASE + tricks


def action_text(action: int) -> str:
    """Returns `AS` for playing a card and `bid 3` for a bid."""
    return card_text(action) if action < NUM_CARDS else f"bid {action - BID_BASE}"
