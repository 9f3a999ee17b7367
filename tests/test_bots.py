"""The baseline bots: legal everywhere, blind to what their seat cannot know, reproducible, and good enough."""

import numpy as np
import pytest
from variants import every_variant, with_variants

from bluke_env import Agent, BatchGame, Deal, Game, Rules, Turn, bots
from bluke_env.actions import bid_action
from bluke_env.cards import FULL_PACK, HI_BLUKE, LO_BLUKE, NUM_CARDS, NUM_RANKS, parse_card, parse_cards
from bluke_env.engine.batch import views_all
from bluke_env.engine.state import BID, GAME, NONE
from bluke_env.rules import BOARD

QUICK = ("random", "rule:worlds=4", "pimc:worlds=3", "pimc:worlds=2,endgame=2", "ismcts:sims=12")
"""All bots, with budgets small enough for many decisions."""


def turn_of(*games: Game) -> Turn:
    """The decisions due in single games of the same rules."""
    records = np.concatenate([game._record for game in games])
    views = np.zeros(len(games), GAME)
    views_all(records, np.arange(len(games)), views)
    return Turn(games[0].rules, views, views["seat"].copy(), np.arange(len(games)))


def turns_of(batch: BatchGame, rows: np.ndarray) -> Turn:
    """The decisions due in some rows of a batch."""
    return Turn(batch.rules, batch.views(rows), batch.seats[rows].copy(), rows)


def play(rules: Rules, agents: list[Agent], num_games: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Plays matches with one agent a seat: scores, bids and tricks of the last hand, each [n, players]."""
    batch = BatchGame(rules, num_games, seed, autoreset=False)
    while not batch.is_over.all():
        actions = np.zeros(num_games, np.int64)
        for agent in {id(agent): agent for agent in agents}.values():
            own = np.array([agent is other for other in agents])
            rows = np.flatnonzero((batch.seats >= 0) & own[batch.seats])
            if len(rows):
                actions[rows] = agent.act(turns_of(batch, rows))
        batch.step(actions)
    seats = slice(rules.num_players)
    return batch.final_scores.copy(), batch._games["last_bids"][:, seats], batch._games["last_tricks"][:, seats]


def decisions(rules: Rules, num_games: int = 24, seed: int = 1) -> list[Turn]:
    """Every decision of some matches of random play, all of their rows at once."""
    batch = BatchGame(rules, num_games, seed, autoreset=False)
    stream = np.array([seed], np.uint64)
    turns = []
    while not batch.is_over.all():
        turns.append(turns_of(batch, np.flatnonzero(batch.seats >= 0)))
        batch.step(batch.random_actions(stream))
    return turns


MIXED = [
    Rules(num_players=2, schedule=[(26, True), 13, 1], min_bid=0, bluke_lead="trump"),
    Rules(num_players=2, schedule=[27]),
    Rules(num_players=4, schedule=[13, (6, True), 2], bluke_lead="trump"),
    Rules(num_players=6, schedule=[(9, True), 5], min_bid=0),
    Rules(num_players=15, schedule=[3, 1], min_bid=0, points_per_trick=3, points_per_overtrick=5),
]

mixed_rules = pytest.mark.parametrize(
    "rules", [*(pytest.param(rules, id=f"{rules.num_players}p") for rules in MIXED), *with_variants()]
)


# Names.


def test_names_are_canonical_and_make_the_same_bot_again() -> None:
    assert set(bots.BOTS) == {"random", "rule", "pimc", "ismcts"}
    names = {
        "random": "random",
        "rule": "rule",
        "rule:worlds=7": "rule:worlds=7",
        "pimc": "pimc:worlds=30",
        "pimc:endgame=2,worlds=9": "pimc:worlds=9,endgame=2",
        "pimc:milliseconds=5": "pimc:worlds=30,milliseconds=5",
        "ismcts": "ismcts:sims=300",
        "ismcts:milliseconds=2,sims=7": "ismcts:sims=7,milliseconds=2",
    }
    for spec, name in names.items():
        bot = bots.make(spec)
        assert bot.name == name
        assert bots.make(bot.name).name == name
        assert bot.version == (2 if name.startswith("pimc") else 1)
        assert bots.make(spec) is not bot
    assert bots.make(f"rule:worlds={bots.RuleBot()._worlds}").name == "rule"


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("rul", "there is no bot 'rul': the bots are random, rule, pimc, ismcts"),
        ("", "there is no bot '': the bots are random, rule, pimc, ismcts"),
        (None, "there is no bot None: the bots are random, rule, pimc, ismcts"),
        ("Rule", "there is no bot 'Rule': the bots are random, rule, pimc, ismcts"),
        ("rule:", "'' is no option of the bot 'rule', written key=value: its options are worlds (int)"),
        ("rule:worlds", "'worlds' is no option of the bot 'rule', written key=value: its options are worlds (int)"),
        ("rule:depth=3", "'depth=3' is no option of the bot 'rule', written key=value: its options are worlds (int)"),
        ("random:a=1", "'a=1' is no option of the bot 'random', written key=value: its options are none"),
        ("rule:worlds=many", "worlds of the bot 'rule' is 'many', but it must be of type int"),
        ("rule:worlds=2.5", "worlds of the bot 'rule' is '2.5', but it must be of type int"),
        ("rule:worlds=1,worlds=2",
         "the option worlds of the bot 'rule' is given twice in 'worlds=1,worlds=2': give it once"),
        ("rule:worlds=0", "worlds is 0, but it must be a whole number from 1 to 1000000"),
        ("rule:worlds=-1", "worlds is -1, but it must be a whole number from 1 to 1000000"),
        ("pimc:worlds=-1", "worlds is -1, but it must be a whole number from 0 to 1000000"),
        ("pimc:endgame=5", "endgame is 5, but it must be a whole number from 0 to 4"),
        ("pimc:milliseconds=-1", "milliseconds is -1, but it must be a whole number from 0 to 1000000"),
        ("pimc:sims=3", "'sims=3' is no option of the bot 'pimc', written key=value: its options are worlds (int), "
         "endgame (int), milliseconds (int)"),
        ("ismcts:sims=2000000", "sims is 2000000, but it must be a whole number from 0 to 1000000"),
    ],
)  # fmt: skip
def test_a_wrong_spec_is_refused_in_one_sentence(spec: str, sentence: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the whole sentence is compared
        bots.make(spec)
    assert str(error.value) == sentence


@pytest.mark.parametrize("worlds", [True, 2.0, "2", None])
def test_worlds_of_another_type_are_refused(worlds: object) -> None:
    with pytest.raises(ValueError, match="must be a whole number from 1 to"):
        bots.RuleBot(worlds)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", bots.BOTS)
@pytest.mark.parametrize("seed", [-1, 1.5, 2**64])
def test_a_wrong_seed_is_refused(name: str, seed: int) -> None:
    with pytest.raises(ValueError, match=r"seed is .* but it must be a whole number"):
        bots.make(name).reset(1, seed)


# Legality.


@pytest.mark.parametrize("seats", range(2, 16))
def test_bots_act_legally_with_all_options(seats: int) -> None:
    """The same bot objects, whatever the seats and rules; `BatchGame` refuses an illegal action."""
    table = [bots.make(QUICK[seat % len(QUICK)]) for seat in range(seats)]
    most, whole = (NUM_CARDS - 1) // seats, NUM_CARDS // seats
    for min_bid, bluke_lead in [(0, "none"), (0, "trump"), (1, "none"), (1, "trump")]:
        for cards, no_trump in [(most, False), (whole, True), (1, False), (min(3, most), True)]:
            rules = Rules(num_players=seats, schedule=[(cards, no_trump)], min_bid=min_bid, bluke_lead=bluke_lead)
            points, bids, tricks = play(rules, table, 12, seed=seats)
            assert (tricks.sum(1) == cards).all()
            assert (bids >= min_bid).all()
            assert (points != 0).any()


@every_variant
@pytest.mark.parametrize("number", range(len(QUICK) - 1))
def test_bots_play_every_variant_legally(rules: Rules, number: int) -> None:
    """Whole matches; the sides are different bots."""
    table = [bots.make(QUICK[seat // 2 % 2 + number]) for seat in range(rules.num_players)]
    points, bids, tricks = play(rules, table, 8, seed=3)
    assert (tricks.sum(1) == rules.schedule[-1].cards).all()
    assert (bids >= rules.min_bid).all()
    assert (points != 0).any()


def test_whole_matches() -> None:
    rules = Rules(num_players=5)
    bot = bots.make("rule:worlds=1")
    batch = BatchGame(rules, 3, 4, autoreset=False)
    while not batch.is_over.all():
        batch.step(bot.act(turns_of(batch, np.arange(3))))
    assert (batch.final_scores.max(1) > 0).all()


# Reproducible, free of side effects.


@pytest.mark.parametrize("spec", QUICK)
@mixed_rules
def test_actions_do_not_depend_on_the_batch_or_the_order_or_the_past(spec: str, rules: Rules) -> None:
    together, alone = bots.make(spec), bots.make(spec)
    together.reset(24, 9)
    alone.reset(24, 9)
    turns = decisions(rules)
    actions = [together.act(turn) for turn in turns]
    for turn, whole in zip(reversed(turns), reversed(actions), strict=True):
        assert whole.shape == turn.seats.shape
        for row in reversed(range(len(whole))):
            part = slice(row, row + 1)
            one = Turn(turn.rules, turn.views[part], turn.seats[part], turn.games[part])
            assert alone.act(one) == whole[row]
    together.reset(24, 9)
    assert all((together.act(turn) == whole).all() for turn, whole in zip(turns, actions, strict=True))


@pytest.mark.parametrize("spec", QUICK)
def test_acting_leaves_the_views_as_they_were(spec: str) -> None:
    bot = bots.make(spec)
    for turn in decisions(MIXED[2]):
        before = turn.views.tobytes(), turn.seats.tobytes(), turn.games.tobytes()
        bot.act(turn)
        assert (turn.views.tobytes(), turn.seats.tobytes(), turn.games.tobytes()) == before


@pytest.mark.parametrize("spec", QUICK)
def test_the_seed_matters(spec: str) -> None:
    bot = bots.make(spec)
    first = decisions(Rules().hands_of(10), num_games=200)[0]
    chosen = []
    for seed in (0, 1):
        bot.reset(200, seed)
        chosen.append(bot.act(first))
    assert (chosen[0] != chosen[1]).any()


def test_random_chooses_uniformly_and_anew_for_every_game_and_decision() -> None:
    rules = Rules(schedule=[5, 5])
    bot = bots.make("random")
    bot.reset(1, 3)
    game = Game(rules, seed=1)
    count = 4000
    repeated = np.repeat(turn_of(game).views, count)
    repeats = Turn(rules, repeated, repeated["seat"].copy(), np.arange(count))
    drawn = np.bincount(bot.act(repeats) - bid_action(0), minlength=6)
    assert drawn[0] == 0
    expected = count / 5
    assert ((drawn[1:] - expected) ** 2 / expected).sum() < 18.5  # 99.9 % point of chi-square with 4 degrees
    same_seat = []
    for hand in (0, 1):
        repeated["hand_number"] = hand
        for seat in (0, 1):
            repeated["seat"] = seat
            same_seat.append(bot.act(repeats))
    agreement = [(one == other).mean() for i, one in enumerate(same_seat) for other in same_seat[:i]]
    assert np.abs(np.array(agreement) - 0.2).max() < 0.04


# Blind to what the seat cannot know.


@pytest.mark.parametrize("spec", QUICK)
@mixed_rules
def test_hidden_cards_change_nothing(spec: str, rules: Rules) -> None:
    """Not even when they are put back into the views, which hold none."""
    bot = bots.make(spec)
    rng = np.random.default_rng(5)
    for turn in decisions(rules):
        actions = bot.act(turn)
        views = turn.views.copy()
        own = views["hands"][np.arange(len(views)), turn.seats]
        views["hands"] = rng.integers(0, FULL_PACK, views["hands"].shape)
        views["hands"][np.arange(len(views)), turn.seats] = own
        views["key"] = rng.integers(0, 1 << 63, len(views))
        views["drawn"] = np.where(views["exchanged"] == turn.seats, views["drawn"], rng.integers(0, 54, len(views)))
        assert (bot.act(Turn(rules, views, turn.seats, turn.games)) == actions).all()


@pytest.mark.parametrize("spec", QUICK[1:])
@mixed_rules
def test_bots_play_the_same_from_every_seat(spec: str, rules: Rules) -> None:
    """Everything at the table moved by some seats: the same decisions."""
    bot = bots.make(spec)
    players = rules.num_players
    for number, turn in enumerate(decisions(rules)):
        moved = turn.views.copy()
        shift = 1 + number % (players - 1)
        for name in ("hands", "played", "scores", "bids", "tricks", "voids"):
            moved[name][:, :players] = np.roll(moved[name][:, :players], shift, axis=1)
        for name in ("seat", "dealer", "leader", "best_seat", "exchanged"):
            moved[name] = np.where(moved[name] == NONE, NONE, (moved[name] + shift) % players)
        assert (bot.act(Turn(rules, moved, moved["seat"].copy(), turn.games)) == bot.act(turn)).all()


# Sense.


def hand_of(cards: str, players: int, dealer: int, turned_up: str | None, **options: object) -> Game:
    """A hand of which seat 0 holds the given cards, the others the lowest of the rest."""
    own = parse_cards(cards)
    shown = None if turned_up is None else parse_card(turned_up)
    rest = [card for card in range(NUM_CARDS) if card not in own and card != shown]
    size = len(own)
    hands = [own, *(tuple(rest[size * place : size * (place + 1)]) for place in range(players - 1))]
    rules = Rules(num_players=players, schedule=[(size, shown is None)], **options)  # type: ignore[arg-type]
    return Game(rules, deals=[Deal(tuple(hands), shown, dealer)])


def until_seat_0(game: Game, *cards: str) -> Game:
    """Lets the other seats bid 1 and play the given cards until seat 0 is to act."""
    ahead = list(parse_cards(" ".join(cards)))
    while game.current_player != 0:
        game.apply_action(bid_action(1) if game.phase == BID else ahead.pop(0))
    return game


@pytest.mark.parametrize("dealer", range(4))
@pytest.mark.parametrize("worlds", [1, 40])
@pytest.mark.parametrize(
    ("cards", "turned_up", "bid"),
    [("HB", "2C", 1), ("HB", None, 1), ("HB", "LB", 1), ("AC KC QC LB HB", "2C", 5), ("LB", "HB", 1)],
)
def test_rule_bids_what_it_surely_takes(dealer: int, worlds: int, cards: str, turned_up: str | None, bid: int) -> None:
    game = until_seat_0(hand_of(cards, 4, dealer, turned_up, min_bid=0))
    assert bots.make(f"rule:worlds={worlds}").act(turn_of(game)) == bid_action(bid)


@pytest.mark.parametrize("dealer", range(3))
def test_rule_passes_when_it_surely_takes_nothing(dealer: int) -> None:
    game = until_seat_0(hand_of("2D", 4, dealer, "2C", min_bid=0))  # another seat leads
    assert bots.make("rule").act(turn_of(game)) == bid_action(0)


@pytest.mark.parametrize("dealer", range(4))
@pytest.mark.parametrize("said", [0, 1, BOARD + 1])
def test_rule_bids_board_when_it_surely_takes_every_trick(dealer: int, said: int) -> None:
    """As high a board as it may, whatever the others have bid before."""
    game = hand_of("AC KC QC LB HB", 4, dealer, "2C", teams=True, min_bid=0, bluke_lead="trump")
    level = 1
    while game.current_player != 0:
        bid = said if said != BOARD + 1 or level == 1 else 0
        level += bid > BOARD
        game.apply_action(bid_action(bid, game.rules.most_cards))
    assert bots.make("rule").act(turn_of(game)) == bid_action(BOARD + level, game.rules.most_cards)


@pytest.mark.parametrize("leads", [True, False])
def test_rule_bids_one_card_by_the_exact_odds(leads: bool) -> None:
    """Two players with a card each: the odds can be counted, and 1 is worth bidding from 10/19 on."""
    turned_up = parse_card("7H")
    trump = turned_up // NUM_RANKS
    bot = bots.make("rule:worlds=4000")
    checked = 0
    for card in set(range(NUM_CARDS)) - {turned_up}:

        def takes(lead: int, reply: int) -> bool:
            """Whether the lead holds."""
            if max(lead, reply) >= LO_BLUKE or lead // NUM_RANKS == reply // NUM_RANKS:
                return lead > reply
            return reply // NUM_RANKS != trump

        others = set(range(NUM_CARDS)) - {turned_up, card}
        taken = sum(takes(card, other) if leads else not takes(other, card) for other in others) / len(others)
        if abs(taken - 10 / 19) > 0.04:
            other = min(others)
            deal = Deal(((card,), (other,)), turned_up, dealer=1 if leads else 0)
            game = until_seat_0(Game(Rules(num_players=2, schedule=[1], min_bid=0), deals=[deal]))
            assert bot.act(turn_of(game)) == bid_action(int(taken > 10 / 19)), card
            checked += 1
    assert checked > 35


@pytest.mark.parametrize(
    ("cards", "turned_up", "led", "chosen"),
    [
        ("6D AD 2D", "3C", "5D", "6D"),  # last to play: the cheapest card that wins
        ("2D QD 9S", "3C", "KD", "2D"),  # cannot win: the least useful
        ("2S 3S 4S 5S 6S 7S 8S 9S TS JS QS 2H HB", "3C", "KD", "2H"),  # keep the Hi Bluke for later
        ("4C AC 2S", "3C", "KD", "4C"),  # the cheapest trump
        ("2S 3H HB", "3C", "LB", "HB"),  # take the other Bluke
    ],
)
def test_rule_plays_sensibly_to_a_lead(cards: str, turned_up: str, led: str, chosen: str) -> None:
    own, lead, shown = parse_cards(cards), parse_card(led), parse_card(turned_up)
    rest = [card for card in range(NUM_CARDS) if card not in (*own, lead, shown)]
    game = Game(Rules(num_players=2, schedule=[len(own)]), deals=[Deal((own, (lead, *rest[: len(own) - 1])), shown, 0)])
    until_seat_0(game).apply_action(bid_action(1))
    until_seat_0(game, led)
    assert bots.make("rule").act(turn_of(game)) == parse_card(chosen)


def test_rule_with_only_sure_tricks_takes_them_all() -> None:
    game = until_seat_0(hand_of("AC KC QC LB HB", 4, 0, "2C"))
    bot = bots.make("rule")
    while not game.is_terminal:
        game.apply_action(int(bot.act(turn_of(game))[0]))
    assert game.last_hand is not None
    assert game.last_hand.tricks[0] == game.last_hand.bids[0] == 5
    assert HI_BLUKE in game.last_hand.order


# Strength.


def gain(rules: Rules, num_deals: int, seed: int) -> np.ndarray:
    """Points of one rule bot among random ones less those of a random one in its seat, mean of all seats, by deal."""
    rule, other = bots.make("rule"), bots.make("random")
    base, _, _ = play(rules, [other] * rules.num_players, num_deals, seed)
    gains = np.zeros(num_deals)
    for seat in range(rules.num_players):
        table = [other] * rules.num_players
        table[seat] = rule
        gains += play(rules, table, num_deals, seed)[0][:, seat] - base[:, seat]
    return gains / rules.num_players


@pytest.mark.parametrize("cards", range(2, 14))
def test_rule_beats_random(cards: int) -> None:
    gains = gain(Rules().hands_of(cards), 150, seed=cards)
    half_width = 1.96 * gains.std(ddof=1) / np.sqrt(len(gains))
    assert gains.mean() - half_width > (40 if cards == 13 else 0)


@pytest.mark.parametrize("seats", [2, 3, 7, 15])
def test_rule_beats_random_at_tables_of_all_sizes(seats: int) -> None:
    gains = gain(Rules(num_players=seats).hands_of(3), 150, seed=seats)
    assert gains.mean() > 1.96 * gains.std(ddof=1) / np.sqrt(len(gains))


@pytest.mark.parametrize(
    ("cards", "num_deals", "made"), [(1, 1500, 0.76), (3, 800, 0.81), (6, 500, 0.86), (10, 400, 0.90), (13, 400, 0.92)]
)
def test_rule_makes_most_of_its_bids(cards: int, num_deals: int, made: float) -> None:
    """Bids above 0 where players may pass, at a table of rule bots."""
    _, bids, tricks = play(Rules(min_bid=0).hands_of(cards), [bots.make("rule")] * 4, num_deals, seed=1)
    share = (tricks >= bids)[bids > 0].mean()
    assert abs(share - made) < 0.04
    if cards > 1:
        assert (tricks >= bids)[bids > 1].mean() > 0.75
