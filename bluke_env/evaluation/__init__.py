"""Fair measurement of players: duplicate deals in all rotations, intervals by deal."""

from bluke_env.evaluation.duplicate import AgentError, DuplicateResult, play_duplicate, rotations
from bluke_env.evaluation.measure import STATISTICS, Comparison, measure
from bluke_env.evaluation.report import Evaluation, write_json
from bluke_env.evaluation.statistics import Estimate

__all__ = [
    "STATISTICS",
    "AgentError",
    "Comparison",
    "DuplicateResult",
    "Estimate",
    "Evaluation",
    "measure",
    "play_duplicate",
    "rotations",
    "write_json",
]
