"""A match of yours against bots and networks, in the terminal.

Run it with `python examples/play.py bluke-4p rule pimc:worlds=30`, for shorter matches with `--schedule 5-1-5`; the
networks need `pip install -e ".[train]"`. You have seat 0, and they see no card that you do not show. With
`--preset back_alley back-alley back-alley back-alley` the one in seat 2 is your partner.
"""

import argparse
import sys

from agents.options import load_player
from bluke_env import Agent, Game, Phase, Rules
from bluke_env.actions import action_text, bid_text
from bluke_env.cards import SUIT_NAMES, card_text
from bluke_env.evaluation.duplicate import check_fits
from bluke_env.rules import PRESETS

YOU = 0


def choice(game: Game) -> int:
    """Asks for a bid or a card until it is a legal one."""
    trump = "no trump" if game.trump is None else f"{SUIT_NAMES[game.trump]} are trumps"
    print(f"  your hand, {trump}: {' '.join(map(card_text, reversed(game.hands[YOU])))}")
    texts = {action: action_text(action, game.rules.most_cards) for action in game.legal_actions()}
    legal = {text.removeprefix("bid ").upper(): action for action, text in texts.items()}
    while True:
        answer = input(f"  your {'bid' if game.phase is Phase.BID else 'card'}, {' '.join(legal)}: ").strip().upper()
        if answer in legal:
            return legal[answer]
        print(f"  {answer or 'nothing'} is not among them")


def show_scores(game: Game, names: list[str]) -> None:
    """Prints how the hand that has just ended was scored."""
    hand = game.last_hand
    assert hand is not None
    for seat, name in enumerate(names):
        result = f"bid {bid_text(hand.bids[seat])}, took {hand.tricks[seat]}: {hand.points[seat]:+}"
        print(f"  {name} {result}, {game.scores[seat]} points")


def play(game: Game, opponents: list[Agent]) -> None:
    """Plays the match to its end and prints what everybody does."""
    names = ["you", *(f"{player.name} in seat {seat}" for seat, player in enumerate(opponents, 1))]
    while (seat := game.current_player) is not None:
        if game.phase is Phase.BID and not any(game.bids):
            cards = "1 card" if game.hand_size == 1 else f"{game.hand_size} cards"
            print(f"\nhand {game.hand_number + 1} of {game.rules.num_hands}, {cards}")
        action = choice(game) if seat == YOU else int(opponents[seat - 1].act(game.turn())[0])
        print(f"{names[seat]}: {action_text(action, game.rules.most_cards)}")
        hands = len(game.history)
        game.apply_action(action)
        if len(game.history) > hands:
            show_scores(game, names)
        elif game.order and not game.trick:
            print(f"  the trick goes to {names[game.current_player or 0]}")
    print("the match is over, the most points:", ", ".join(names[seat] for seat in game.winners))


parser = argparse.ArgumentParser(description="A match of yours against bots and networks.")
parser.add_argument(
    "opponents", metavar="PLAYER", nargs="+", help="a bot, a shipped network, or the path of a checkpoint"
)
parser.add_argument("--preset", choices=PRESETS, default="bluke", help="the game (default: bluke)")
parser.add_argument("--schedule", help="hands of the match, such as 5-1-5 (default: the game's own)")
parser.add_argument("--seed", type=int, help="of the deals (default: drawn)")
options = parser.parse_args()
try:
    seated = [load_player(name) for name in options.opponents]
    changes = {} if options.schedule is None else {"schedule": options.schedule}
    match = Game(Rules.preset(options.preset, num_players=1 + len(seated), **changes), options.seed)
    for seat, player in enumerate(seated, 1):
        check_fits(match.rules, player.name, player)
        player.reset(num_games=1, seed=seat)
    play(match, seated)
except ValueError as error:
    sys.exit(f"play.py: {error}")
except (EOFError, KeyboardInterrupt):
    sys.exit("\nleft")
