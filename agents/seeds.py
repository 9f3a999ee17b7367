"""What training draws its random numbers for.

Everything is hashed from the run's seed and one of these purposes (`bluke_env.batch.derive_seed`). Evaluation has
others (`bluke_env.evaluation.seeds`), so it never meets a deal that training saw.
"""

DEALS = 1
SIZES = 2
MINIBATCHES = 3
PAST = 4
