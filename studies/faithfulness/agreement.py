"""Agreement of attention with other rankings: `python -m studies.faithfulness.agreement <runs>`.

A replication of Jain and Wallace (2019), not a verdict: Kendall's τ between attention and the absolute values of
gradient × input and of leave-one-out.
"""

import numpy as np
from scipy.stats import kendalltau

from heedful.faithfulness.measurement import rank_texts
from heedful.faithfulness.trained import ProbedRun, SampledTexts
from heedful.models.probe import Scores
from heedful.runs.faithfulness_record import ATTENTION, GRADIENT, LEAVE_ONE_OUT
from studies.faithfulness.script import Arrays, compute_chunks, record_file, study

HEADINGS = {"tau_gradient": "τ with gradient", "tau_leave_one_out": "τ with leave-one-out"}
RECORD_FILE = record_file("agreement")


def kendall(attention: Scores, other: Scores) -> np.ndarray:
    """Return Kendall's τ-b between each text's attention weights and the absolute values of other scores: n.

    τ is NaN if the weights or the absolute values are constant. Jain & Wallace (2019, algorithm 1) use the absolute
    gradient, and the total variation distance between the predictions with and without the token. For two classes,
    these equal the absolute values of the scores in `heedful.faithfulness.rankings`. The measure replicates that study:
    agreement does not show which ranking is faithful (Neely et al. 2022).
    """
    pairs = [(weights, np.abs(scores)) for weights, scores in zip(attention, other, strict=True)]
    return np.array([kendalltau(a, b).statistic if np.ptp(a) > 0 and np.ptp(b) > 0 else np.nan for a, b in pairs])


def compute(trained: ProbedRun, sample: SampledTexts, seed: int) -> Arrays:
    def of_chunk(chunk: np.ndarray) -> Arrays:
        rngs = [np.random.default_rng([seed, row]) for row in sample.rows[chunk].tolist()]
        ranked = rank_texts(trained.probe, [sample.texts[i] for i in chunk], rngs)
        others = {"tau_gradient": GRADIENT, "tau_leave_one_out": LEAVE_ONE_OUT}
        return {
            (ATTENTION, name): kendall(ranked.scores[ATTENTION], ranked.scores[other]) for name, other in others.items()
        }

    return compute_chunks(trained, sample, of_chunk)


if __name__ == "__main__":
    study("agreement", __doc__, compute, HEADINGS)
