"""Writes docs/observation.md from the code.

python docs/make_tables.py            writes the page
python docs/make_tables.py --check    fails if the page is not what would be written
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from pathlib import Path

from bluke_env import ObservationLayout, Rules
from bluke_env.actions import bid_action
from bluke_env.cards import HI_BLUKE, LO_BLUKE, NUM_RANKS, NUM_SUITS, SUIT_NAMES, card_text
from bluke_env.observation import OBSERVATION_VERSION
from bluke_env.rules import MAX_PLAYERS, MIN_PLAYERS

PAGE = Path(__file__).parent / "observation.md"

EXAMPLE = """\
import numpy as np
from bluke_env import Game, Rules

game = Game(Rules(num_players=4), seed=7)
game.apply_action(game.legal_actions()[2])
vector = game.observe(game.current_player)
print(vector.dtype, vector.shape, "bid to the right:", vector[game.layout.slice("bids")].reshape(4, 14)[3])

scaled = vector * game.layout.scale
for name, fact in game.layout.decode(scaled).items():
    print(f"{name:>13}: {fact}")
"""

TEMPLATE = """\
<!-- Written by docs/make_tables.py from the code: change that, and run it again. -->
# Observations and actions

## What a seat sees
An observation is one vector of fixed length that holds everything a seat has a right to know, and nothing else.

- It is ego-centric: seats are counted from the seat that looks, 0 itself, 1 the seat to its left and so on around the
  table. So the same situation looks the same from every chair, and one network can play all seats.
- Its length depends only on the number of seats and the most cards of the schedule, not on the phase, the dealer or
  the size of the hand in play.
- `BatchGame` and `Game.observe` write it as **int8**. The PettingZoo environment gives it as **float32 in [-1, 1]**:
  `vector * layout.scale`, where each entry is divided by the number in the table below. Almost all entries are 0 or 1.
- Cards are numbered `13 * suit + rank`, with the suits {suits} and the ranks {ranks};
  {lo} is the Lo Bluke and {hi} the Hi Bluke. A slice of 54 entries has one entry for every card.
- A layout may be wider than the game (`BatchGame(layout=...)`), so that one network serves games of several sizes:
  absent seats, and bids that cannot be made, stay zero.

This is version {version} of the observation; the number is raised when the meaning of any entry changes.

The table is for 4 players and the standard schedule: {size} entries. `other_hands` is not part of the observation. It
follows it in the perfect-information **state** ({state_size} entries, for centralised critics), from `Game.state`,
`BatchGame.states` and the environment's `state()`.

{slices}

A match score takes two entries, so that it is exact: `scores` in steps of {score_unit} points (the step depends on the
rules: `layout.score_unit`), and in `scores_fine` the points that are missing or too many.

### Reading a vector
`layout.slice(name)` is the place of a slice, and `layout.decode(vector)` turns a whole observation or state, int8 or
scaled, back into facts. Lists run over the seats from the observing one on; None stands for nothing there.

```python
{example}```

prints

```
{output}```

### Canonical suits
With `suit_order="canonical"` the suits are relabelled for the seat that looks: trump comes first, then the others by
how many cards the seat was dealt in them, the longest first; if they are equally many, by which cards (the higher ones
first). So a learner sees one game instead of 24 that differ in the names of the suits. The order is that of the cards
dealt and stays the same for the whole hand.

Observation, state, mask and actions are all relabelled alike: where there is a trump, card and action 12 are its ace.
Bids and Blukes keep their numbers. Records, bots and rendering speak of the real cards;
`BatchGame.relabel_actions` turns real cards into labels.

## Actions
One numbering serves both phases and all seats.

| action | meaning |
|---|---|
{actions}

### The action mask
- int8, one entry for every action: 1 where it is legal, 0 elsewhere. While bidding only bids can be 1, while playing
  only cards of the seat's own hand.
- It is all 0 for a seat that is not to act. When the match is over it is all 0 in `Game` and `BatchGame`; in the
  PettingZoo environment it is then all 1, so that learners that mask their last observation get finite numbers, and
  the only action is None.
- In the environment it stands in the observation dictionary as `action_mask`, and nowhere else.
- An action that is 0 in the mask is refused with `IllegalAction`, which names the legal ones, and changes nothing.

## Sizes
For the standard schedule:

| players | hands | most cards | observation | state | actions |
|---|---|---|---|---|---|
{sizes}

For n seats and hands of up to c cards an observation has `239 + 67 n + c + 2 n c` entries, and there are `55 + c`
actions.
"""


def actions_table() -> str:
    """Returns the rows of the action table for 4 players."""
    rows = [
        f"| {NUM_RANKS * suit} … {NUM_RANKS * suit + NUM_RANKS - 1} | play a card of {SUIT_NAMES[suit]}: "
        f"`{card_text(NUM_RANKS * suit)}` … `{card_text(NUM_RANKS * suit + NUM_RANKS - 1)}` |"
        for suit in range(NUM_SUITS)
    ]
    rows += [f"| {card} | play the {name} Bluke: `{card_text(card)}` |" for card, name in ((52, "Lo"), (53, "Hi"))]
    rows.append(f"| {bid_action(0)} + b | bid b tricks, from 0 (where `min_bid=0`) to the most cards of the schedule |")
    return "\n".join(rows)


def sizes_table() -> str:
    """Returns the rows of the table of sizes, one for every number of players."""
    rows = []
    for players in range(MIN_PLAYERS, MAX_PLAYERS + 1):
        rules = Rules(num_players=players)
        layout = ObservationLayout.of(rules)
        columns = players, rules.num_hands, rules.most_cards, layout.size, layout.state_size, layout.num_actions
        rows.append("| " + " | ".join(map(str, columns)) + " |")
    return "\n".join(rows)


def page() -> str:
    """Returns the whole page."""
    layout = ObservationLayout.of(Rules())
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(EXAMPLE, {})
    return TEMPLATE.format(
        suits=", ".join(f"{number} {name}" for number, name in enumerate(SUIT_NAMES)),
        ranks=f"0 (two) to {NUM_RANKS - 1} (ace)",
        lo=LO_BLUKE,
        hi=HI_BLUKE,
        version=OBSERVATION_VERSION,
        size=layout.size,
        state_size=layout.state_size,
        score_unit=layout.score_unit,
        slices=layout.table(),
        example=EXAMPLE,
        output=output.getvalue(),
        actions=actions_table(),
        sizes=sizes_table(),
    )


def main() -> None:
    """Writes or checks the page."""
    parser = argparse.ArgumentParser(description="Writes docs/observation.md from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is out of date")
    check = parser.parse_args().check
    text = page()
    if not check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit(f"{PAGE.name} is out of date: run `python docs/make_tables.py`")


if __name__ == "__main__":
    main()
