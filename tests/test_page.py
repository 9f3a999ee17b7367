"""What the report page shows of the facts, and in which words."""

import copy
from typing import Any

import pytest
from report_page import FACTS, SECTIONS, Page, as_matches, only

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from bluke_env import Rules
from bluke_env.evaluation.page import render_page
from bluke_env.evaluation.page_text import (
    answer,
    breakable,
    command_text,
    estimate_parts,
    estimate_text,
    number_text,
    plain_text,
    precision_text,
    title,
)


@pytest.fixture(scope="module")
def shown() -> Page:
    return Page(render_page(FACTS))


# What it shows.


def cells(estimates: dict[str, Any], stacked: bool = False) -> list[str]:
    shares = ("most_points", "made")
    text = (lambda *of, **kind: "".join(estimate_parts(*of, **kind))) if stacked else estimate_text
    return [
        text(estimate, share=name in shares, signed=name.startswith("over_")) for name, estimate in estimates.items()
    ]


def test_comparisons_are_shown_in_full(shown: Page) -> None:
    averages = shown.tables["Averages of all comparisons"]
    assert averages[0] == ["player", "against", *(name.replace("_", " ") for name in FACTS["statistics"])]
    for row, comparison in zip(averages[1:], FACTS["comparisons"], strict=True):
        names = [comparison["player"]["name"], comparison["opponent"]["name"]]
        assert row == [*names, *cells(comparison["average"], stacked=True)]
        by_hand = shown.tables[f"By hand size: {names[0]} against {names[1]}"]
        for line, hand in zip(by_hand[1:-1], comparison["hands"], strict=True):
            size = f"{hand['cards']} NT" if hand["no_trump"] else str(hand["cards"])
            assert line == [size, str(hand["times"]), *cells(hand["estimates"])]
        assert by_hand[-1] == ["average", "", *cells(comparison["average"])]
        for factor in comparison["variance_reduction"].values():
            assert f"{factor:.1f} ×" in shown.text


def test_diagnostics_are_shown_in_full(shown: Page) -> None:
    found, label = FACTS["comparisons"][0]["diagnostics"], "pimc:worlds=10 against rule"
    rows = shown.tables[f"Calibration by hand size and bid: {label}"][1:]
    for row, cell in zip(rows, found["calibration"], strict=True):
        size = f"{cell['cards']} NT" if cell["no_trump"] else str(cell["cards"])
        means = [f"{cell[name]:.2f}" for name in ("tricks", "over", "under")]
        assert row == [size, str(cell["bid"]), str(cell["hands"]), f"{cell['made']:.1%}".replace("%", " %"), *means]
    seats = shown.tables[f"By seat: {label}"]
    assert [row[0] for row in seats[1:]] == ["0", "1", "2", "3"]
    assert seats[1] == ["0", "1,080", "70.0 %", "14.00", "1.90"]
    trumps = shown.tables[f"With trump and at no trump: {label}"]
    assert trumps[1:] == [["trump", "960", "41.6 %", "1.21", "1.02"], ["no trump", "160", "52.5 %", "2.93", "1.07"]]
    losses = shown.tables[f"Points lost in bidding and in play: {label}"]
    assert losses[1] == ["4 NT", "1.60 ± 0.20", "0.40 ± 0.08"]
    assert losses[-1] == ["all", "2.14 ± 0.31", "0.52 ± 0.12"]
    assert len(losses) == len(found["losses"]["by_cards"]) + 2


def test_bids_of_all_hand_sizes_are_pooled_by_their_number_of_hands() -> None:
    facts = only("comparisons")
    few = {"cards": 3, "no_trump": False, "bid": 2, "hands": 1, "tricks": 1.0, "made": 0.0, "over": 0.0, "under": 1.0}
    many = {"cards": 4, "no_trump": True, "bid": 2, "hands": 3, "tricks": 3.0, "made": 1.0, "over": 1.0, "under": 0.0}
    facts["comparisons"][0]["diagnostics"] = {"calibration": [few, many]}
    rows = Page(render_page(facts)).tables["Calibration by bid: pimc:worlds=10 against rule"]
    assert rows[1:] == [["2", "4", "75.0 %", "2.50", "0.75", "0.25"]]


def test_the_tournament_is_shown_in_full(shown: Page) -> None:
    names, matrix = FACTS["tournament"]["players"], FACTS["tournament"]["matrix"]
    table = shown.tables["Tournament matrix"]
    assert table[0][1:] == names
    for name, row, line in zip(names, matrix, table[1:], strict=True):
        expected = ["–" if cell is None else estimate_text(cell, signed=True).replace(" ±", "±") for cell in row]
        assert line == [name, *expected]
    ratings = shown.tables["Ratings"]
    assert ratings[1] == ["pimc:worlds=10", "72 (63 to 81)", "+9.90 ± 0.42", "1,920", "0"]
    assert ratings[-1] == ["greedy", "0 (−35 to 35)", "+0.00 ± 3.50", "160", "1, unconnected"]
    assert "Not all players are connected" in shown.text


def test_ratings_that_compare_have_no_groups() -> None:
    facts = only("tournament")
    facts["tournament"]["ratings"].pop()
    del facts["tournament"]["ratings"][0]["points"]
    shown = Page(render_page(facts))
    assert shown.tables["Ratings"][0] == ["player", "rating (interval)", "hands"]
    assert "connected" not in shown.text
    assert Page(render_page(facts | {"unit": "match"})).tables["Ratings"][0][-1] == "matches"


def test_exploitability_and_learning_curves_are_shown(shown: Page) -> None:
    header, *rows = shown.tables["Exploitability"]
    assert header == ["player", "game", "nash conv", "exploitability"]
    assert rows == [[plain_text(value) for value in row.values()] for row in FACTS["exploitability"]]
    for row, run in zip(shown.tables["Where the runs ended"][1:], FACTS["learning_curves"], strict=True):
        assert row == [run["name"], *(plain_text(values[-1]) for values in run["columns"].values())]


def test_gaps_in_curves_and_columns_of_some_rows_only_are_no_problem() -> None:
    facts = only("exploitability", "learning_curves")
    facts["learning_curves"][0]["columns"]["points"][0] = None
    facts["learning_curves"][1]["columns"]["entropy"] = [0.5]
    facts["exploitability"].append({"player": "learned", "exploitability": {"mean": 1.5, "half_width": 0.25}})
    shown = Page(render_page(facts))
    assert shown.tables["Exploitability"][-1] == ["learned", "–", "–", "1.50 ± 0.25"]
    assert [row[-1] for row in shown.tables["Where the runs ended"]] == ["entropy", "–", "0.5"]


def test_curves_of_live_evaluations_have_a_plot_for_each_opponent_with_bands() -> None:
    facts = only("learning_curves")
    for run in facts["learning_curves"]:
        del run["columns"]["points"]
        for name in ("over rule", "over runs/<b> 1/checkpoint.pt"):
            run["columns"] |= {name: [0.5, 1.0, 1.5, 2.0, 2.5], f"{name} half width": [0.2] * 5}
    facts["learning_curves"][1]["columns"]["over pimc"] = [1.0] * 5
    shown = Page(render_page(facts))
    titles = [plot["aria-label"] or "" for plot in shown.all("svg")]
    assert [title.partition(", of")[0] for title in titles] == [
        f"Points over {name} by {unit}"
        for name in ("rule", "runs/<b> 1/checkpoint.pt")
        for unit in ("decisions", "hours")
    ]
    without = copy.deepcopy(facts)
    for run in without["learning_curves"]:
        run["columns"] = {name: values for name, values in run["columns"].items() if "half width" not in name}
    bands = [render_page(each).count("PolyCollection") for each in (facts, without)]
    assert bands == [8, 0]  # two runs in each plot


def test_everything_to_repeat_it_is_there(shown: Page) -> None:
    text = shown.text
    assert "python -m agents.evaluate pimc:worlds=10 --against rule --deals 40" in text
    assert "--html 'one page.html'" in text
    assert FACTS["interval"] in text
    assert "schedule 4nt,3-1" in text
    assert "torch not installed" in text
    for version in filter(None, FACTS["versions"].values()):
        assert version in text
    rows = shown.tables["Players"][1:]
    assert rows == [
        [player["name"], *map(plain_text, (player["version"], player["sha256"]))] for player in FACTS["players"]
    ]


def test_a_section_is_there_if_its_facts_are(shown: Page) -> None:
    ids = dict(zip(SECTIONS, ("comparisons", "tournament", "exploitability", "curves"), strict=True))
    assert shown.sections == [*ids.values(), "repeat"]
    for name, section in ids.items():
        assert Page(render_page(only(name))).sections == [section, "repeat"]


def test_rules_that_are_not_the_default_are_in_the_header() -> None:
    rules = Rules(num_players=3, min_bid=0, schedule="2")
    words = " ".join(Page(render_page(FACTS | {"rules": rules.to_dict()})).words)
    assert "3 players, schedule 2, min_bid 0 ·" in words


def test_notes_are_shown() -> None:
    notes = ["me.pt was made for min_bid 0, but here it plays with min_bid 1", "<b>"]
    words = " ".join(Page(render_page(FACTS | {"notes": notes})).words)
    assert all(f"Note: {note}" in words for note in notes)


def test_the_contents_are_the_sections(shown: Page) -> None:
    assert [link["href"] for link in shown.all("a")] == [f"#{section}" for section in shown.sections]


def test_the_least_facts_make_a_page() -> None:
    absent = (*SECTIONS, "players", "machine", "versions", "command")
    shown = Page(render_page({name: value for name, value in FACTS.items() if name not in absent}))
    assert shown.sections == ["repeat"]
    assert FACTS["title"] in shown.text


def test_whole_matches_have_averages_alone() -> None:
    shown = Page(render_page(as_matches()))
    header, row, _ = shown.tables["Averages of all comparisons"]
    assert (header[2], row[2]) == ("match wins", "31.2 %± 2.1 %")
    assert len(row) == len(header) == len(FACTS["statistics"]) + 3
    assert not any(name.startswith("By hand size") for name in shown.tables)
    assert "wins 31.2\u00a0±\u00a02.1\u00a0% of the matches against rule, where 25.0\u00a0% would be even." in " ".join(
        shown.words
    )


def test_a_share_of_none_or_all_has_the_interval_that_came_with_it() -> None:
    shown = Page(render_page(as_matches(mean=0.0, half_width=0.0, low=0.0, high=0.27754)))
    assert shown.tables["Averages of all comparisons"][1][2] == "0.0 %(0.0 to 27.8 %)"
    assert "wins 0.0\u00a0% (0.0 to 27.8\u00a0%) of the matches" in " ".join(shown.words)
    assert "pimc:worlds=10 against rule 0.0 % (0.0 to 27.8 %);" in (shown.all("svg")[0]["aria-label"] or "")


def test_a_mere_tournament_says_so() -> None:
    tournament = only("tournament")
    assert title(tournament | {"title": "Evaluation"}) == "Tournament"
    assert title(tournament) == FACTS["title"]
    assert title(FACTS | {"title": "Evaluation"}) == "Evaluation"
    assert "<title>Tournament</title>" in render_page(tournament | {"title": "Evaluation"})


# Its words.


@pytest.mark.parametrize(
    ("mean", "half_width", "sentence"),
    [
        (0.71, 0.08, "pimc:worlds=10 makes 0.71 ± 0.08 points a hand more than rule."),
        (-45.3, 1.391, "pimc:worlds=10 makes 45.30 ± 1.39 points a hand less than rule."),
        (-0.05, 0.24, "pimc:worlds=10 and rule cannot be told apart: −0.05 ± 0.24 points a hand."),
        (0.0, 0.0, "pimc:worlds=10 and rule cannot be told apart: +0.00 ± 0.00 points a hand."),
    ],
)
def test_the_answer_is_one_sentence(mean: float, half_width: float, sentence: str) -> None:
    facts = copy.deepcopy(FACTS)
    facts["comparisons"][0]["average"]["over_same_seat"] = {"mean": mean, "half_width": half_width}
    assert answer(facts) == sentence


def test_the_answer_names_the_baseline_where_it_is_another() -> None:
    facts = copy.deepcopy(FACTS)
    facts["comparisons"][0] |= {"opponent": {"name": "rule + random", "version": None}, "baseline": {"name": "rule"}}
    facts["comparisons"][0]["average"]["over_same_seat"] = {"mean": 1.5, "half_width": 0.5}
    assert answer(facts) == "pimc:worlds=10 makes 1.50 ± 0.50 points a hand more than rule among rule + random."


def test_the_answer_without_comparisons() -> None:
    facts = only("tournament", "exploitability")
    assert answer(facts) == "pimc:worlds=10 has the highest rating of 3 players: 72 (63 to 81)."
    del facts["tournament"]
    assert answer(facts) == "The best answer to random gains 4.0617 points a hand."
    del facts["exploitability"]
    assert answer(facts) is None


@pytest.mark.parametrize(
    ("intervals", "sentence"),
    [
        ({"a": (50, 70), "b": (30, 49)}, "a has the highest rating of 2 players: 60 (50 to 70)."),
        ({"b": (30, 50), "a": (50, 70)}, "a and b are not told apart."),
        ({"a": (50, 70), "b": (40, 60), "c": (0, 9)}, "a and b lead and are not told apart."),
        ({"a": (5, 9), "b": (4, 8), "c": (3, 7), "d": (2, 6)}, "a, b, c and 1 other are not told apart."),
        (
            {"a": (5, 9), "b": (4, 8), "c": (3, 7), "d": (2, 6), "e": (1, 5), "f": (0, 1)},
            "a, b, c and 2 others lead and are not told apart.",
        ),
    ],
)
def test_who_leads_a_tournament(intervals: dict[str, tuple[int, int]], sentence: str) -> None:
    facts = only("tournament")
    facts["tournament"]["ratings"] = [
        {"name": name, "rating": (low + high) / 2, "low": low, "high": high, "group": 0}
        for name, (low, high) in intervals.items()
    ] + [{"name": "unconnected", "rating": 900.0, "low": 800.0, "high": 1000.0, "group": 1}]
    assert answer(facts) == sentence


@pytest.mark.parametrize(
    ("factors", "sentence"),
    [
        (
            {"over_same_seat": 1.149, "over_opponents": 1.2},
            "Duplicate deals: as precise as 1.1 × (over same seat) and 1.2 × (over opponents)"
            " as many independent hands.",
        ),
        (
            {"over_same_seat": None, "over_opponents": 0.04},
            "Duplicate deals: as precise as 0.04 × (over opponents) as many independent hands."
            " Below 1, a fresh deal for each hand would have been more precise.",
        ),
        ({"over_same_seat": None, "over_opponents": None}, None),
        ({}, None),
    ],
)
def test_what_duplicate_deals_were_worth(factors: dict[str, float | None], sentence: str | None) -> None:
    assert precision_text({"variance_reduction": factors}) == sentence
    facts = only("comparisons")
    for comparison in facts["comparisons"]:
        comparison["variance_reduction"] = factors
    text = Page(render_page(facts)).text
    assert text.count("Duplicate deals: ") == (0 if sentence is None else len(facts["comparisons"]))
    assert (sentence or "") in text


def test_names_break_after_separators() -> None:
    assert breakable("runs/a:b,c, <d>") == "runs/<wbr>a:<wbr>b,<wbr>c, &lt;d&gt;"


def test_numbers_have_the_decimals_that_their_intervals_deserve() -> None:
    assert number_text(1.23456) == "1.23"
    assert number_text(-0.001, signed=True) == "+0.00"
    assert estimate_text({"mean": -1.23456, "half_width": 0.00321}) == "−1.235 ± 0.003"
    assert estimate_text({"mean": 0.5, "half_width": 0.0004}, share=True) == "50.00 ± 0.04 %"
    own = {"low": 0.1, "high": 0.9}
    assert estimate_text({"mean": 0.5, "half_width": 0.2} | own, share=True) == "50.0 ± 40.0 %"
    assert estimate_text({"mean": 0.2, "half_width": 0.3} | own, share=True) == "20.0 % (10.0 to 90.0 %)"
    assert estimate_text({"mean": 1.0, "half_width": 0.0} | own, share=True) == "100.0 % (10.0 to 90.0 %)"
    assert plain_text([1_000_000, -1.5, None, True, {"low_end": 0.25}]) == "1,000,000, −1.5, –, yes, low end 0.25"
    assert command_text(["python -m x", "a b", "<c>"]) == "python -m x 'a b' '<c>'"
