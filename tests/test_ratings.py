"""One fit over all results: what it says about known players, and that nothing but the results changes it."""

import random
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from bluke_env.evaluation.ratings import ELO, Rating, TableResult, fit_ratings

STRENGTH = {"ada": 0.0, "bob": 4.0, "cyd": 8.0, "dee": -3.0}
TABLES = [("ada", "bob", "cyd", "dee"), ("bob", "ada", "ada", "ada"), ("cyd", "dee", "dee"), ("dee", "bob")]


def played(tables: Sequence[tuple[str, ...]] = TABLES, deals: int = 60, seed: int = 5) -> list[TableResult]:
    """Points of strength, luck of the seat's cards, which all rotations of a deal share, and luck of the play."""
    generator = np.random.default_rng(seed)
    results = []
    for players in tables:
        units = len(players)
        cards, points = generator.normal(0, 10, (deals, units)), np.zeros((deals, units, units), np.int32)
        for rotation in range(units):
            for place, name in enumerate(players):
                unit = (place + rotation) % units
                luck = cards[:, unit] + generator.normal(0, 10, deals)
                points[:, rotation, unit] = np.round((STRENGTH[name] + luck) / 5)
        results.append(TableResult(players, points, np.arange(deals)))
    return results


def result(players: str, points: Sequence[Sequence[int]], first_cluster: int = 0) -> TableResult:
    """Deals of one rotation, a letter for each player."""
    array = np.array(points)[:, None]
    return TableResult(tuple(players), array, first_cluster + np.arange(len(array)))


def by_name(ratings: Sequence[Rating]) -> dict[str, Rating]:
    return {rating.name: rating for rating in ratings}


def width(rating: Rating) -> float:
    return rating.high - rating.low


def renamed(results: Sequence[TableResult], names: dict[str, str]) -> list[TableResult]:
    return [replace(result, players=tuple(names[name] for name in result.players)) for result in results]


# What the numbers mean.


def test_estimates_and_errors_are_those_of_a_general_statistics_package() -> None:
    """From statsmodels 0.15: GLM(Binomial) and WLS on all pairs, weights 2 / units, ada at 0, clusters by deal.

    Its standard errors were taken times sqrt(60 / 59), and times the 97.5 % point of Student's t with 59 degrees.
    """
    ratings = by_name(fit_ratings(played(), anchor="ada"))
    student = 2.0009953780883
    expected = {
        "bob": (65.31185075202372, 10.99634801495872, 0.885053516819575, 0.12782758369830394),
        "cyd": (105.21953801606577, 14.563200940216733, 1.6533639143730934, 0.17572301328382722),
        "dee": (-39.11609439136816, 12.962219533527469, -0.6060779816513713, 0.13797166132770022),
    }
    for name, (rating, error, points, points_error) in expected.items():
        found = ratings[name]
        assert (found.rating, found.points) == pytest.approx((rating, points), abs=1e-6)
        assert (found.high - found.rating, found.rating - found.low) == pytest.approx([student * error] * 2, rel=1e-4)
        assert found.points_half_width == pytest.approx(student * points_error, rel=1e-4)
    assert ratings["ada"] == Rating("ada", 0, 0, 0, 0, 0, tables=480, group=0)


def test_two_players_by_hand() -> None:
    """Three wins, a tie and a loss are odds of 3.5 to 1.5; points are the mean difference."""
    table = result("ab", [[5, 0], [2, 1], [9, -9], [3, 3], [0, 4]] * 8)
    first, second = fit_ratings([table], anchor="b")
    assert (first.name, first.rating, first.points) == ("a", pytest.approx(ELO * np.log(3.5 / 1.5)), pytest.approx(4))
    assert (second.name, second.rating) == ("b", 0)
    first, second = fit_ratings([table])
    assert first.rating == pytest.approx(ELO * np.log(3.5 / 1.5) / 2)
    assert (second.rating, second.points) == pytest.approx((-first.rating, -2))


def test_the_mean_of_the_players_is_0_and_the_best_comes_first() -> None:
    ratings = fit_ratings(played())
    assert [rating.name for rating in ratings] == ["cyd", "bob", "ada", "dee"]
    assert sum(rating.rating for rating in ratings) == pytest.approx(0, abs=1e-9)
    assert sum(rating.points for rating in ratings) == pytest.approx(0, abs=1e-12)
    anchored = by_name(fit_ratings(played(), anchor="dee"))
    shift = by_name(ratings)["dee"].rating
    assert all(anchored[rating.name].rating == pytest.approx(rating.rating - shift) for rating in ratings)


def test_rotations_give_points_to_the_players_that_sat_there() -> None:
    """Unit 0 makes a point more than unit 1 whoever sits there, and with b in it another one."""
    points = np.array([[[1, 0], [2, 0]]] * 40)
    ratings = by_name(fit_ratings([TableResult(("a", "b"), points, np.arange(40))]))
    assert (ratings["a"].points, ratings["b"].points) == pytest.approx((-0.25, 0.25))
    assert (ratings["a"].rating, ratings["b"].rating) == pytest.approx((0, 0))
    assert ratings["a"].tables == ratings["b"].tables == 80


def test_intervals_cover_the_truth() -> None:
    """Points of known strength plus luck that all rotations share: 95 % of the intervals hold the differences."""
    hits = []
    truth = {name: strength / 5 for name, strength in STRENGTH.items()}
    for run in range(150):
        for rating in fit_ratings(played(deals=40, seed=run)):
            gap = truth[rating.name] - sum(truth.values()) / 4
            hits.append(abs(rating.points - gap) <= rating.points_half_width)
    assert 0.93 < np.mean(hits) < 0.97


def test_intervals_of_odds_cover_what_a_long_tournament_finds() -> None:
    long = by_name(fit_ratings(played(deals=20_000, seed=1000)))
    runs = [fit_ratings(played(deals=40, seed=run)) for run in range(150)]
    hits = [rating.low <= long[rating.name].rating <= rating.high for ratings in runs for rating in ratings]
    assert 0.93 < np.mean(hits) < 0.97


# What must not change them.


def test_order_changes_no_bit() -> None:
    """Tables and deals are shuffled, tables are cut in two, and tables start with another player."""
    results, shuffler = played(), random.Random(1)
    expected = fit_ratings(results)
    for _ in range(20):
        lines = []
        for table in results:
            deals = np.array(shuffler.sample(range(60), 60))
            for part in (deals[:17], deals[17:]):
                lines.append(replace(table, points=table.points[part], clusters=table.clusters[part]))
        shuffler.shuffle(lines)
        assert fit_ratings(lines) == expected


def test_names_change_nothing() -> None:
    results, shuffler = played(), random.Random(2)
    expected = by_name(fit_ratings(results))
    for _ in range(20):
        names = dict(zip(STRENGTH, shuffler.sample(["z", "m", "a", "Q"], 4), strict=True))
        found = by_name(fit_ratings(renamed(results, names)))
        for old, new in names.items():
            assert found[new][1:] == pytest.approx(expected[old][1:], abs=1e-6)


def test_duplicates_halve_the_variance_of_new_deals_and_change_nothing_for_the_same() -> None:
    results = played()
    expected = fit_ratings(results)
    doubled = fit_ratings(results + [replace(table, clusters=table.clusters + 1000) for table in results])
    again = fit_ratings(results * 2)
    for one, two, same in zip(expected, doubled, again, strict=True):
        assert two[:2] == pytest.approx(one[:2], abs=1e-6)
        assert (two.points, same.points) == pytest.approx((one.points, one.points))
        assert (width(one) / width(two)) ** 2 == pytest.approx(2, rel=0.05)
        assert (one.points_half_width / two.points_half_width) ** 2 == pytest.approx(2, rel=0.05)
        assert (*same[:4], same.points_half_width) == pytest.approx((*one[:4], one.points_half_width), abs=1e-6)


def test_a_player_that_meets_itself_is_ignored() -> None:
    results = played()
    with_itself = [*results, *played([("ada", "ada", "ada"), ("cyd", "cyd")], seed=9)]
    assert fit_ratings(with_itself) == fit_ratings(results)


def test_a_table_counts_as_many_comparisons_as_are_free() -> None:
    """Of a table of 4, as 3 of 2: one that a wins among four weighs as much as one that it loses to each of the others.

    Odds of 1 are where both give a the same share of wins.
    """
    results = [result("abcd", [[9, 1, 1, 1]] * 40)]
    for index, rival in enumerate("bcd"):
        results.append(result(f"a{rival}", [[0, 1], [1, 1]] * 10, first_cluster=1000 * (index + 1)))
        results.append(result(f"{rival}a", [[1, 0], [1, 1]] * 10, first_cluster=1000 * (index + 1) + 500))
    ratings = by_name(fit_ratings(results, anchor="b"))
    wins, losses = 40 / 2 + 20 / 2, 20 + 20 / 2  # against each: weight 2 / 4 for a table of four, and ties half
    assert ratings["a"].rating == pytest.approx(ELO * np.log(wins / losses), abs=1e-6)


# Players that are hard to rate.


def test_a_newcomer_gets_a_wide_interval_and_moves_nobody() -> None:
    results = played(deals=200)
    one_game = result("xb", [[7, 0]], first_cluster=10**6)
    newcomer = TableResult(("new", "bob"), one_game.points, one_game.clusters)
    before, after = (by_name(fit_ratings(some, anchor="ada")) for some in (results, [*results, newcomer]))
    assert after["new"].tables == 1
    assert width(after["new"]) > 1000
    assert after["new"].points_half_width > 10 * after["bob"].points_half_width
    for name in STRENGTH:
        assert after[name].rating == pytest.approx(before[name].rating, abs=1)
        assert width(after[name]) == pytest.approx(width(before[name]), rel=0.01)


@pytest.mark.parametrize("deals", [10, 100, 10_000])
def test_a_perfect_record_stays_finite_and_as_wide_as_it_should(deals: int) -> None:
    """The interval begins where winning all deals would be a surprise of 1 in 40 (Clopper and Pearson, 1934)."""
    best, worst = fit_ratings([result("ab", [[1, 0]] * deals)], anchor="b")
    assert (best.name, worst.rating) == ("a", 0)
    assert best.rating == pytest.approx(ELO * np.log(2 * deals + 1))
    chance = 0.025 ** (1 / deals)
    assert best.low == pytest.approx(ELO * np.log(chance / (1 - chance)), abs=20)


def test_a_single_deal_says_next_to_nothing() -> None:
    best, worst = fit_ratings([result("ab", [[1, 0]])], anchor="b")
    assert best.low < -500 < worst.rating < best.rating < 200 < best.high


def test_a_border_between_two_sets_of_players_is_bridged() -> None:
    """Each of a, b wins all against c, d; within the sets both win. The others' differences are as without it."""
    within = [result("ab", [[1, 0], [1, 0], [0, 1]] * 50), result("cd", [[1, 0], [0, 1]] * 75)]
    across = [result(pair, [[1, 0]] * 150) for pair in ("ac", "ad", "bc", "bd")]
    ratings = by_name(fit_ratings([*within, *across], anchor="b"))
    assert {rating.group for rating in ratings.values()} == {0}
    assert ratings["a"].rating == pytest.approx(ELO * np.log(2), abs=5)
    chance = 0.025 ** (1 / 600)
    assert ratings["c"].low < -ELO * np.log(chance / (1 - chance)) < ratings["c"].high


def test_a_hopeless_player_costs_the_others_no_precision() -> None:
    results = played(deals=200)
    hopeless = [TableResult(("ada", "zed"), np.array([[[9, 0], [0, 9]]] * 200), np.arange(200))]
    before, after = (by_name(fit_ratings(some, anchor="ada")) for some in (results, results + hopeless))
    assert width(after["zed"]) > 500
    for name in STRENGTH:
        assert after[name].rating == pytest.approx(before[name].rating, abs=1e-6)
        assert width(after[name]) == pytest.approx(width(before[name]), rel=0.01, abs=1e-9)


def test_players_that_always_share_are_equal() -> None:
    """Deterministic twins: every rotation takes back what the other gave, and no doubt is left."""
    points = np.array([[[7, 2], [7, 2]], [[1, 5], [1, 5]]] * 40)
    for rating in fit_ratings([TableResult(("a", "b"), points, np.arange(80))]):
        assert rating[1:6] == pytest.approx([0] * 5, abs=1e-9)


def test_who_never_met_is_in_another_group() -> None:
    results = [*played(), result("yx", [[1, 0], [0, 2]] * 20), result("ll", [[1, 0]] * 9)]
    ratings = fit_ratings(results, anchor="ada")
    assert [(rating.name, rating.group) for rating in ratings[-3:]] == [("x", 1), ("y", 1), ("l", 2)]
    assert ratings[:4] == fit_ratings(played(), anchor="ada")
    assert ratings[-3].points == pytest.approx(0.25)
    assert ratings[-1] == Rating("l", 0, 0, 0, 0, 0, tables=0, group=2)


def test_an_anchor_in_a_small_group_leaves_the_others_alone() -> None:
    results = [*played(), result("yx", [[1, 0], [0, 2]] * 20)]
    plain, anchored = fit_ratings(results), fit_ratings(results, anchor="x")
    assert anchored[:4] == plain[:4]
    assert by_name(anchored)["x"].rating == 0
    assert by_name(anchored)["y"].points == pytest.approx(-0.5)


# What is refused.


@pytest.mark.parametrize(
    ("points", "clusters", "sentence"),
    [
        (np.zeros((3, 2), int), np.arange(3), r"points of table a, b have shape \(3, 2\) and dtype int64"),
        (np.zeros((3, 2, 2)), np.arange(3), "points of table a, b .* dtype float64"),
        (np.zeros((0, 2, 2), int), np.arange(0), r"points of table a, b have shape \(0, 2, 2\) .* none of them empty"),
        (np.zeros((3, 2, 2), int), np.zeros(3), "clusters of table a, b .* dtype float64"),
        (np.zeros((3, 2, 3), int), np.arange(3), "2 players make points"),
        (np.zeros((3, 3, 2), int), np.arange(3), "at most 2 rotations"),
        (np.zeros((3, 2, 2), int), np.arange(4), r"clusters \(4,\)"),
    ],
)
def test_bad_results_are_refused_in_a_sentence(points: np.ndarray, clusters: np.ndarray, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        TableResult(("a", "b"), points, clusters)


def test_an_unknown_anchor_and_no_results_are_refused() -> None:
    with pytest.raises(ValueError, match="the anchor is 'eve', but the players are ada, bob, cyd, dee"):
        fit_ratings(played(), anchor="eve")
    with pytest.raises(ValueError, match="there are no results to rate"):
        fit_ratings([])


def test_without_its_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "choix", None)
    with pytest.raises(ModuleNotFoundError, match=r"ratings need choix: pip install 'bluke-env\[evaluate\]'"):
        fit_ratings(played())
