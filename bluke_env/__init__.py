"""A reinforcement-learning environment for Bluke, a trick-taking card game with two jokers and bids."""

from bluke_env.agent import Agent, Turn
from bluke_env.batch import BatchGame
from bluke_env.belief import Belief
from bluke_env.deals import Deal
from bluke_env.errors import IllegalAction
from bluke_env.game import Game, Phase
from bluke_env.observation import ObservationLayout
from bluke_env.results import HandResult
from bluke_env.rules import Rules
from bluke_env.tapes import RecordError

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "BatchGame",
    "Belief",
    "Deal",
    "Game",
    "HandResult",
    "IllegalAction",
    "ObservationLayout",
    "Phase",
    "RecordError",
    "Rules",
    "Turn",
]
