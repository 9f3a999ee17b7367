"""One match for four, all of whom choose at random among their legal actions.

Run it with `python examples/aec_loop.py`.
"""

from bluke_env import bluke_v0

env = bluke_v0.env(num_players=4)
env.reset(seed=7)
env.action_space("player_0").seed(7)  # all agents share one action space

totals = dict.fromkeys(env.possible_agents, 0.0)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    totals[agent] += reward
    done = termination or truncation
    action = None if done else env.action_space(agent).sample(observation["action_mask"])
    env.step(action)

for agent, points in totals.items():
    print(f"{agent}: {points:g} points")
print("winners:", ", ".join(f"player_{seat}" for seat in env.unwrapped.game.winners))
env.close()
