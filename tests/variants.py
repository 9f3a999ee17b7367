"""Every form of the game beside standard Bluke with the whole pack, in matches short enough to try much on them."""

from collections.abc import Callable

import pytest

from bluke_env import ObservationLayout, Rules

VARIANTS = {
    "back_alley": Rules.preset("back_alley", schedule="13,4-1-3"),
    "any_trump": Rules.preset("back_alley", schedule="5,1,2", bluke_lead="trump", points_per_overtrick=3),
    "alley_of_14": Rules.preset("back_alley", num_suits=3, num_ranks=4, schedule="3-1-3,3,3,3,3"),
    "mini": Rules.preset("mini", schedule="3-5,2"),
    "micro": Rules.preset("micro", schedule="2,2,1,4"),
    "extended_2": Rules(num_players=2, schedule="25,26nt,14"),
    "extended_3": Rules(num_players=3, schedule="17,18nt", min_bid=0),
    "pack_of_17": Rules(num_players=3, num_suits=3, num_ranks=5, schedule="standard", min_bid=0, bluke_lead="trump"),
    "pack_of_3": Rules(num_players=2, num_suits=1, num_ranks=1, schedule="1,1nt,1"),
    "one_suit_of_15": Rules(num_players=15, num_suits=1, schedule="1", min_bid=0),
}
"""In some the whole pack is dealt (mini, micro, extended_3, one_suit_of_15); in small packs Blukes often turn up."""


EVERYTHING = ObservationLayout(15, 27, 237, 4, 13, teams=True)
"""Room for whatever can be played."""


def with_variants(some: Callable[[Rules], bool] = lambda rules: True) -> list:
    """Parameters of a test: the variants of which something is so."""
    return [pytest.param(rules, id=name) for name, rules in VARIANTS.items() if some(rules)]


every_variant = pytest.mark.parametrize("rules", with_variants())
"""`rules` for a test of every variant."""
