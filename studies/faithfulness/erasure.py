"""Two other kinds of erasure: `python -m studies.faithfulness.erasure <runs>`.

Comprehensiveness and sufficiency if the erased tokens become the unknown token, so that the text keeps its length; and
if features of the embeddings become zero at random (soft erasure, Zhao and Aletras 2023).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from heedful.data.tokenizer import UNKNOWN_ID
from heedful.faithfulness.measurement import rank_texts
from heedful.faithfulness.measures import Predicted, erase_shares
from heedful.faithfulness.trained import ProbedRun, SampledTexts
from heedful.models.probe import Probe, Scores, pad
from studies.faithfulness.script import Arrays, by_ranking, compute_chunks, study

DRAWS = 3  # number of random masks for each text in soft erasure
HEADINGS = {
    "comprehensiveness_unknown": "comprehensiveness, unknown token (high)",
    "sufficiency_unknown": "sufficiency, unknown token (low)",
    "soft_comprehensiveness": "soft comprehensiveness (high)",
    "soft_sufficiency": "soft sufficiency (low)",
}


def replace(tokens: np.ndarray, positions: np.ndarray, token: int) -> np.ndarray:
    """Return the text with `token` at these positions."""
    replaced = tokens.copy()
    replaced[positions] = token
    return replaced


def soft_erasure(
    probe: Probe, predicted: Predicted, scores: Mapping[str, Scores], seeds: Sequence[Sequence[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return comprehensiveness and sufficiency, R×n each, with random features of the embeddings set to zero.

    Each feature of token i is erased with probability a_i for comprehensiveness, and retained with probability a_i for
    sufficiency, where a_i is the score of the token, scaled to [0, 1] in each text (Zhao & Aletras 2023, eqs. 3 to 6,
    without their clipping at 0 and their normalization by the effect of an empty text). All rankings share the random
    numbers of a text. The results are means over 3 draws of random numbers.
    """
    drops = np.zeros((2, len(scores), len(predicted.texts)))
    for r, values in enumerate(scores.values()):
        scaled = [scale_scores(text_scores) for text_scores in values]
        for rows, inputs in probe.batches(predicted.texts):
            importance = pad(scaled, rows, inputs.mask.shape[1])
            with torch.inference_mode():
                embeddings = probe.model.embedding(inputs)
                probabilities = torch.from_numpy(importance).to(probe.device).unsqueeze(2)
                classes = torch.from_numpy(predicted.classes[rows]).to(probe.device)
                for draw in range(DRAWS):
                    uniform = np.zeros(embeddings.shape, dtype=np.float32)
                    for line, row in enumerate(rows.tolist()):
                        rng = np.random.default_rng([*seeds[row], draw])
                        uniform[line, : len(values[row])] = rng.random((len(values[row]), embeddings.shape[2]))
                    is_important = torch.from_numpy(uniform).to(probe.device) < probabilities
                    for kind, is_retained in enumerate((~is_important, is_important)):
                        probability = probe.class_probability(embeddings * is_retained, inputs, classes)
                        after = probability.double().cpu().numpy()
                        drops[kind, r, rows] += (predicted.probabilities[rows] - after) / DRAWS
    return drops[0], drops[1]


def scale_scores(scores: np.ndarray) -> np.ndarray:
    """Scale scores to [0, 1], so that the lowest is 0 and the highest 1; if all are equal, each becomes 1/2."""
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.full(len(scores), 0.5)


def compute(trained: ProbedRun, sample: SampledTexts, seed: int) -> Arrays:
    unknown = trained.codec.tokenizer.unknown_id
    token = UNKNOWN_ID if unknown is None else unknown

    def replace_others(tokens: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return replace(tokens, np.delete(np.arange(len(tokens)), positions), token)

    def of_chunk(chunk: np.ndarray) -> Arrays:
        seeds = [[seed, row] for row in sample.rows[chunk].tolist()]
        probe, rngs = trained.probe, [np.random.default_rng(seed) for seed in seeds]
        ranked = rank_texts(probe, [sample.texts[i] for i in chunk], rngs)
        arrays = [
            erase_shares(probe, ranked.predicted, ranked.orders, lambda text, top: replace(text, top, token)).mean(2),
            erase_shares(probe, ranked.predicted, ranked.orders, replace_others).mean(2),
            *soft_erasure(probe, ranked.predicted, ranked.scores, seeds),
        ]
        named = zip(HEADINGS, arrays, strict=True)
        return {key: row for name, values in named for key, row in by_ranking(ranked.orders, name, values).items()}

    return compute_chunks(trained, sample, of_chunk)


if __name__ == "__main__":
    study("erasure", __doc__, compute, HEADINGS)
