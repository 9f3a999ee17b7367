"""How the rest of a hand is played where cards are tried: a small network that learns along with the large one.

What a card makes depends on how everybody plays on. The compiled rule bot plays on fast, but worse than the networks
that learn, and it looks at no bid; what is learned from it is to play among rule bots. So a policy of a thousand
weights for each card learns from the same hindsight (`agents.hindsight`), and the seats of networks play on by it, as
by the rollout policy of AlphaGo (Silver et al. 2016). Before it has learned anything it plays the rule bot's cards.

It sees what the rule bot sees, and the tricks that everyone still needs.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from bluke_env import Rules
from bluke_env.bots.pimc_kernels import distinct_cards
from bluke_env.bots.rule_kernels import bluke_worth, card_worth, choose_card, facts_of, hidden_cards, suit_facts
from bluke_env.cards import BLUKES, NUM_SUITS
from bluke_env.engine.back_alley import tricks_bid
from bluke_env.engine.bits import highest, lowest, popcount
from bluke_env.engine.encode import above
from bluke_env.engine.jit import inlined, kernel, subroutine
from bluke_env.engine.play import legal_cards, put_card, suit_mask
from bluke_env.engine.score import standing_bid, standing_tricks
from bluke_env.engine.state import NONE, PLAY
from bluke_env.engine.suits import relabel_card

OF_CARD = ("takes", "keeps", "higher", "lower", "trump", "bluke", "wins", "top", "length")
"""By the rule bot's formula the chance to take the trick and the worth later; unseen cards of the suit above and below;
whether it is a trump or a Bluke, takes the trick as it stands, has none above it; own cards of the suit."""

OF_HAND = (
    "needed", "left", "needed_of_left", "has_enough", "needs_all", "played", "leads", "choices", "tops", "trumps",
    "blukes", "trumpless", "wanted", "later_need", "best_needs", "others_need", "best_takes", "all_keeps",
)  # fmt: skip
"""Tricks that the seat needs, cards that it has left, one by the other, whether it has enough or needs all; the part of
the others that has played to the trick, whether it leads, how many cards differ, of its cards those that nothing
outranks, trumps and Blukes, and whether there is no trump; tricks that all still want beyond those there are, up to six
of a seat, and of partners both what their side wants; which part of those yet to play needs one, whether the seat that
has the trick does, and which part of all others; of its cards the best chance to take the trick, and the worth later of
all."""

WIDTH = 32
"""Of the hidden layer."""

UNIT = 50.0
"""What stands for 1 in int8."""

RULE = -1
"""Stands for the rule bot where others have the row of their weights."""

_LIMIT = 2.5
_NUM_OF_CARD, _NUM_OF_HAND = len(OF_CARD), len(OF_HAND)
_BIAS, _OUT, _DIRECT = _NUM_OF_CARD + _NUM_OF_HAND, _NUM_OF_CARD + _NUM_OF_HAND + 1, _NUM_OF_CARD + _NUM_OF_HAND + 2
PACKED = _DIRECT + 1, WIDTH
"""The shape of packed weights: for every feature those of the hidden layer, its biases, the output's, and in the last
row those that add features to the logit as they are."""

_MOST = 27
"""Cards of a hand, at most."""

SCRATCH = np.dtype(
    [
        ("cards", np.int64, (_MOST,)),
        ("of_card", np.float32, (_MOST, _NUM_OF_CARD)),
        ("of_hand", np.float32, (_NUM_OF_HAND,)),
        ("base", np.float32, (WIDTH,)),
        ("sums", np.float32, (WIDTH,)),
    ],
    align=True,
)


class Playouts(nn.Module):
    """The small network: one hidden layer over what is known of a card and of the hand, and the card's own features.

    Its cards are worth as much as the rule bot finds them before anything is learned.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(_NUM_OF_CARD + _NUM_OF_HAND, WIDTH)
        self.out = nn.Linear(WIDTH, 1, bias=False)
        self.direct = nn.Linear(_NUM_OF_CARD, 1, bias=False)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.direct.weight)
        with torch.no_grad():
            self.direct.weight[0, :2] = torch.tensor([4.0, -4.0])

    def forward(self, of_hand: torch.Tensor, of_card: torch.Tensor) -> torch.Tensor:
        """Returns the logits of cards, float32 [n, k], for features [n, `OF_HAND`] and [n, k, `OF_CARD`].

        Autocast is for wide layers.
        """
        with torch.autocast(of_hand.device.type, enabled=False):
            return self._logits(of_hand, of_card)

    def _logits(self, of_hand: torch.Tensor, of_card: torch.Tensor) -> torch.Tensor:
        by_card, by_hand = self.hidden.weight.split([_NUM_OF_CARD, _NUM_OF_HAND], 1)
        hidden = functional.linear(of_card, by_card) + functional.linear(of_hand, by_hand, self.hidden.bias)[:, None]
        return (self.out(torch.relu(hidden)) + self.direct(of_card))[..., 0]

    @torch.no_grad()
    def packed(self) -> np.ndarray:
        """Returns the weights as `play_on` reads them, float32 [rows, `WIDTH`]."""
        direct = functional.pad(self.direct.weight, (0, WIDTH - _NUM_OF_CARD))
        return torch.cat([self.hidden.weight.T, self.hidden.bias[None], self.out.weight, direct]).cpu().numpy()


def playout_features(rules: Rules, games: np.ndarray, orders: np.ndarray, rows: np.ndarray, most: int) -> np.ndarray:
    """Returns what the small network sees when seats play a card, int8 [m, `OF_HAND` + most * (1 + `OF_CARD`)].

    First comes what is known of the hand; then the labels of the cards that differ, in the suit order of the seat, -1
    where there are no more; then what is known of these, card after card.

    Args:
        rules: The rules of all games.
        games: `GAME` records [n]; the other seats' hands are not read.
        orders: int16 [n], the orders of the suits that the seats see.
        rows: Which of the games, int64 [m]; nothing is written of bids.
        most: Cards that there is room for.
    """
    out = np.zeros((len(rows), _NUM_OF_HAND + most * (1 + _NUM_OF_CARD)), np.int8)
    out[:, _NUM_OF_HAND : _NUM_OF_HAND + most] = NONE
    _write(rules.record(), games, orders, rows, most, np.zeros(1, SCRATCH), out)
    return out


def with_labels(features: np.ndarray, labels: np.ndarray, most: int) -> np.ndarray:
    """Changes the labels in what `playout_features` wrote and returns it.

    Args:
        features: int8 [n, .], changed.
        labels: int64 [n, actions], the new labels of all that may be done.
        most: Cards that there is room for.
    """
    cards = features[:, _NUM_OF_HAND : _NUM_OF_HAND + most]
    cards[:] = np.where(cards == NONE, NONE, np.take_along_axis(labels, np.maximum(cards, 0).astype(np.int64), 1))
    return features


def parted(features: torch.Tensor, most: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns what `playout_features` wrote: float32 [n, `OF_HAND`], int64 labels [n, k], float32 [n, k, `OF_CARD`]."""
    of_hand, labels, of_card = features.split([_NUM_OF_HAND, most, most * _NUM_OF_CARD], 1)
    return of_hand / UNIT, labels.long(), of_card.view(len(features), most, _NUM_OF_CARD) / UNIT


@kernel
def _write(rules, games, orders, rows, most, scratch, out):
    seats, known = np.int64(rules[0].num_players), scratch[0]
    for index in range(len(rows)):
        game = games[rows[index]]
        if game.phase != PLAY:
            continue
        hidden = hidden_cards(rules[0], game, seats)
        count = gather(rules[0], game, seats, hidden, distinct_cards(rules[0], game, hidden), known)
        for kind in range(_NUM_OF_HAND):
            out[index, kind] = np.int8(np.rint(UNIT * known.of_hand[kind]))
        for place in range(count):
            out[index, _NUM_OF_HAND + place] = relabel_card(known.cards[place], np.int64(orders[rows[index]]))
            for kind in range(_NUM_OF_CARD):
                at = _NUM_OF_HAND + most + place * _NUM_OF_CARD + kind
                out[index, at] = np.int8(np.rint(UNIT * known.of_card[place, kind]))


@inlined
def play_on(rules, game, seats, hidden, styles, weights, scratch):
    """Plays a hand to its end.

    Args:
        rules: A `RULES` record.
        game: A `GAME` record in the play phase.
        seats: How many play.
        hidden: The mask of all cards neither played nor turned up.
        styles: For every seat the row of its weights, or `RULE`.
        weights: float32 [k, rows, WIDTH], see `Playouts.packed`.
        scratch: A `SCRATCH` record.
    """
    over = False
    while not over:
        style = styles[game.seat]
        if style == RULE:
            card = choose_card(rules, game, seats, hidden)
        else:
            card = learned_card(rules, game, seats, hidden, weights[style], scratch)
        hidden &= ~(np.int64(1) << card)
        over = put_card(rules, game, card)


@subroutine
def learned_card(rules, game, seats, hidden, weights, known):
    """Returns the card that the small network finds best."""
    cards = legal_cards(rules, game)
    if cards & (cards - 1) != 0:
        cards = distinct_cards(rules, game, hidden)
    if cards & (cards - 1) == 0:
        return lowest(cards)
    count = gather(rules, game, seats, hidden, cards, known)
    base, of_hand = known.base, known.of_hand
    for unit in range(WIDTH):
        base[unit] = (
            weights[_BIAS, unit]
            + _three(of_hand, weights, 0, _NUM_OF_CARD, unit) + _three(of_hand, weights, 3, _NUM_OF_CARD, unit)
            + _three(of_hand, weights, 6, _NUM_OF_CARD, unit) + _three(of_hand, weights, 9, _NUM_OF_CARD, unit)
            + _three(of_hand, weights, 12, _NUM_OF_CARD, unit) + _three(of_hand, weights, 15, _NUM_OF_CARD, unit)
        )  # fmt: skip
    choice, best = known.cards[0], np.float32(-np.inf)
    for place in range(count):
        value = _worth(weights, base, known.of_card[place], known.sums)
        if value > best:
            choice, best = known.cards[place], value
    return choice


@inlined
def _worth(weights, base, of_card, sums):
    """Returns the logit of a card."""
    for unit in range(WIDTH):
        value = base[unit] + _three(of_card, weights, 0, 0, unit)
        value += _three(of_card, weights, 3, 0, unit) + _three(of_card, weights, 6, 0, unit)
        sums[unit] = max(value, np.float32(0)) * weights[_OUT, unit]
    total = np.float32(0)
    for kind in range(_NUM_OF_CARD):
        total += of_card[kind] * weights[_DIRECT, kind]
    for unit in range(WIDTH // 2):  # in a fixed order, the same on every machine, and several at once
        sums[unit] += sums[unit + WIDTH // 2]
    for unit in range(WIDTH // 4):
        sums[unit] += sums[unit + WIDTH // 4]
    for unit in range(WIDTH // 4):
        total += sums[unit]
    return total


@inlined
def _three(values, weights, kind, first, unit):
    """Returns what three features add to a unit; a loop over all of them would not be turned into vector code."""
    row = first + kind
    return (
        values[kind] * weights[row, unit]
        + values[kind + 1] * weights[row + 1, unit]
        + values[kind + 2] * weights[row + 2, unit]
    )


@inlined
def gather(rules, game, seats, hidden, choices, known):
    """Writes what is known of the cards to choose from and of the hand; returns how many cards there are.

    The other seats' hands are not read.
    """
    seat = np.int64(game.seat)
    hand, trump = game.hands[seat], np.int64(game.trump)
    facts = facts_of(rules, game, seats, hidden, choices)
    count, tops = 0, 0
    for suit in range(NUM_SUITS):
        own = hand & suit_mask(suit)
        if own:
            cards, theirs, of_suit = choices & own, facts.unseen & suit_mask(suit), suit_facts(facts, suit)
            length: int = popcount(own)
            unbeaten: int = popcount(own & above(highest(theirs))) if theirs else length
            tops += unbeaten
            while cards:
                card: int = lowest(cards)
                cards &= cards - 1
                takes, keeps = card_worth(facts, of_suit, card)
                _note(facts, known, count, card, takes, keeps, theirs, suit == trump, False, length)
                count += 1
    blukes, theirs = hand & BLUKES, facts.unseen & BLUKES
    length = popcount(blukes)
    cards = blukes
    while cards:
        card = lowest(cards)
        cards &= cards - 1
        tops += theirs & above(card) == 0
        if (choices >> card) & 1:
            takes, keeps = bluke_worth(facts, card)
            _note(facts, known, count, card, takes, keeps, theirs, False, True, length)
            count += 1
    trumps: int = popcount(hand & suit_mask(trump)) if trump != NONE else 0
    _note_hand(rules, game, seats, count, tops, trumps, length, known)
    return count


@inlined
def _note(facts, known, place, card, takes, keeps, theirs, is_trump, is_bluke, length):
    """Writes what is known of a card."""
    higher: int = popcount(theirs & above(card))
    others: int = popcount(theirs)
    out = known.of_card[place]
    known.cards[place] = card
    out[0] = takes
    out[1] = keeps
    out[2] = higher / 12.5
    out[3] = (others - higher) / 12.5
    out[4] = is_trump
    out[5] = is_bluke
    out[6] = (facts.wins >> card) & 1
    out[7] = higher == 0
    out[8] = min(length / 5.0, _LIMIT)


@inlined
def _note_hand(rules, game, seats, count, tops, trumps, blukes, known):
    """Writes what is known of the hand, once that of its cards is written."""
    seat, out, played = np.int64(game.seat), known.of_hand, np.int64(game.in_trick)
    left: int = popcount(game.hands[seat])
    need = needed(rules, game, seat)
    wanted, all_need, later_need, other = min(need, 6) - left, 0, 0, seat
    for step in range(1, seats):
        other = other + 1 if other + 1 < seats else 0
        theirs = needed(rules, game, other)
        wanted += min(theirs, 6)
        all_need += theirs > 0
        later_need += theirs > 0 and step < seats - played
    best, keeps = np.float32(0), np.float32(0)
    for place in range(count):
        best = max(best, known.of_card[place, 0])
        keeps += known.of_card[place, 1]
    others, later = seats - 1, seats - 1 - played
    out[0] = min(need / 3.0, _LIMIT)
    out[1] = min(left / 6.0, _LIMIT)
    out[2] = min(need / left, _LIMIT)
    out[3] = need == 0
    out[4] = need >= left
    out[5] = played / others
    out[6] = played == 0
    out[7] = min(count / 6.0, _LIMIT)
    out[8] = min(tops / 3.0, _LIMIT)
    out[9] = min(trumps / 3.0, _LIMIT)
    out[10] = blukes
    out[11] = game.trump == NONE
    out[12] = max(-_LIMIT, min(wanted / 3.0, _LIMIT))
    out[13] = later_need / max(1, later)
    out[14] = played > 0 and needed(rules, game, np.int64(game.best_seat)) > 0
    out[15] = all_need / others
    out[16] = best
    out[17] = min(keeps / 2.0, _LIMIT)


@inlined
def needed(rules, game, seat):
    """Returns the tricks that a seat, or its side, still needs to make what it has bid."""
    bid = tricks_bid(standing_bid(rules, game, seat), np.int64(game.hand_size))
    return max(0, bid - standing_tricks(rules, game, seat))
