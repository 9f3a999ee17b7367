"""Worlds weighed by what the other seats did, compiled: how well their hands explain their bids and cards.

All hands that the rules allow are equally likely beforehand. Taking every seat for a rule bot that now and then does
something else, a hand is the likelier the more of its seat's cards the rule bot would have played from it, and the
nearer the bid is to what it is worth. What a seat did depends on its own hand and on what lies open, so a world's
likelihood is a product over the seats, and a Metropolis chain, which swaps cards between two hands or a hand and the
stock, has to look at two seats a step only. Now and then it tries a world drawn anew, so that it gets everywhere.
"""

from __future__ import annotations

import numpy as np

from bluke_env.bots.rule_kernels import choose_card, hidden_cards, power
from bluke_env.cards import BLUKES, NUM_CARDS, NUM_SUITS
from bluke_env.engine.belief import draw_world
from bluke_env.engine.bits import lowest, nth_set, popcount
from bluke_env.engine.encode import above, unplayed
from bluke_env.engine.jit import inlined, subroutine
from bluke_env.engine.play import put_card, suit_mask
from bluke_env.engine.random import GOLDEN, bounded, mix
from bluke_env.engine.state import NONE
from bluke_env.rules import MAX_PLAYERS

_SURPRISE = 3.0
"""Minus the log of the chance that a seat plays a card that the rule bot would not, against one that it would."""

_SWAPS = 40
_FIRST_SWAPS = 60
_FIRST_DRAWS = 5
"""Steps of the chain from one world to the next, and before the first one; worlds drawn anew before the first one."""

# The tricks that the rule bot expects of a hand, fitted to its estimates at 2 to 10 seats and 2 to 13 cards.
_NO_CARDS = -0.45
_BLUKE = 1.33
_TRUMP = 0.33
_HIGH_TRUMP = 0.64
_HIGH_PLAIN = 0.67
_FADES = 0.35
_BLUKE_FADES = 0.5
_SPREAD = 0.5
"""Of the tricks that are taken around those expected: a scale of the logistic distribution."""
_ERROR = 0.26
"""Of the formula and of the rule bot's own estimate, likewise."""
_LEAST_CHANCE = 1e-5
"""Of any bid. Much more, and all hands would explain a bold bid equally badly."""

CHAIN = np.dtype(
    [
        ("hidden", np.int64, (NUM_CARDS,)),  # mask of the cards neither played nor turned up, before every card played
        ("losses", np.float64, (MAX_PLAYERS,)),  # of the hands in the present world, see `loss_of`
        ("tried", np.float64, (MAX_PLAYERS,)),  # likewise in a world drawn anew
    ],
    align=True,
)
"""Where the chain is. The worlds themselves are `GAME` records beside it."""


@subroutine
def begin_chain(rules, view, past, chain):
    """Gets ready for the worlds of a view: writes what lay open before every card of the hand so far.

    Args:
        rules: A `RULES` record.
        view: A `GAME` record, bidding or playing; other seats' hands are not read.
        past: `GAME` records [54], written as far as cards were played; their hands are for `loss_of` to fill in.
        chain: A `CHAIN` record, written.
    """
    seats = np.int64(rules.num_players)
    chain.losses[:] = np.inf
    past[0] = view
    game = past[0]
    for seat in range(seats):
        if view.num_played > 0 and (view.played[seat] >> np.int64(view.order[0])) & 1:
            game.seat = seat
            game.leader = seat
        game.played[seat] = 0
        game.tricks[seat] = 0
        game.voids[seat] = 0
    game.table = 0
    game.num_played = 0
    game.in_trick = 0
    game.led = NONE
    game.best_card = NONE
    game.best_seat = NONE
    game.trump_broken = 0
    for place in range(view.num_played):
        chain.hidden[place] = hidden_cards(rules, past[place], seats)
        if place + 1 < view.num_played:
            past[place + 1] = past[place]
            put_card(rules, past[place + 1], np.int64(view.order[place]))


@subroutine
def loss_of(rules, view, seat, hand, past, chain, most):
    """Returns minus the log likelihood of what a seat has done if it holds `hand` now, or anything beyond `most`."""
    seats = np.int64(rules.num_players)
    dealt = hand | view.played[seat]
    loss = bid_loss(rules, view, seat, dealt)
    for place in range(view.num_played):
        if loss > most:
            break
        game = past[place]
        if game.seat == seat:
            game.hands[seat] = dealt & ~game.played[seat]
            if choose_card(rules, game, seats, chain.hidden[place]) != view.order[place]:
                loss += _SURPRISE
    return loss


@inlined
def bid_loss(rules, view, seat, dealt):
    """Returns minus the log likelihood of a seat's bid, 0 if it has not bid yet.

    Neither do bids of sides count, which depend on the partner's, nor those of one card, for which the formula is poor.
    """
    bid = np.int64(view.bids[seat])
    if bid == NONE or rules.teams or view.hand_size == 1:
        return 0.0
    tricks = expected_tricks(rules, view, dealt)
    chance = 1.0 if bid == rules.min_bid else bids_more(rules, bid - 1, tricks)
    if bid < view.hand_size:
        chance -= bids_more(rules, bid, tricks)
    return -np.log(max(chance, _LEAST_CHANCE))


@inlined
def bids_more(rules, bid, tricks):
    """Returns the chance that a seat which expects so many tricks bids more than `bid`.

    Raising a bid of b pays if P(T > b) / P(T <= b) exceeds what is lost by it over what is won.
    """
    won = max(1, rules.points_per_trick - rules.points_per_overtrick)
    lost = rules.points_per_trick * (2 * bid + 1)
    enough = bid + 0.5 + _SPREAD * np.log(lost / won)
    return 1.0 / (1.0 + np.exp((enough - tricks) / _ERROR))


@inlined
def expected_tricks(rules, view, dealt):
    """Returns about how many tricks the rule bot expects to take with a hand, by a formula linear in its cards."""
    unseen, trump = unplayed(rules, view) & ~dealt, np.int64(view.trump)
    others = np.int64(rules.num_players) - 1
    holds = min(1.0, popcount(dealt) / max(1, popcount(unseen)))
    held = min(1.0, holds * others)
    trumpless = power(1.0 - holds, popcount(unseen & suit_mask(trump))) if trump != NONE else 1.0
    tricks, fades = _NO_CARDS, 1.0 - _FADES * held
    for suit in range(NUM_SUITS):
        theirs = unseen & suit_mask(suit)
        high, cards = 0.0, dealt & suit_mask(suit)
        number: int = popcount(cards)
        while cards:
            high += power(fades, popcount(theirs & above(lowest(cards))))
            cards &= cards - 1
        if suit == trump:
            tricks += _TRUMP * number + _HIGH_TRUMP * high
        else:
            out = power(1.0 - holds, popcount(theirs))
            tricks += _HIGH_PLAIN * high * power(1.0 - out * (1.0 - trumpless), others)
    cards = dealt & BLUKES
    while cards:
        tricks += _BLUKE * power(1.0 - _BLUKE_FADES * held, popcount(unseen & BLUKES & above(lowest(cards))))
        cards &= cards - 1
    return tricks


@inlined
def patience(state):
    """Draws by how much the loss of the next world may exceed that of the present one, and the stream's next state.

    An exponential variate makes this the Metropolis rule.
    """
    state += GOLDEN
    return -np.log((np.float64(mix(state) >> np.uint64(11)) + 1.0) * 2.0**-53), state


@subroutine
def next_world(rules, view, belief, table, past, chain, games, first, state):
    """Moves the chain on to the next world.

    Args:
        rules: A `RULES` record.
        view: The `GAME` record that `begin_chain` was called with.
        belief: What `prepare` made of it, as the table.
        table: See `belief`.
        past: What `begin_chain` wrote, as the chain.
        chain: See `past`.
        games: Two `GAME` records: the hands of the first become the world, the second is scratch space.
        first: Whether it is the first world after `begin_chain`.
        state: uint64 random stream.
    """
    for _ in range(_FIRST_DRAWS if first else 1):
        state = try_fresh(rules, view, belief, table, past, chain, games, state)
    in_hands = np.int64(0)
    for seat in range(rules.num_players):
        if seat != view.seat:
            in_hands |= games[0].hands[seat]
    for _ in range(_FIRST_SWAPS if first else _SWAPS):
        in_hands, state = try_swap(rules, view, belief, past, chain, games[0], in_hands, state)


@inlined
def try_fresh(rules, view, belief, table, past, chain, games, state):
    """Draws a world and takes it if it explains what was done well enough; returns the stream's next state."""
    seats, own = np.int64(rules.num_players), np.int64(view.seat)
    state = draw_world(belief, table, games[1], state)
    rest, state = patience(state)
    for seat in range(seats):
        if seat != own:
            rest += chain.losses[seat]
    for seat in range(seats):
        if seat != own and rest >= 0.0:
            chain.tried[seat] = loss_of(rules, view, seat, games[1].hands[seat], past, chain, rest)
            rest -= chain.tried[seat]
    for seat in range(seats):
        if seat != own and rest >= 0.0:
            games[0].hands[seat] = games[1].hands[seat]
            chain.losses[seat] = chain.tried[seat]
    return state


@inlined
def try_swap(rules, view, belief, past, chain, world, in_hands, state):
    """Swaps a card of a hand with any other unseen card if that explains what was done well enough.

    Returns:
        The mask of all cards in the other hands, and the stream's next state.
    """
    own = np.int64(view.seat)
    unseen = belief.limits[own]
    pick, state = bounded(state, popcount(in_hands))
    card = nth_set(in_hands, pick)
    pick, state = bounded(state, popcount(unseen))
    other_card = nth_set(unseen, pick)
    rest, state = patience(state)
    holder, other = holder_of(rules, world, own, card), holder_of(rules, world, own, other_card)
    if holder == other or not (belief.limits[holder] >> other_card) & 1:
        return in_hands, state
    swap = (np.int64(1) << card) | (np.int64(1) << other_card)
    if other == NONE:
        rest += chain.losses[holder]
        loss = loss_of(rules, view, holder, world.hands[holder] ^ swap, past, chain, rest)
        if loss <= rest:
            world.hands[holder] ^= swap
            chain.losses[holder] = loss
            in_hands ^= swap
    elif (belief.limits[other] >> card) & 1:
        rest += chain.losses[holder] + chain.losses[other]
        loss = loss_of(rules, view, holder, world.hands[holder] ^ swap, past, chain, rest)
        if loss <= rest:
            other_loss = loss_of(rules, view, other, world.hands[other] ^ swap, past, chain, rest - loss)
            if loss + other_loss <= rest:
                world.hands[holder] ^= swap
                world.hands[other] ^= swap
                chain.losses[holder] = loss
                chain.losses[other] = other_loss
    return in_hands, state


@inlined
def holder_of(rules, world, own, card):
    """Returns which other seat holds a card, NONE for none of them."""
    found = np.int64(NONE)
    for seat in range(rules.num_players):
        if seat != own and (world.hands[seat] >> card) & 1:
            found = np.int64(seat)
    return found
