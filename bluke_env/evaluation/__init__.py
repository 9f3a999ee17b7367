"""Fair measurement of players: duplicate deals in all rotations, intervals by deal."""

from bluke_env.evaluation.asking import AgentError
from bluke_env.evaluation.diagnostics import diagnose
from bluke_env.evaluation.duplicate import DuplicateResult, play_duplicate, play_matches, rotations
from bluke_env.evaluation.files import write_json
from bluke_env.evaluation.measure import STATISTICS, Comparison, Pairing, measure
from bluke_env.evaluation.oracle import losses_facts, oracle_losses
from bluke_env.evaluation.plan import Plan
from bluke_env.evaluation.players import FactoryAgent, load_player
from bluke_env.evaluation.ratings import Rating, TableResult, fit_ratings
from bluke_env.evaluation.report import Evaluation
from bluke_env.evaluation.statistics import Estimate, variance_reduction
from bluke_env.evaluation.store import ResultStore

__all__ = [
    "STATISTICS",
    "AgentError",
    "Comparison",
    "DuplicateResult",
    "Estimate",
    "Evaluation",
    "FactoryAgent",
    "Pairing",
    "Plan",
    "Rating",
    "ResultStore",
    "TableResult",
    "diagnose",
    "fit_ratings",
    "load_player",
    "losses_facts",
    "measure",
    "oracle_losses",
    "play_duplicate",
    "play_matches",
    "rotations",
    "variance_reduction",
    "write_json",
]
