"""Polarity violations (Liu et al. 2022, section 3): `python -m studies.faithfulness.polarity <runs>`.

Of the 10 % of tokens with the highest scores, the share of those whose individual removal raises the probability of the
predicted class.
"""

import numpy as np

from heedful.faithfulness.measurement import rank_texts
from heedful.faithfulness.measures import Ranked
from heedful.faithfulness.trained import ProbedRun, SampledTexts
from heedful.models.probe import Scores
from heedful.runs.faithfulness_record import LEAVE_ONE_OUT
from studies.faithfulness.script import Arrays, by_ranking, compute_chunks, study

SHARE = 0.1  # share of the tokens that are tested
HEADINGS = {"polarity": "polarity violations (low)"}


def polarity_violations(ranked: Ranked, leave_one_out: Scores) -> np.ndarray:
    """Return the share of the top 10 % of tokens (at least one) whose individual removal raises p(c): R×n."""
    tops = [max(1, int(np.rint(SHARE * len(scores)))) for scores in leave_one_out]
    return np.array(
        [
            [(scores[order[:top]] < 0).mean() for scores, order, top in zip(leave_one_out, orders, tops, strict=True)]
            for orders in ranked.values()
        ]
    )


def compute(trained: ProbedRun, sample: SampledTexts, seed: int) -> Arrays:
    def of_chunk(chunk: np.ndarray) -> Arrays:
        rngs = [np.random.default_rng([seed, row]) for row in sample.rows[chunk].tolist()]
        ranked = rank_texts(trained.probe, [sample.texts[i] for i in chunk], rngs)
        return by_ranking(ranked.orders, "polarity", polarity_violations(ranked.orders, ranked.scores[LEAVE_ONE_OUT]))

    return compute_chunks(trained, sample, of_chunk)


if __name__ == "__main__":
    study("polarity", __doc__, compute, HEADINGS)
