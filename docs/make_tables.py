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
from bluke_env.actions import bid_action, bid_text
from bluke_env.cards import HI_BLUKE, LO_BLUKE, NUM_RANKS, NUM_SUITS, SUIT_NAMES, card_text
from bluke_env.observation import OBSERVATION_VERSION
from bluke_env.rules import BOARD, MAX_BOARD_LEVEL, MAX_PLAYERS, MIN_PLAYERS

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
- Its length depends only on the number of seats, the most cards of the schedule (`Rules.most_cards`), the pack, and
  whether it is Back Alley; not on the phase, the dealer or the size of the hand in play.
- `BatchGame` and `Game.observe` write it as **int8**. The PettingZoo environment gives it as **float32 in [-1, 1]**:
  `vector * layout.scale`, where each entry is divided by the number in the table below. Almost all entries are 0 or 1.
- Cards are numbered `13 * suit + rank`, with the suits {suits} and the ranks
  {ranks}; {lo} is the Lo Bluke and {hi} the Hi Bluke. A slice of 54 entries has one entry for every card.
- A layout may be wider than the game (`BatchGame(layout=...)`), so that one network serves games of several sizes:
  absent seats and cards, and bids that cannot be made, stay zero.

This is version {version} of the observation; the number is raised when the meaning of any entry changes.

The table is for Bluke with 4 players and the standard schedule: {size} entries. `other_hands` is not part of the
observation. It follows it in the perfect-information **state** ({state_size} entries, for centralised critics), from
`Game.state`, `BatchGame.states` and the environment's `state()`.

{slices}

A match score takes two entries, so that it is exact: `scores` in steps of {score_unit} points (the step depends on the
rules: `layout.score_unit`), and in `scores_fine` the points that are missing or too many.

### Other games
{others}

- **Small packs** shrink the vector. A set of cards has one entry for each card of the pack, each suit's ranks ascending
  and then the Blukes; `layout.card_ids` is the card id of each, for `mini` {mini_ids}. Where suits
  or ranks are counted there are as many entries as the pack has. Actions and masks do not shrink.
- **Back Alley** has more. In `bids` board, double, triple and quadruple board follow the numbers of tricks. `needed` is
  what each seat's side needs for all that it has bid so far. In `voids` the Bloopers are trumps. While bidding,
  `leader` is who would lead as things stand: the highest bidder so far. Two slices come at the end:
  `trump_broken`, {trump_broken}, and
  `exchanged`, {exchanged}; which card it took shows in its own `hand` alone.

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
One numbering serves both phases, all seats and all packs. In it m is `rules.most_cards`, the room that there is for
bids: {most} in the standard game for four, so that the boards of Back Alley are {first_board} to {last_board}.
`bluke_env.actions.action_text(action, rules.most_cards)` puts an action into words.

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
Bluke with the standard schedule, and the other presets:

| players | hands | most cards | observation | state | actions |
|---|---|---|---|---|---|
{sizes}

For n seats, hands of up to c cards, and a pack of s suits of r ranks, p = s r + 2 cards in all, an observation has
`6 + 4 p + s + r + c + n (9 + p + s + 2 c)` entries (with the whole pack `239 + 67 n + c + 2 n c`), in Back Alley 21
more. A state has `(n - 1) p` more than an observation. There are `55 + c` actions, in Back Alley `59 + c`.
"""


def actions_table() -> str:
    """Returns the rows of the action table for 4 players."""
    rows = [
        f"| {NUM_RANKS * suit} … {NUM_RANKS * suit + NUM_RANKS - 1} | play a card of {SUIT_NAMES[suit]}: "
        f"`{card_text(NUM_RANKS * suit)}` … `{card_text(NUM_RANKS * suit + NUM_RANKS - 1)}` |"
        for suit in range(NUM_SUITS)
    ]
    rows += [f"| {card} | play the {name} Bluke: `{card_text(card)}` |" for card, name in ((52, "Lo"), (53, "Hi"))]
    rows += [
        f"| {bid_action(0)} + b | bid b tricks, from 0 (where `min_bid=0`) to m |",
        *(
            f"| {bid_action(0)} + m + {level} | in Back Alley: bid {bid_text(BOARD + level)} |"
            for level in range(1, MAX_BOARD_LEVEL + 1)
        ),
    ]
    return "\n".join(rows)


def others_table() -> str:
    """Returns a table of the slices of games that are laid out differently."""
    layouts = {name: ObservationLayout.of(Rules.preset(name)) for name in ("back_alley", "mini")}
    heads = [f"`{name}`: start, stop | shape" for name in layouts]
    rows = ["| slice | " + " | ".join(heads) + " |", "|---|" + "---|---|" * len(layouts)]
    for name in layouts["back_alley"].state_slices:
        cells = [f"`{name}`"]
        for part in (layout.state_slices.get(name) for layout in layouts.values()):
            shape = "" if part is None else " × ".join(map(str, part.shape))
            cells += ["", ""] if part is None else [f"{part.start}, {part.stop}", shape]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def sizes_table() -> str:
    """Returns the rows of the table of sizes: every number of players, then the presets that differ."""
    games = {str(players): Rules(num_players=players) for players in range(MIN_PLAYERS, MAX_PLAYERS + 1)}
    games |= {
        f"`{name}`: {Rules.preset(name).num_players}": Rules.preset(name) for name in ("back_alley", "mini", "micro")
    }
    rows = []
    for players, rules in games.items():
        layout = ObservationLayout.of(rules)
        columns = players, rules.num_hands, rules.most_cards, layout.size, layout.state_size, layout.num_actions
        rows.append("| " + " | ".join(map(str, columns)) + " |")
    return "\n".join(rows)


def page() -> str:
    """Returns the whole page."""
    layout, back_alley = ObservationLayout.of(Rules()), ObservationLayout.of(Rules.preset("back_alley"))
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
        others=others_table(),
        mini_ids=" ".join(map(str, ObservationLayout.of(Rules.preset("mini")).card_ids)),
        trump_broken=back_alley.slices["trump_broken"].meaning,
        exchanged=back_alley.slices["exchanged"].meaning,
        most=layout.most_cards,
        first_board=bid_action(BOARD + 1, layout.most_cards),
        last_board=back_alley.num_actions - 1,
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
