"""A shipped network and three bots at the table of the PettingZoo environment, for one match.

Run it with `python examples/network_in_aec_loop.py`; the network needs `pip install -e ".[train]"`.
"""

import agents
from bluke_env import bluke_v0, bots

env = bluke_v0.env(num_players=4)
env.reset(seed=7)

players = [agents.load("bluke-4p"), bots.make("rule"), bots.make("rule"), bots.make("pimc:worlds=30")]
for seat, player in enumerate(players):
    player.reset(num_games=1, seed=seat)

seated = dict(zip(env.possible_agents, players, strict=True))
for agent in env.agent_iter():
    _, _, termination, truncation, _ = env.last(observe=False)
    done = termination or truncation
    # Observations and masks are for agents that you write; those of this project take the turn itself.
    env.step(None if done else int(seated[agent].act(env.unwrapped.game.turn())[0]))

for player, score in zip(players, env.unwrapped.game.scores, strict=True):
    print(f"{player.name}: {score} points")
env.close()
