"""The rule bot, compiled: how it chooses a card, and how it bids from hands played out that way.

A card is chosen by one formula for leading, following and discarding: the chance that the card takes this trick, less
what it is worth later. Cheap winners, cashing sure tricks, keeping Blukes and throwing the least useful card all follow
from it. It looks at no bid, since a trick is never worth less than nothing: over the bid it scores a point and is kept
from the others. Weights that depended on the tricks still needed gained nothing in hands of four rule bots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bluke_env.cards import BLUKES, NUM_SUITS
from bluke_env.engine.back_alley import partner
from bluke_env.engine.bid import legal_bids
from bluke_env.engine.bits import highest, lowest, popcount
from bluke_env.engine.encode import above, unplayed, winning_cards
from bluke_env.engine.jit import inlined, kernel
from bluke_env.engine.play import legal_cards, put_card, suit_mask
from bluke_env.engine.random import bounded, stream
from bluke_env.engine.score import hand_points, standing_tricks
from bluke_env.engine.state import BID, FREE, NONE, PLAY
from bluke_env.engine.step import bid_action_of
from bluke_env.rules import BOARD

# Fitted to the tricks and points of one changed bot among unchanged ones, at 2 to 15 seats. What a card is worth later
# is counted in tricks: trumps and Blukes are worth more than one, since they win back the lead as well.
_KEEP_PLAIN = 0.6
_KEEP_TRUMP = 1.05
_KEEP_BLUKE = 1.2
_STILL_BEATEN = 0.35
"""How much of the danger from a higher unseen card is left for a card that is kept: it may be drawn out before."""
_SPENDS_BLUKE = 0.2
"""The chance that an unseen Bluke held by one of those yet to play is put on the trick."""

_CLOSE = 1e-9
"""Differences below this are rounding: the card looked at first is played, lower ones before higher ones."""


class Facts(NamedTuple):
    """What the choice of a card rests on."""

    trump: int
    leading: bool
    led: int
    unseen: int  # mask of the cards that may be in the other hands
    wins: int  # mask of the legal cards that take the trick so far
    others: int  # other seats
    later: int  # of these, yet to play to this trick
    holds: float  # the chance that another seat holds a given unseen card
    trumpless: float  # the chance that another seat holds no trump
    blukeless: float  # the chance that no unseen Bluke is put on this trick
    voids: int  # how many of those yet to play have shown out of suit s, in byte s
    gain: float  # what the side gains by taking the trick: less than one where the partner may take it anyway


@inlined
def facts_of(rules, game, seats, hidden, legal):
    """Gathers the facts for the seat to act; see `choose_card`."""
    hand = game.hands[game.seat]
    trump, leading = np.int64(game.trump), game.in_trick == 0
    unseen = hidden & ~hand
    wins = legal if leading else legal & winning_cards(np.int64(game.best_card), trump)
    later = seats - 1 - np.int64(game.in_trick)
    holds = min(1.0, popcount(hand) / max(1, popcount(unseen)))
    trumpless = power(1.0 - holds, popcount(unseen & suit_mask(trump))) if trump != NONE else 1.0
    blukeless = spared(holds * later, popcount(unseen & BLUKES))
    seat, voids = np.int64(game.seat), np.int64(0)
    for _ in range(later):
        seat = seat + 1 if seat + 1 < seats else 0
        voids += (np.int64(game.voids[seat]) * 0x00204081) & 0x01010101  # spreads four bits over four bytes
    led, others, gain = np.int64(game.led), seats - 1, 1.0
    if rules.teams and not leading and game.best_seat == partner(np.int64(game.seat)):
        gain = 1.0 - power(
            1.0 - holds, min(15, later * popcount(unseen & winning_cards(np.int64(game.best_card), trump)))
        )
    return Facts(trump, leading, led, unseen, wins, others, later, holds, trumpless, blukeless, voids, gain)


@inlined
def choose_card(rules, game, seats, hidden):
    """Returns the card that the seat to act plays.

    Args:
        rules: A `RULES` record.
        game: A `GAME` record in the play phase; the other seats' hands are not read.
        seats: How many play.
        hidden: The mask of all cards neither played nor turned up.
    """
    legal = legal_cards(rules, game)
    if legal & (legal - 1) == 0:
        return lowest(legal)
    facts = facts_of(rules, game, seats, hidden, legal)
    choice, best = np.int64(NONE), -np.inf
    for suit in range(NUM_SUITS):
        cards = legal & suit_mask(suit)
        if cards:
            card, value = best_of_suit(facts, suit, cards)
            if value > best + _CLOSE:
                choice, best = card, value
    bluke, value = best_bluke(facts, legal & BLUKES)
    return bluke if value > best + _CLOSE else choice


@inlined
def best_bluke(facts, cards):
    """Returns the best of the Blukes `cards` to play now and its value, minus infinity for none."""
    choice, best = np.int64(NONE), -np.inf
    while cards:
        card: int = lowest(cards)
        cards &= cards - 1
        takes, keeps = bluke_worth(facts, card)
        if takes - keeps > best + _CLOSE:
            choice, best = card, takes - keeps
    return choice, best


@inlined
def bluke_worth(facts, card):
    """Returns what a Bluke's chance to take the trick is worth, and what it is worth later."""
    higher: int = popcount(facts.unseen & BLUKES & above(card))
    keeps = _KEEP_BLUKE * spared(facts.holds * facts.others, higher)
    takes = facts.gain * spared(facts.holds * facts.later, higher) if (facts.wins >> card) & 1 else 0.0
    return takes, keeps


@inlined
def best_of_suit(facts, suit, cards):
    """Returns the best of a suit's legal cards, of its lowest, lowest winning and highest winning, and its value."""
    wins, of_suit = facts.wins & cards, suit_facts(facts, suit)
    card: int = lowest(cards)
    choice, best = card, -np.inf
    while True:
        takes, keeps = card_worth(facts, of_suit, card)
        if takes - keeps > best + _CLOSE:
            choice, best = card, takes - keeps
        rest = wins & above(card)
        if rest == 0:
            return choice, best
        card = highest(rest) if (wins >> card) & 1 else lowest(rest)


class SuitFacts(NamedTuple):
    """What the worth of a suit's cards rests on."""

    theirs: int  # mask of its unseen cards
    asked: int  # the suit of the trick
    follows: bool  # whether that is this one
    keep: float  # what a card that nothing outranks is worth later
    takes: float  # the chance that no Bluke, and no trump on this suit if it is led, takes the trick from it
    unbeaten: float  # the chance that a given unseen higher card does not
    fades: float  # what a higher unseen card leaves of the worth later


@inlined
def suit_facts(facts, suit):
    """Gathers the facts for one suit."""
    asked = suit if facts.leading else facts.led
    safe = unruffed(facts, suit, facts.others, facts.trumpless)
    takes = facts.blukeless
    if suit == asked:
        takes *= safe if facts.leading else unruffed(facts, suit, facts.later, facts.trumpless)
    followers = facts.later - ((facts.voids >> (8 * suit)) & 255)
    return SuitFacts(
        facts.unseen & suit_mask(suit),
        asked,
        suit == asked,
        _KEEP_TRUMP if suit == facts.trump else _KEEP_PLAIN * safe,
        takes,
        1.0 - min(1.0, facts.holds * followers),
        1.0 - _STILL_BEATEN * min(1.0, facts.holds * facts.others),
    )


@inlined
def card_worth(facts, of_suit, card):
    """Returns what a card's chance to take the trick is worth, and what it is worth later."""
    higher: int = popcount(of_suit.theirs & above(card))
    keeps = of_suit.keep * power(of_suit.fades, higher)
    takes = 0.0
    if (facts.wins >> card) & 1:
        takes = facts.gain * of_suit.takes
        if of_suit.follows:
            takes *= power(of_suit.unbeaten, higher)
        else:
            takes *= unruffed(facts, of_suit.asked, facts.later, power(1.0 - facts.holds, higher))
    return takes, keeps


@inlined
def spared(held, blukes):
    """Returns the chance that none of some unseen Blukes is put on the trick, if each is `held` with that chance."""
    return power(1.0 - _SPENDS_BLUKE * min(1.0, held), blukes)


@inlined
def unruffed(facts, asked, players, trumpless):
    """Returns the chance that none of `players` players is out of the suit asked for and takes the trick with a trump.

    `trumpless` is the chance that a player has no trump to do it with.
    """
    if facts.trump == NONE or asked == facts.trump or asked == FREE or players == 0:
        return 1.0
    void = (facts.voids >> (8 * asked)) & 255
    out = power(1.0 - facts.holds, popcount(facts.unseen & suit_mask(asked)))
    return power(trumpless, void) * power(1.0 - out * (1.0 - trumpless), players - void)


@inlined
def power(base, exponent):
    """Returns base ** exponent for an integer 0..15, without a branch."""
    square = base * base
    fourth = square * square
    low = (base if exponent & 1 else 1.0) * (square if exponent & 2 else 1.0)
    return low * (fourth if exponent & 4 else 1.0) * (fourth * fourth if exponent & 8 else 1.0)


@inlined
def hidden_cards(rules, game, seats):
    """Returns the mask of all cards neither played nor out of play."""
    hidden = unplayed(rules, game)
    for seat in range(seats):
        hidden &= ~game.played[seat]
    return hidden


@inlined
def play_out(rules, game, seats, hidden):
    """Plays a hand to its end, every seat by `choose_card`."""
    over = False
    while not over:
        card = choose_card(rules, game, seats, hidden)
        hidden &= ~(np.int64(1) << card)
        over = put_card(rules, game, card)


@inlined
def open_world(game, seat, seats, own, pack, unseen, state):
    """Deals `unseen` cards in `pack` to all seats but `seat`, which holds `own`, ready for the first lead.

    Returns:
        The random stream's next state.
    """
    place = 0
    for step in range(seats):
        other = (seat + step) % seats
        hand = own
        if step > 0:
            hand = np.int64(0)
            for _ in range(game.hand_size):
                pick, state = bounded(state, unseen - place)
                pick += place
                card = np.int64(pack[pick])
                pack[pick] = pack[place]
                pack[place] = card
                hand |= np.int64(1) << card
                place += 1
        game.hands[other] = hand
        game.played[other] = 0
        game.tricks[other] = 0
        game.voids[other] = 0
    game.phase = PLAY
    game.seat = game.leader
    game.trump_broken = 0
    game.num_played = 0
    return state


@inlined
def tally_tricks(rules, game, seats, worlds, state, pack, tally):
    """Counts in how many of `worlds` random worlds the seat to act, and its side, take 0, 1, 2, ... tricks.

    Args:
        rules: A `RULES` record.
        game: A `GAME` record in the bidding phase, used up.
        seats: How many play.
        worlds: How many deals of the unseen cards are played out.
        state: uint64 random stream.
        pack: Scratch space for 54 cards (int8).
        tally: Integers [2, 28], added to: its own tricks and those of its side.

    Returns:
        The random stream's next state.
    """
    seat = np.int64(game.seat)
    own = game.hands[seat]
    hidden = hidden_cards(rules, game, seats)
    unseen, cards = 0, hidden & ~own
    while cards:
        pack[unseen] = lowest(cards)
        cards &= cards - 1
        unseen += 1
    leader = game.leader
    for _ in range(worlds):
        game.leader = leader
        state = open_world(game, seat, seats, own, pack, unseen, state)
        play_out(rules, game, seats, hidden)
        tally[0, game.tricks[seat]] += 1
        tally[1, standing_tricks(rules, game, seat)] += 1
    return state


@inlined
def best_bid(rules, game, tally, lift):
    """Returns the bid with the most points over all worlds, the lowest of equals.

    A bid of tricks is judged by its seat's own tricks; where the partner has bid, their sum is judged by those of the
    side, and so is a board, since it stands for both.

    Args:
        rules: A `RULES` record.
        game: A `GAME` record in the bidding phase.
        tally: See `tally_tricks`.
        lift: In which share of the worlds where the bid fails by one trick it would be made by better play.
    """
    size = np.int64(game.hand_size)
    told = np.int64(game.bids[partner(np.int64(game.seat))]) if rules.teams else np.int64(NONE)
    choice, best = np.int64(NONE), 0.0
    legal = legal_bids(rules, game)
    while legal:
        bid: int = lowest(legal)
        legal &= legal - 1
        stands = bid if told == NONE else max(bid, told) if max(bid, told) > BOARD else bid + told
        whose = 0 if told == NONE and bid <= BOARD else 1
        total = 0.0
        for tricks in range(size + 1):
            total += tally[whose, tricks] * hand_points(rules, size, stands, tricks)
        if 0 < stands <= BOARD:
            saved = hand_points(rules, size, stands, stands) - hand_points(rules, size, stands, stands - 1)
            total += lift * tally[whose, stands - 1] * saved
        if choice == NONE or total > best:
            choice, best = bid, total
    return choice


@inlined
def bid_stream(game, seats, seed):
    """Returns the start of the random stream of a bid: a hash of what the seat knows, by relative seats."""
    seat = np.int64(game.seat)
    state = stream(stream(seed, game.hands[seat]), 1 + np.int64(game.turned_up))
    for step in range(1, seats):
        state = stream(state, 1 + np.int64(game.bids[(seat + step) % seats]))
    return state


@kernel
def rule_actions(rules, views, worlds, seed, scratch, pack, tally, out):
    """Chooses the rule bot's action for every view.

    Args:
        rules: One `RULES` record.
        views: `GAME` records [n].
        worlds: How many worlds a bid is estimated from.
        seed: uint64, the bot's.
        scratch: One `GAME` record of scratch space.
        pack: Scratch space, int8 [54].
        tally: Scratch space, int64 [2, 28].
        out: int64 [n], written: action ids.
    """
    seats = np.int64(rules[0].num_players)
    for row in range(len(views)):
        view = views[row]
        if view.phase == BID:
            scratch[0] = view
            tally[:, :] = 0
            tally_tricks(rules[0], scratch[0], seats, worlds, bid_stream(view, seats, seed), pack, tally)
            out[row] = bid_action_of(best_bid(rules[0], view, tally, 0.0), np.int64(rules[0].most_cards))
        else:
            out[row] = choose_card(rules[0], view, seats, hidden_cards(rules[0], view, seats))
