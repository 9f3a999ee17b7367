"""A plain referee of Back Alley, written from the rules page alone: as Bluke, except for what stands here.

The Bloopers are the cards `"LB"` (Little) and `"HB"` (Big); a board is the bid `("board", level)`.
"""

from collections.abc import Sequence
from typing import Any

from referee import RANKS, Bid, Board, Referee, Schedule, hand_points, is_bluke, suit_of

SIDES = ((0, 2), (1, 3))
BLOOPERS = ("LB", "HB")
BOARDS: list[Board] = [("board", level) for level in range(1, 5)]
BOARD_WORTH = {1: 2, 2: 4, 3: 8, 4: 16}


def is_trump(card: str, trump: str | None) -> bool:
    """Whether it belongs to the trump suit, which the Bloopers do; at no trump none is in play."""
    return trump is not None and (is_bluke(card) or suit_of(card) == trump)


def trump_strength(card: str) -> int:
    return [*RANKS, "L", "H"].index(card[0])


def may_be_led(hand: Sequence[str], trump: str | None, *, may_lead_trump: bool) -> list[str]:
    """The cards of `hand` that may be led."""
    others = [card for card in hand if not is_trump(card, trump)]
    return list(hand) if may_lead_trump or not others else others


def may_follow(hand: Sequence[str], lead: str, trump: str | None, bluke_lead: str = "high_low") -> list[str]:
    """The cards of `hand` that may be played to a trick with that lead."""
    if not is_trump(lead, trump):
        of_suit = [card for card in hand if not is_trump(card, trump) and suit_of(card) == suit_of(lead)]
        return of_suit or list(hand)
    trumps = [card for card in hand if is_trump(card, trump)]
    if trumps and is_bluke(lead) and bluke_lead == "high_low":
        return [(max if lead == "HB" else min)(trumps, key=trump_strength)]
    return trumps or list(hand)


def bid_strength(bid: Bid) -> tuple[int, int]:
    """What the highest bid is the highest by: the level of the board, then the number of tricks."""
    return (0, bid) if isinstance(bid, int) else (bid[1], 0)


def side_points(
    bids: Sequence[Bid], tricks: int, cards: int, points_per_trick: int = 5, points_per_overtrick: int = 1
) -> int:
    """What a side scores for a hand of `cards` cards: the bids of its two players, the tricks of both together."""
    levels = [bid[1] for bid in bids if not isinstance(bid, int)]
    if not levels:
        return hand_points(
            sum(bid for bid in bids if isinstance(bid, int)), tricks, points_per_trick, points_per_overtrick
        )
    stake = points_per_trick * BOARD_WORTH[max(levels)] * cards
    return stake if tricks == cards else -stake


class BackAlleyReferee(Referee):
    """One match of four; what the seats of a side score is the same for both.

    The leader while bidding is who would lead if no more bids were made.
    """

    bluke_leads = ("high_low", "trump")

    def __init__(
        self,
        schedule: Schedule,
        *,
        first_dealer: int,
        bluke_lead: str = "high_low",
        points_per_trick: int = 5,
        points_per_overtrick: int = 1,
        **pack: Any,
    ) -> None:
        super().__init__(
            4,
            schedule,
            first_dealer=first_dealer,
            min_bid=0,
            bluke_lead=bluke_lead,
            points_per_trick=points_per_trick,
            points_per_overtrick=points_per_overtrick,
            **pack,
        )

    def deal(self, hands: Sequence[Sequence[str]], turned_up: str | None, next_card: str | None = None) -> None:
        """Start the next hand; `next_card` is what the holder of the other Blooper takes when one is turned up."""
        if turned_up is None:
            raise ValueError("a card is always turned up in Back Alley")
        holders = [seat for seat, hand in enumerate(hands) if is_bluke(turned_up) and set(hand) & set(BLOOPERS)]
        rest = set(self.pack) - {turned_up, *(card for hand in hands for card in hand)}
        if (next_card not in rest) if holders else (next_card is not None):
            raise ValueError(f"a card of the rest is {'' if holders else 'not '}to be drawn, not {next_card}")
        super().deal(hands, turned_up)
        self.trump_broken = False
        self.exchanged = self.drawn = None
        for seat in holders:
            self.exchanged, self.drawn = seat, next_card
            self.hands[seat] = [card for card in [*hands[seat], str(next_card)] if not is_bluke(card)]
            self.full_hands[seat] = list(self.hands[seat])

    @property
    def own_bid(self) -> Bid | None:
        """The bid of the seat to act."""
        assert self.seat is not None
        return self.bids[self.seat]

    @property
    def partners_bid(self) -> Bid | None:
        """The bid of the partner of the seat to act."""
        assert self.seat is not None
        return self.bids[(self.seat + 2) % 4]

    def _legal_bids(self) -> list[Bid]:
        boards = [bid for bid in self.bids if isinstance(bid, tuple)]
        next_board: Board = ("board", len(boards) + 1)
        if isinstance(self.partners_bid, tuple):
            return [0, next_board]
        return [*range(self.hand_size - (self.partners_bid or 0) + 1), next_board]

    def _bid(self, bid: Bid) -> None:
        assert self.leader is not None
        best = self.bids[self.leader]
        if best is None or bid_strength(bid) > bid_strength(best):
            self.leader = self.seat
        super()._bid(bid)

    def _legal_cards(self) -> list[str]:
        if self.trick:
            return may_follow(self.hand, self.trick[0][1], self.trump, self.bluke_lead)
        has_bid_board = isinstance(self.own_bid, tuple) or isinstance(self.partners_bid, tuple)
        return may_be_led(self.hand, self.trump, may_lead_trump=self.trump_broken or has_bid_board)

    def _play(self, card: str) -> None:
        if self.trick and is_trump(card, self.trump) and not is_trump(self.trick[0][1], self.trump):
            self.trump_broken = True
        super()._play(card)

    def _points(self) -> list[int]:
        points = [0] * 4
        for side in SIDES:
            bids = [bid for seat in side if (bid := self.bids[seat]) is not None]
            tricks = sum(self.tricks[seat] for seat in side)
            for seat in side:
                points[seat] = side_points(
                    bids, tricks, self.hand_size, self.points_per_trick, self.points_per_overtrick
                )
        return points
