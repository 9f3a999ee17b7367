"""A plain referee of standard Bluke, written from the rules page alone.

It shares no code with the engine it judges, not even the numbering of cards: a card is its text (`"AS"`,
`"TD"`, `"LB"`, `"HB"`), a suit its letter, no trump is `None`, a bid an int or, in Back Alley, a board.
"""

from collections.abc import Sequence

RANKS = "23456789TJQKA"
SUITS = "CDHS"


def pack_of(num_suits: int, num_ranks: int) -> tuple[str, ...]:
    """The highest ranks of the first suits, and both Blukes."""
    return (*(rank + suit for suit in SUITS[:num_suits] for rank in RANKS[-num_ranks:]), "LB", "HB")


PACK = pack_of(4, 13)

MOST_CARDS = {2: 13, 3: 13, 4: 13, 5: 10, 6: 8, 7: 7, 8: 6, 9: 5, 10: 5, 11: 4, 12: 4, 13: 4, 14: 3, 15: 3}

Board = tuple[str, int]  # ("board", level), a bid for every trick that only Back Alley knows
Bid = int | Board
Action = Bid | str
Schedule = list[tuple[int, bool]]
Trick = list[tuple[int, str]]


def standard_schedule(num_players: int) -> Schedule:
    """The hands of a standard match as (cards, no trump): down from the most cards to one and up again."""
    most = MOST_CARDS[num_players]
    return [(cards, False) for cards in [*range(most, 1, -1), *range(1, most + 1)]]


def extended_schedule(num_players: int) -> Schedule:
    """The longer match that 2, 3, 6, 8 or 9 players may agree on; its last hand is at no trump."""
    rising_on = {2: range(14, 26), 3: range(14, 18), 6: (), 8: (), 9: ()}[num_players]
    last = {2: 26, 3: 18, 6: 9, 8: 6, 9: 6}[num_players]
    return [*standard_schedule(num_players), *((cards, False) for cards in rising_on), (last, True)]


def is_bluke(card: str) -> bool:
    return card in ("LB", "HB")


def suit_of(card: str) -> str | None:
    """The card's suit; the Blukes have none."""
    return None if is_bluke(card) else card[1]


def trick_winner(trick: Trick, trump: str | None) -> int:
    """The seat that takes a finished trick of (seat, card) pairs in order of play."""
    seat_of = {card: seat for seat, card in trick}
    for bluke in ("HB", "LB"):
        if bluke in seat_of:
            return seat_of[bluke]
    led = suit_of(trick[0][1])
    trumps = [card for card in seat_of if suit_of(card) == trump]
    candidates = trumps or [card for card in seat_of if suit_of(card) == led]
    return seat_of[max(candidates, key=lambda card: RANKS.index(card[0]))]


def suit_asked(lead: str, trump: str | None, bluke_lead: str) -> str | None:
    """The suit that the others must follow, None where they may play anything."""
    if is_bluke(lead) and bluke_lead == "trump":
        return trump
    return suit_of(lead)


def playable(hand: Sequence[str], trick: Trick, trump: str | None, bluke_lead: str = "none") -> list[str]:
    """The cards of `hand` that may be played to the trick so far."""
    asked = suit_asked(trick[0][1], trump, bluke_lead) if trick else None
    can_follow = asked is not None and any(suit_of(card) == asked for card in hand)
    return [card for card in hand if not can_follow or suit_of(card) in (asked, None)]


def hand_points(bid: int, tricks: int, points_per_trick: int = 10, points_per_overtrick: int = 1) -> int:
    """What a player scores for a hand."""
    if tricks < bid:
        return -points_per_trick * bid
    return points_per_trick * bid + points_per_overtrick * (tricks - bid)


class Referee:
    """One match, hand by hand: `deal`, then `act` for every bid and card until `phase` is "deal" or "over".

    Attributes (lists run over the seats; those of a hand keep their values until the next deal):
        phase: "deal", "bid", "play" or "over".
        seat: who is to act, None in the phases "deal" and "over".
        hand_number: 0-based, -1 before the first deal.
        hands: the cards still held; `full_hands` those held while bidding.
        exchanged: the seat that exchanged a card after the deal, `drawn` what it drew (only in Back Alley).
        trick: (seat, card) pairs of the trick being played; `played` those of the whole hand.
        leader: who leads, or has led, the trick being played; `first_leader` the same of the hand's first trick.
        trump_broken: whether trump has been played to another suit's trick (only in Back Alley).
        bids, tricks: of the hand; a bid not yet made is None.
        points: of the hand, None until it has ended.
        scores: running totals.
        winners: the seats that share the highest total once the match is over, None before.
    """

    bluke_leads: tuple[str, ...] = ("none", "trump")

    def __init__(
        self,
        num_players: int,
        schedule: Schedule,
        *,
        first_dealer: int,
        min_bid: int = 1,
        bluke_lead: str = "none",
        points_per_trick: int = 10,
        points_per_overtrick: int = 1,
        num_suits: int = 4,
        num_ranks: int = 13,
    ) -> None:
        self.pack = pack_of(num_suits, num_ranks)
        if not 2 <= num_players <= 15:
            raise ValueError(f"2 to 15 can play, not {num_players}")
        if not schedule or any(not 1 <= cards <= len(self.pack) // num_players for cards, _ in schedule):
            raise ValueError(f"the hands of {schedule} do not all fit the pack")
        if not 0 <= first_dealer < num_players:
            raise ValueError(f"no seat {first_dealer} to deal")
        if min_bid not in (0, 1) or bluke_lead not in self.bluke_leads:
            raise ValueError(f"unknown option {min_bid} or {bluke_lead}")
        self.num_players = num_players
        self.schedule = schedule
        self.first_dealer = self.dealer = first_dealer
        self.min_bid = min_bid
        self.bluke_lead = bluke_lead
        self.points_per_trick = points_per_trick
        self.points_per_overtrick = points_per_overtrick

        self.phase = "deal"
        self.hand_number = -1
        self.hand_size = 0
        self.seat: int | None = None
        self.leader: int | None = None
        self.first_leader: int | None = None
        self.turned_up: str | None = None
        self.trump: str | None = None
        self.hands: list[list[str]] = []
        self.full_hands: list[list[str]] = []
        self.exchanged: int | None = None
        self.drawn: str | None = None
        self.trick: Trick = []
        self.played: Trick = []
        self.trump_broken = False
        self.bids: list[Bid | None] = [None] * num_players
        self.tricks = [0] * num_players
        self.points: list[int] | None = None
        self.scores = [0] * num_players
        self.winners: list[int] | None = None

    def deal(self, hands: Sequence[Sequence[str]], turned_up: str | None) -> None:
        """Start the next hand with these cards; a deal that the rules do not allow is a ValueError."""
        if self.phase != "deal":
            raise ValueError(f"no deal is due in phase {self.phase}")
        size, no_trump = self.schedule[self.hand_number + 1]
        self._check_deal(hands, turned_up, size, no_trump)
        self.hand_number += 1
        self.hand_size = size
        self.dealer = (self.first_dealer + self.hand_number) % self.num_players
        self.leader = self.seat = self._left_of(self.dealer)
        self.turned_up = turned_up
        self.trump = suit_of(turned_up) if turned_up else None
        self.hands = [list(hand) for hand in hands]
        self.full_hands = [list(hand) for hand in hands]
        self.trick = []
        self.played = []
        self.bids = [None] * self.num_players
        self.tricks = [0] * self.num_players
        self.points = None
        self.phase = "bid"

    def legal(self) -> list[Action]:
        """The bids or cards that the seat to act may choose from."""
        if self.phase == "bid":
            return list(self._legal_bids())
        if self.phase == "play":
            return list(self._legal_cards())
        return []

    def _legal_bids(self) -> list[Bid]:
        return list(range(self.min_bid, self.hand_size + 1))

    def _legal_cards(self) -> list[str]:
        return playable(self.hand, self.trick, self.trump, self.bluke_lead)

    @property
    def hand(self) -> list[str]:
        """The cards held by the seat to act."""
        assert self.seat is not None
        return self.hands[self.seat]

    def act(self, action: Action) -> None:
        """Bid or play for the seat to act; what is not legal is a ValueError."""
        if action not in self.legal():
            raise ValueError(f"seat {self.seat} may not choose {action!r} but {self.legal()}")
        if isinstance(action, str):
            self._play(action)
        else:
            self._bid(action)

    def _bid(self, bid: Bid) -> None:
        assert self.seat is not None
        self.bids[self.seat] = bid
        if self.seat == self.dealer:
            self.phase = "play"
            self.seat = self.first_leader = self.leader
        else:
            self.seat = self._left_of(self.seat)

    def _play(self, card: str) -> None:
        assert self.seat is not None
        self.hand.remove(card)
        self.trick.append((self.seat, card))
        self.played.append((self.seat, card))
        if len(self.trick) < self.num_players:
            self.seat = self._left_of(self.seat)
            return
        winner = trick_winner(self.trick, self.trump)
        self.tricks[winner] += 1
        self.leader = self.seat = winner
        self.trick = []
        if len(self.played) == self.num_players * self.hand_size:
            self._score()

    def _score(self) -> None:
        self.points = self._points()
        self.scores = [total + points for total, points in zip(self.scores, self.points, strict=True)]
        self.leader = self.seat = None
        self.phase = "deal"
        if self.hand_number + 1 == len(self.schedule):
            self.phase = "over"
            self.winners = [seat for seat, total in enumerate(self.scores) if total == max(self.scores)]

    def _points(self) -> list[int]:
        return [
            hand_points(bid, tricks, self.points_per_trick, self.points_per_overtrick)
            for bid, tricks in zip(self.bids, self.tricks, strict=True)
            if isinstance(bid, int)
        ]

    def _left_of(self, seat: int) -> int:
        return (seat + 1) % self.num_players

    def _check_deal(self, hands: Sequence[Sequence[str]], turned_up: str | None, size: int, no_trump: bool) -> None:
        if [len(hand) for hand in hands] != [size] * self.num_players:
            raise ValueError(f"{self.num_players} hands of {size} are due, not {hands}")
        shown = [card for hand in hands for card in hand] + ([turned_up] if turned_up else [])
        if len(set(shown)) < len(shown) or not set(shown) <= set(self.pack):
            raise ValueError(f"not distinct cards of the pack: {shown}")
        turns_up = not no_trump and self.num_players * size < len(self.pack)
        if turns_up != (turned_up is not None):
            raise ValueError(f"a card is {'' if turns_up else 'not '}to be turned up, not {turned_up}")
