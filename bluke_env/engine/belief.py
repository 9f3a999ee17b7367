"""Worlds that agree with all that one seat knows, drawn exactly uniformly.

All deals are equally likely beforehand, so all that agree with what was seen are equally likely afterwards. What is
seen of another seat comes down to a set of cards it may hold, and to how many it holds. Seats with the same set form a
group; those without a limit share what is left over with the stock.

The worlds are counted card by card: a table holds, for every card and every number of cards that the groups still
lack, how many ways the cards from there on can go to the groups or be left over. The group that lacks most needs no
place in the table: the cards it may hold come first, and of those that the others leave it takes any, which is a
binomial. A world is drawn along the table, each card with the odds of the counts; then the cards of each group go to
its seats at random.
"""

from __future__ import annotations

from math import comb

import numpy as np

from bluke_env.cards import BLUKES, HI_BLUKE, LO_BLUKE, NUM_CARDS, NUM_SUITS
from bluke_env.engine.back_alley import side_bid
from bluke_env.engine.bits import lowest, popcount
from bluke_env.engine.encode import above, unplayed, wrapped
from bluke_env.engine.jit import inlined, kernel, subroutine
from bluke_env.engine.play import suit_mask
from bluke_env.engine.random import GOLDEN, bounded, mix, stream
from bluke_env.engine.state import NONE
from bluke_env.rules import BOARD, MAX_PLAYERS

_GROUPS = MAX_PLAYERS + 1  # at most one for each other seat, and the one without a limit

BELIEF = np.dtype(
    [
        ("limits", np.int64, (MAX_PLAYERS,)),  # masks of the unseen cards that each seat may hold, all for its own
        ("masks", np.int64, (_GROUPS,)),  # likewise each group: those in the table, the last one, the unlimited one
        ("taken", np.int64, (_GROUPS,)),  # scratch: masks of the cards drawn for the groups in the table
        ("strides", np.int64, (_GROUPS,)),  # how far states lie apart in which a group lacks one card more
        ("size", np.int64),  # states: the numbers of cards that the groups in the table still lack
        ("may", np.int16, (NUM_CARDS,)),  # for each card in the table, the set of groups that may hold it
        ("cards", np.int8, (NUM_CARDS,)),  # the cards in the table
        ("needs", np.int8, (_GROUPS,)),  # cards that each group holds; with the unlimited one, the stock
        ("left", np.int8, (_GROUPS,)),  # scratch: those it still lacks
        ("held", np.int8, (MAX_PLAYERS,)),  # cards that each seat holds
        ("group", np.int8, (MAX_PLAYERS,)),  # of each seat that holds any
        ("members", np.int8, (MAX_PLAYERS,)),  # these seats, by group
        ("pack", np.int8, (NUM_CARDS,)),  # scratch: cards being dealt
        ("seat", np.int8),  # whose belief it is
        ("num_seats", np.int8),
        ("num_members", np.int8),
        ("last", np.int8),  # the group outside the table, so also how many are in it
        ("num_cards", np.int8),
        ("boundary", np.int8),  # how many of the cards the last group may hold; they come first
    ],
    align=True,
)
"""What `prepare` makes of one position. The caller allocates it, and the table of counts beside it."""

TABLE_SIZE = 1 << 19
"""Entries (float64) of a table that is large enough for every position; few positions use more than a hundredth.

A trick shows seats out of one suit, so after some tricks there are at most 2 ** min(tricks, 4) - 1 groups, and in Back
Alley at most three. A test goes through all seats, hands and tricks: nine seats of six cards in the third trick need
the most.
"""

WORLDS = 1 << 41
"""The stream of the worlds of a seed."""

_CHOOSE = np.array([[comb(n, k) for n in range(NUM_CARDS + 1)] for k in range(NUM_CARDS + 1)], np.float64)


@subroutine
def prepare(rules, game, seat, belief, table):
    """Makes a seat's belief ready for `draw_world`.

    Only what the seat knows is read: its own hand and what lies open.

    Args:
        rules: A `RULES` record.
        game: A `GAME` record, at any point of a match.
        seat: Whose belief.
        belief: A `BELIEF` record, written.
        table: float64 [TABLE_SIZE], written as far as needed.

    Returns:
        A positive number, or 0 if no deal agrees with the record: no play of the rules leads to it.
    """
    belief.seat = seat
    belief.num_seats = rules.num_players
    _limit(rules, game, belief)
    free = _group(belief)
    if free < 0:
        return 0.0
    _arrange(belief)
    if belief.size * (belief.num_cards + 2) > len(table):
        return 0.0
    _count(belief, table)
    return table[belief.size - 1]


@inlined
def _limit(rules, game, belief):
    """Writes which unseen cards every seat may hold, and how many it holds."""
    seats, own = np.int64(rules.num_players), np.int64(belief.seat)
    unseen = unplayed(rules, game) & ~game.hands[own]
    for seat in range(seats):
        unseen &= ~game.played[seat]
    for seat in range(seats):
        limit = unseen
        for suit in range(NUM_SUITS):
            if (game.voids[seat] >> suit) & 1:
                limit &= ~suit_mask(suit)
                if rules.teams and suit == game.trump:
                    limit &= ~np.int64(BLUKES)
        belief.limits[seat] = limit
        belief.held[seat] = game.hand_size - popcount(game.played[seat])
    if rules.teams and game.trump != NONE:
        _limit_trumps(rules, game, belief)
    belief.held[own] = 0
    belief.limits[own] = unseen


@inlined
def _limit_trumps(rules, game, belief):
    """Adds what Back Alley proves beyond voids.

    Who leads a trump before one was played elsewhere, and has no board to allow it, has only trumps. Who follows a Hi
    Bluke that asks for the highest trump has none above the one played; with a Lo Bluke, none below.
    """
    trumps = suit_mask(np.int64(game.trump)) | np.int64(BLUKES)
    broken = False
    lead, leader = 0, 0
    for place in range(game.num_played):
        card = np.int64(game.order[place])
        is_trump = (trumps >> card) & 1
        if place & 3 == 0:
            lead = card
            for seat in range(4):
                if (game.played[seat] >> card) & 1:
                    leader = seat
            if is_trump and not broken and side_bid(game, leader) <= BOARD:
                belief.limits[leader] &= trumps
        elif is_trump and not (trumps >> lead) & 1:
            broken = True
        elif is_trump and rules.bluke_lead_high_low and lead >= LO_BLUKE:
            denied = above(card) if lead == HI_BLUKE else ~above(card)
            belief.limits[(leader + place) & 3] &= ~(trumps & denied)


@inlined
def _group(belief):
    """Forms the groups and returns how many cards go to the unlimited one, negative if there are not enough.

    Seats are gone through from the believing one's left, so that a table turned round has the same worlds.
    """
    seats, own = np.int64(belief.num_seats), np.int64(belief.seat)
    unseen = belief.limits[own]
    free: int = popcount(unseen)
    groups = 0
    for step in range(seats):
        seat = wrapped(own + step, seats)
        belief.group[seat] = NONE
        held = np.int64(belief.held[seat])
        if held == 0 or belief.limits[seat] == unseen:
            continue
        group = 0
        while group < groups and belief.masks[group] != belief.limits[seat]:
            group += 1
        if group == groups:
            belief.masks[group] = belief.limits[seat]
            belief.needs[group] = 0
            groups += 1
        belief.needs[group] += held
        belief.group[seat] = group
        free -= held
    _choose_last(belief, groups)
    unlimited = belief.last + 1
    belief.masks[unlimited] = unseen
    belief.needs[unlimited] = free
    for seat in range(seats):
        if belief.held[seat] > 0 and belief.group[seat] == NONE:
            belief.group[seat] = unlimited
            free -= belief.held[seat]
    return free


@inlined
def _choose_last(belief, groups):
    """Puts the group that lacks most last, an empty one if there is none."""
    if groups == 0:
        belief.last = 0
        belief.masks[0] = 0
        belief.needs[0] = 0
        return
    last, most = groups - 1, 0
    for group in range(groups):
        if belief.needs[group] > belief.needs[most]:
            most = group
    belief.last = last
    belief.masks[most], belief.masks[last] = belief.masks[last], belief.masks[most]
    belief.needs[most], belief.needs[last] = belief.needs[last], belief.needs[most]
    for seat in range(belief.num_seats):
        if belief.group[seat] == most:
            belief.group[seat] = last
        elif belief.group[seat] == last:
            belief.group[seat] = most


@inlined
def _arrange(belief):
    """Orders the members by group, lays out the states and lists the cards of the table."""
    members, seats, own = 0, np.int64(belief.num_seats), np.int64(belief.seat)
    for group in range(belief.last + 2):
        for step in range(seats):
            seat = wrapped(own + step, seats)
            if belief.held[seat] > 0 and belief.group[seat] == group:
                belief.members[members] = seat
                members += 1
    belief.num_members = members
    size = np.int64(1)
    for group in range(belief.last):
        belief.strides[group] = size
        size *= np.int64(belief.needs[group]) + 1
    belief.size = size
    unseen, firsts = belief.masks[belief.last + 1], belief.masks[belief.last]
    belief.boundary = _list_cards(belief, firsts, 0)
    belief.num_cards = _list_cards(belief, unseen & ~firsts, np.int64(belief.boundary))


@inlined
def _list_cards(belief, cards, place):
    """Lists those of some cards that a group in the table may hold, from a place on; returns the place after them."""
    while cards:
        card: int = lowest(cards)
        cards &= cards - 1
        may = 0
        for group in range(belief.last):
            may |= ((belief.masks[group] >> card) & 1) << group
        if may:
            belief.cards[place] = card
            belief.may[place] = may
            place += 1
    return place


# The table: one layer of states before each card, one more where the last group chooses, and one at the end.


@inlined
def _count(belief, table):
    size, boundary = belief.size, np.int64(belief.boundary)
    end = np.int64(belief.num_cards) + 1
    table[end * size : (end + 1) * size] = 0.0
    table[end * size] = 1.0
    for layer in range(end - 1, boundary, -1):
        count_card(belief, layer - 1, table, layer * size)
    count_choices(belief, 0, table, table)
    for layer in range(boundary - 1, -1, -1):
        count_card(belief, layer, table, layer * size)


@inlined
def count_card(belief, index, table, start):
    """Fills the layer before a card from the one after it: it is left over or goes to a group that lacks cards."""
    size = belief.size
    for at in range(start, start + size):
        table[at] = table[at + size]
    may = np.int64(belief.may[index])
    while may:
        group: int = lowest(may)
        may &= may - 1
        stride = belief.strides[group]
        block = stride * (np.int64(belief.needs[group]) + 1)
        for base in range(start, start + size, block):
            for at in range(base + stride, base + block):
                table[at] += table[at + size - stride]


@inlined
def count_choices(belief, fixed, after, before):
    """Fills the layer of the last group's choice in the table `before`, from the next one in the table `after`.

    With `fixed` 1 only the choices that hold one certain card are counted.
    """
    start = np.int64(belief.boundary) * belief.size
    lacking = 0
    before[start] = 0.0  # for the time being, how many cards the groups lack in each state
    for group in range(belief.last):
        stride, need = belief.strides[group], np.int64(belief.needs[group])
        lacking += need
        for at in range(start + stride, start + stride * (need + 1)):
            before[at] = before[at - stride] + 1.0
    chosen = np.int64(belief.needs[belief.last]) - fixed
    left = popcount(belief.masks[belief.last]) - lacking - fixed
    for at in range(start, start + belief.size):
        remaining = left + np.int64(before[at])
        before[at] = after[at + belief.size] * _CHOOSE[chosen, remaining] if min(chosen, remaining) >= 0 else 0.0


# Drawing.


@subroutine
def draw_world(belief, table, game, state):
    """Draws a world, uniformly and independently of all others.

    Args:
        belief: The `BELIEF` record that `prepare` wrote; only scratch in it changes.
        table: The table that it wrote.
        game: A `GAME` record; the hands of all seats but the believing one are written.
        state: uint64 random stream.

    Returns:
        The stream's next state.
    """
    for group in range(belief.last):
        belief.taken[group] = 0
        belief.left[group] = belief.needs[group]
    boundary, cards = np.int64(belief.boundary), np.int64(belief.num_cards)
    at, state = _draw_cards(belief, table, 0, boundary, 0, belief.size - 1, state)
    at, state = _draw_cards(belief, table, boundary, cards, 1, at, state)
    for seat in range(belief.num_seats):
        if seat != belief.seat:
            game.hands[seat] = 0
    return _deal(belief, game, state)


@inlined
def _draw_cards(belief, table, first, stop, shift, at, state):
    """Draws for each of some cards whether it goes to a group in the table; returns the state of the table after it."""
    size = belief.size
    for index in range(first, stop):
        if at == 0:
            break
        here = (index + shift) * size + at
        state += GOLDEN
        mark = table[here] * (np.float64(mix(state) >> np.uint64(11)) * 2.0**-53)
        choice = np.int64(NONE)
        mark -= table[here + size]
        may = np.int64(belief.may[index])
        while mark >= 0.0 and may:
            group: int = lowest(may)
            may &= may - 1
            if belief.left[group] > 0:
                ways = table[here + size - belief.strides[group]]
                if ways > 0.0:  # if rounding leaves a rest of the mark, the last group that can have the card gets it
                    choice = group
                    mark -= ways
        if choice != NONE:
            belief.taken[choice] |= np.int64(1) << np.int64(belief.cards[index])
            belief.left[choice] -= 1
            at -= belief.strides[choice]
    return at, state


@inlined
def _deal(belief, game, state):
    """Deals the cards of each group to its seats: what was drawn for it, or else what is left of those it may hold."""
    dealt, dealing = np.int64(0), NONE
    count = place = 0
    for index in range(belief.num_members):
        seat = belief.members[index]
        group = belief.group[seat]
        if group != dealing:
            dealing = group
            cards = belief.taken[group] if group < belief.last else belief.masks[group] & ~dealt
            count = place = 0
            while cards:
                belief.pack[count] = lowest(cards)
                cards &= cards - 1
                count += 1
        hand = np.int64(0)
        for _ in range(belief.held[seat]):
            pick, state = bounded(state, count - place)
            pick += place
            hand |= np.int64(1) << np.int64(belief.pack[pick])
            belief.pack[pick] = belief.pack[place]
            place += 1
        game.hands[seat] = hand
        dealt |= hand
    return state


# For Python.


@kernel
def prepare_one(rules, games, seat, beliefs, table):
    """Calls `prepare` for one record each."""
    return prepare(rules[0], games[0], seat, beliefs[0], table)


@kernel
def sample_worlds(beliefs, table, games, seed, out):
    """Draws worlds.

    Args:
        beliefs: One `BELIEF` record.
        table: The table that `prepare` wrote.
        games: One `GAME` record of scratch, with the hand of the believing seat.
        seed: uint64.
        out: int64 [n, seats], written: masks of the hands.
    """
    game = games[0]
    state = stream(seed, WORLDS)
    for row in range(len(out)):
        state = draw_world(beliefs[0], table, game, state)
        for seat in range(out.shape[1]):
            out[row, seat] = game.hands[seat]
