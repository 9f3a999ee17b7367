"""Points lost in bidding and in play: the oracle's cards, its replays, and players whose losses are known."""

from typing import Any

import numpy as np
import pytest
from test_search_sense import POSITIONS

from bluke_env import Agent, Game, Rules, Turn, bots
from bluke_env.cards import parse_card
from bluke_env.engine.batch import views_all
from bluke_env.engine.state import GAME
from bluke_env.evaluation import AgentError, play_duplicate, rotations
from bluke_env.evaluation.oracle import OracleLosses, losses_facts, oracle_losses
from bluke_env.evaluation.oracle_kernels import oracle_cards
from bluke_env.evaluation.seeds import deal_seed, player_seed
from bluke_env.schedule import ScheduledHand

FIRST_BID = 54
RULE = bots.make("rule")


def turn_of(game: Game, number: int = 0) -> Turn:
    """The decision due in a game of this number."""
    view = np.zeros(1, GAME)
    views_all(game._record, np.arange(1), view)
    return Turn(game.rules, view, view["seat"].copy(), np.array([number]))


def oracle_card(game: Game) -> int:
    out = np.empty(1, np.int64)
    oracle_cards(game.rules.record(), game._record.copy(), np.zeros(1, GAME), out)
    return int(out[0])


def slow_oracle_card(game: Game) -> int:
    """The oracle's card by games played out in Python; the `rule` bot's card comes first, so that it wins ties."""
    seat, points = game.current_player, {}
    for card in [int(RULE.act(turn_of(game))[0]), *game.legal_actions()]:
        world = game.clone()
        world.apply_action(card)
        while not world.is_terminal:
            world.apply_action(int(RULE.act(turn_of(world))[0]))
        points.setdefault(card, world.last_hand.points[seat])
    return max(points, key=lambda card: points[card])


class Bidding:
    """Always bids the same and plays its lowest card."""

    def __init__(self, bid: int) -> None:
        self.name, self.bid = f"bids {bid}", bid

    def reset(self, num_games: int, seed: int) -> None:
        pass

    def act(self, turn: Turn) -> np.ndarray:
        bids = turn.views["phase"] == 0
        return np.where(bids, FIRST_BID + self.bid, turn.masks.argmax(axis=1))


class Drawing:
    """Random, from streams of its own for each game, which move on with every decision."""

    name = "drawing"

    def reset(self, num_games: int, seed: int) -> None:
        self.generators = [np.random.default_rng([seed, game]) for game in range(num_games)]

    def act(self, turn: Turn) -> np.ndarray:
        rows = zip(turn.games, turn.masks, strict=True)
        return np.array([self.generators[game].choice(np.flatnonzero(mask)) for game, mask in rows])


class Cheat:
    """Bids two tricks and then plays what the oracle plays, since it deals the cards for itself again."""

    name = "cheat"

    def __init__(self, rules: Rules, seed: int) -> None:
        self.rules, self.seed = rules, seed

    def reset(self, num_games: int, seed: int) -> None:
        pass

    def act(self, turn: Turn) -> np.ndarray:
        if turn.views["phase"][0] == 0:
            return np.full(len(turn.views), FIRST_BID + 2)
        return np.array([self.card(view, int(number)) for view, number in zip(turn.views, turn.games, strict=True)])

    def card(self, view: Any, number: int) -> int:
        dealt = Game(self.rules, self.seed, number=number // self.rules.num_players)
        world = np.array([view])
        world["hands"] = dealt._record["hands"] & ~world["played"]
        world["key"] = dealt._record["key"]
        return oracle_card(Game.from_record(self.rules, world))


# Cards.


@pytest.mark.parametrize(
    "name",
    ["lose the trick with the card that would lose another", "take the partner's trick, to lead the last diamond"],
)
def test_the_oracle_finds_the_card_that_saves_the_bid(name: str) -> None:
    """Where the rule bot plays another one."""
    position = POSITIONS[name]
    right = parse_card(position.right)
    assert oracle_card(position.game()) == right
    assert RULE.act(turn_of(position.game()))[0] != right


@pytest.mark.parametrize("rules", [Rules(2, "5"), Rules(4, "6", bluke_lead="trump"), Rules.preset("back_alley")])
def test_the_oracle_is_the_one_played_out_in_python(rules: Rules) -> None:
    """In random play; some of its cards must not be the rule bot's, or nothing was tried."""
    rng, others = np.random.default_rng(5), 0
    for number in range(8):
        game = Game(rules.hands_of(rules.schedule[-1].cards if not rules.teams else 6), 1, number=number)
        while not game.is_terminal:
            if game.phase == 1:
                card = oracle_card(game)
                assert card == slow_oracle_card(game)
                others += card != RULE.act(turn_of(game))[0]
            game.apply_action(int(rng.choice(game.legal_actions())))
    assert others > 3


# Losses.


def test_hands_of_one_card_by_hand() -> None:
    """Who wins is in the cards: a bid of 1 loses 10 instead of nothing, a bid of 0 wins 1 instead of 10."""
    rules, hand, deals = Rules(2, "1", min_bid=0), ScheduledHand(1), 60
    wins = np.zeros((deals, 2), bool)
    for deal in range(deals):
        game = Game(rules, deal_seed(3, hand), number=deal)
        while not game.is_terminal:
            game.apply_action(game.legal_actions()[0])
        wins[deal] = np.array(game.last_hand.tricks) == 1
    bold = oracle_losses(Bidding(1), Bidding(0), rules, hand, deals, seed=3)
    timid = oracle_losses(Bidding(0), Bidding(0), rules, hand, deals, seed=3)
    assert (bold.bidding == np.where(wins, 0, 10).mean(axis=1)).all()
    assert (timid.bidding == np.where(wins, 9, 0).mean(axis=1)).all()
    assert not bold.play.any()
    assert not timid.play.any()


def test_losses_are_those_of_a_slow_replay_in_python() -> None:
    """A player that draws lots among rule bots: every replay of every deal, seat and bid."""
    rules, hand, deals, seed = Rules(3, "3-4", min_bid=0), ScheduledHand(3), 5, 11
    player, opponents = bots.make("random"), bots.make("rule:worlds=4")
    for agent in (player, opponents):
        agent.reset(deals * 3, player_seed(seed, hand, agent.name))

    def played(deal: int, own: int, bid: int | None) -> tuple[int, int]:
        game = Game(rules.hands_of(3), deal_seed(seed, hand), number=deal)
        while not game.is_terminal:
            turn = turn_of(game, 3 * deal + own)
            if game.current_player != own:
                action = int(opponents.act(turn)[0])
            elif bid is None:
                action = int(player.act(turn)[0])
            else:
                action = FIRST_BID + bid if game.phase == 0 else slow_oracle_card(game)
            game.apply_action(action)
        return game.last_hand.points[own], game.last_hand.bids[own]

    bidding, play = np.zeros((deals, 3)), np.zeros((deals, 3))
    for deal, own in np.ndindex(deals, 3):
        points, bid = played(deal, own, None)
        by_bid = [played(deal, own, other)[0] for other in range(4)]
        bidding[deal, own], play[deal, own] = max(by_bid) - by_bid[bid], by_bid[bid] - points
    lost = oracle_losses(player, opponents, rules, hand, deals, seed)
    assert lost.bidding.tolist() == bidding.mean(axis=1).tolist()
    assert lost.play.tolist() == play.mean(axis=1).tolist()
    assert play.any()
    assert bidding.any()


@pytest.mark.parametrize("opponents", [bots.make("random"), bots.make("rule:worlds=4"), Drawing()])
def test_the_oracle_itself_loses_nothing_in_play(opponents: Agent) -> None:
    """So the opponents, whatever they draw lots from, do the same in the replays."""
    rules, hand = Rules(3), ScheduledHand(4)
    cheat = Cheat(rules.hands_of(4), deal_seed(7, hand))
    lost = oracle_losses(cheat, opponents, rules, hand, deals=20, seed=7)
    assert not lost.play.any()
    assert (lost.bidding >= 0).all()
    assert lost.bidding.any()


def test_losses_add_up_with_the_points_of_the_table() -> None:
    """The player's games are those of `play_duplicate` at its table: points and both losses make the one best score."""
    rules, hand, deals = Rules(), ScheduledHand(4), 40
    opponents, twin = bots.make("rule:worlds=4"), bots.make("rule:worlds=4")
    best = []
    for name, player in {"random": bots.make("random"), "bids 1": Bidding(1), "rule:worlds=4 #2": twin}.items():
        table = (name, *[opponents.name] * 3)
        agents = {name: player, opponents.name: opponents}
        points = play_duplicate(rules, hand, rotations(rules, table), agents, deals, seed=2).points
        lost = oracle_losses(player, opponents, rules, hand, deals, seed=2)
        best.append(points[:, np.arange(4), np.arange(4)].mean(axis=1) + lost.bidding + lost.play)
    assert best[0] == pytest.approx(best[1], abs=1e-9)
    assert best[0] == pytest.approx(best[2], abs=1e-9)


def test_losses_depend_on_nothing_but_the_deals() -> None:
    rules, hand = Rules(3), ScheduledHand(5)
    agents = bots.make("random"), bots.make("rule:worlds=4")
    whole = oracle_losses(*agents, rules, hand, 30, seed=1)
    few = oracle_losses(*agents, rules, hand, 30, seed=1, games_at_once=7)
    parts = [oracle_losses(*agents, rules, hand, deals, seed=1) for deals in (range(11), range(11, 30))]
    for name in OracleLosses._fields:
        assert (getattr(whole, name) == getattr(few, name)).all()
        assert (getattr(whole, name) == np.concatenate([getattr(part, name) for part in parts])).all()


def test_among_rule_bots_the_oracle_never_makes_less_than_one() -> None:
    """It foresees what they do, and leaves the rule bot's cards only for more points. One bot may take all seats."""
    bot = bots.make("rule:worlds=4")
    lost = oracle_losses(bot, bot, Rules(3), ScheduledHand(6), 60, seed=1)
    assert (lost.bidding >= 0).all()
    assert (lost.play >= 0).all()
    assert lost.play.any()


def test_random_loses_more_than_rule_at_both() -> None:
    names = ("random", "rule")
    lost = {name: oracle_losses(bots.make(name), RULE, Rules(), ScheduledHand(5), 120, seed=4) for name in names}
    for part in OracleLosses._fields:
        more = getattr(lost["random"], part) - getattr(lost["rule"], part)
        assert more.mean() > 3 * more.std() / np.sqrt(len(more))


# Facts and refusals.


def test_facts_have_intervals_by_deal_and_the_weights_of_the_schedule() -> None:
    losses = {
        ScheduledHand(2): OracleLosses(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 0.0])),
        ScheduledHand(1, True): OracleLosses(np.array([4.0, 4.0, 4.0]), np.array([-1.0, 0.0, 1.0])),
    }
    facts = losses_facts(losses, {ScheduledHand(2): 3, ScheduledHand(1, True): 1})
    assert facts["deals"] == 3
    assert facts["bidding"]["mean"] == pytest.approx((3 * 2 + 4) / 4)
    assert facts["play"]["mean"] == 0
    two, one = facts["by_cards"]
    assert (two["cards"], two["no_trump"], one["cards"], one["no_trump"]) == (2, False, 1, True)
    assert two["bidding"] == {"mean": 2.0, "half_width": pytest.approx(4.303 / np.sqrt(3), rel=0.01)}
    assert two["play"] == {"mean": 0.0, "half_width": 0.0}
    assert one["bidding"] == {"mean": 4.0, "half_width": 0.0}
    assert one["play"]["half_width"] == two["bidding"]["half_width"]


def test_teams_are_refused() -> None:
    with pytest.raises(ValueError, match="measured for single seats, but these rules are for teams"):
        oracle_losses(RULE, RULE, Rules.preset("back_alley"), ScheduledHand(3), 3, seed=0)


def test_a_player_that_fails_is_named_with_deal_and_seat() -> None:
    with pytest.raises(AgentError, match=r"^bids 9 chose 63 in seat 0 of deal 0 "):
        oracle_losses(Bidding(9), RULE, Rules(), ScheduledHand(3), 3, seed=0)
