"""A match in the engine with a referee beside it: both act on the same decisions and must agree at each of them."""

from collections.abc import Sequence
from typing import Any

from back_alley_referee import BLOOPERS, BackAlleyReferee
from referee import PACK, Action, Bid, Referee
from tables import FIRST_BID, result_of

from bluke_env import Deal, Game, HandResult, Rules

IDS = {card: card_id for card_id, card in enumerate(PACK)}
SUIT_IDS = {"C": 0, "D": 1, "H": 2, "S": 3, None: None}
BOARD = 27  # A board of level L is the bid 27 + L.

Dealt = tuple[list[list[str]], str | None, str | None]  # Hands, the card turned up, the card drawn in exchange.


def action_id(action: Action, rules: Rules) -> int:
    if isinstance(action, str):
        return IDS[action]
    return FIRST_BID + (action if isinstance(action, int) else rules.most_cards + action[1])


def bid_number(bid: Bid | None) -> int | None:
    return BOARD + bid[1] if isinstance(bid, tuple) else bid


def card_id(card: str | None) -> int | None:
    return None if card is None else IDS[card]


def card_text(card: int | None) -> str | None:
    return None if card is None else PACK[card]


def texts(cards: Sequence[int]) -> list[str]:
    return [PACK[card] for card in cards]


def ids_by_seat(hands: Sequence[Sequence[str]]) -> list[list[int]]:
    return [sorted(IDS[card] for card in hand) for hand in hands]


def engine_position(game: Game) -> dict[str, Any]:
    return {
        "phase": game.phase.name.lower(),
        "seat": game.current_player,
        "leader": game.leader,
        "legal": game.legal_actions(),
        "trick": list(game.trick),
        "trump_broken": game.trump_broken,
        "exchanged": game.exchanged,
        "bids": list(game.bids),
        "tricks": list(game.tricks),
        "scores": list(game.scores),
        "hand": (game.hand_number, game.hand_size, game.dealer, game.trump, game.turned_up),
        "terminal": game.is_terminal,
    }


def referee_position(referee: Referee, rules: Rules) -> dict[str, Any]:
    return {
        "phase": referee.phase,
        "seat": referee.seat,
        "leader": referee.leader,
        "legal": sorted(action_id(action, rules) for action in referee.legal()),
        "trick": [(seat, IDS[card]) for seat, card in referee.trick],
        "trump_broken": referee.trump_broken,
        "exchanged": referee.exchanged,
        "bids": [bid_number(bid) for bid in referee.bids],
        "tricks": referee.tricks,
        "scores": referee.scores,
        "hand": hand_facts(referee),
        "terminal": False,
    }


def hand_facts(referee: Referee) -> tuple[Any, ...]:
    trump = SUIT_IDS[referee.trump]
    return referee.hand_number, referee.hand_size, referee.dealer, trump, card_id(referee.turned_up)


def engine_result(game: Game) -> dict[str, Any]:
    result = result_of(game)
    return {
        "hand": (result.number, result.size, result.dealer, result.trump, result.turned_up),
        "hands": [list(hand) for hand in result.hands],
        "exchange": (result.exchanged, result.drawn),
        "leader": result.leader,
        "bids": list(result.bids),
        "tricks": list(result.tricks),
        "points": list(result.points),
        "order": list(result.order),
        "scores": list(game.scores),
        "terminal": game.is_terminal,
        "winners": list(game.winners) if game.is_terminal else None,
    }


def referee_result(referee: Referee) -> dict[str, Any]:
    return {
        "hand": hand_facts(referee),
        "hands": ids_by_seat(referee.full_hands),
        "exchange": (referee.exchanged, card_id(referee.drawn)),
        "leader": referee.first_leader,
        "bids": [bid_number(bid) for bid in referee.bids],
        "tricks": referee.tricks,
        "points": referee.points,
        "order": [IDS[card] for _, card in referee.played],
        "scores": referee.scores,
        "terminal": referee.phase == "over",
        "winners": referee.winners,
    }


def referee_for(rules: Rules, first_dealer: int) -> Referee:
    schedule: Any = rules.schedule
    options: dict[str, Any] = {
        "first_dealer": first_dealer,
        "bluke_lead": rules.bluke_lead,
        "points_per_trick": rules.points_per_trick,
        "points_per_overtrick": rules.points_per_overtrick,
        "num_suits": rules.num_suits,
        "num_ranks": rules.num_ranks,
    }
    if rules.teams:
        return BackAlleyReferee(list(schedule), **options)
    return Referee(rules.num_players, list(schedule), min_bid=rules.min_bid, **options)


class JudgedMatch:
    """One match: `deal`, then `act` until the referee's phase is "deal" or "over".

    Args:
        rules: What is played.
        seed: What the engine shuffles by.
        deals: Given deals instead, one for each hand.
    """

    def __init__(self, rules: Rules, *, seed: int | None = None, deals: Sequence[Deal] | None = None) -> None:
        self.rules = rules
        self.game = Game(rules, seed=seed, deals=deals)
        self.referee = referee_for(rules, self.game.dealer)
        self.deals = deals
        self._seed = seed
        self._actions: list[Action] = []
        self._results: list[HandResult] = []

    def deal(self) -> None:
        """Deals the next hand to the referee, and compares."""
        hands, turned_up, next_card = self._shuffled() if self.deals is None else self._given()
        drawn = () if next_card is None else (next_card,)
        self.referee.deal(hands, turned_up, *drawn)
        assert [list(hand) for hand in self.game.hands] == ids_by_seat(self.referee.hands), self._told()
        self._compare_positions()

    def act(self, action: Action) -> None:
        """Bids or plays, and compares."""
        self._actions.append(action)
        self.game.apply_action(action_id(action, self.rules))
        self.referee.act(action)
        if self.referee.phase in ("bid", "play"):
            self._compare_positions()
        else:
            self._compare_results()

    def _given(self) -> Dealt:
        assert self.deals is not None
        deal = self.deals[self.referee.hand_number + 1]
        return [texts(hand) for hand in deal.hands], card_text(deal.turned_up), card_text(deal.next_card)

    def _shuffled(self) -> Dealt:
        """What the engine dealt; it shows the hands after an exchange, and only at the end which card was drawn."""
        hands, turned_up = [texts(hand) for hand in self.game.hands], card_text(self.game.turned_up)
        if self.game.exchanged is None:
            return hands, turned_up, None
        some_card = hands[self.game.exchanged].pop()
        hands[self.game.exchanged] += [blooper for blooper in BLOOPERS if blooper != turned_up]
        return hands, turned_up, some_card

    def _compare_positions(self) -> None:
        assert engine_position(self.game) == referee_position(self.referee, self.rules), self._told()

    def _compare_results(self) -> None:
        if self.deals is None and self.referee.exchanged is not None:
            self.referee.drawn = card_text(result_of(self.game).drawn)
            assert self.referee.drawn in self.referee.full_hands[self.referee.exchanged], self._told()
        assert engine_result(self.game) == referee_result(self.referee), self._told()
        self._results.append(result_of(self.game))
        if self.game.is_terminal:
            assert self.game.history == tuple(self._results), self._told()

    def _told(self) -> str:
        deals = f"seed {self._seed}" if self.deals is None else f"deals {self.deals}"
        return f"{self.rules}, {deals}, after {self._actions}"
