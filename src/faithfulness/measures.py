"""The measures of one model on some texts: erasure, decision flips, polarity violations and soft erasure.

The class c is always the one that the model predicts for the whole text. Results have one row for each ranking.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from src.faithfulness import erasure
from src.faithfulness.probe import Probe, Scores, Texts, pad

POLARITY_SHARE = 0.1  # share of the tokens that are tested: those with the highest scores
DRAWS = 3  # number of random masks for each text in soft erasure


class Predicted(NamedTuple):
    """n texts with their predicted classes."""

    texts: Texts
    classes: np.ndarray  # n int64
    probabilities: np.ndarray  # n, probability of the predicted class for the whole text

    def __len__(self) -> int:
        return len(self.texts)


Ranked = Mapping[str, list[np.ndarray]]  # by ranking, the positions of each text's tokens, the most important first
Erase = Callable[[np.ndarray, np.ndarray], np.ndarray]  # tokens of a text, and positions → tokens after the erasure


def erase_shares(probe: Probe, predicted: Predicted, ranked: Ranked, erase: Erase) -> np.ndarray:
    """Return p(c|x) − p(c|x after the erasure) for every ranking, text and share of top-ranked tokens: R×n×5."""
    texts, orders = predicted.texts, list(ranked.values())
    counts = np.array([erasure.counts(len(text)) for text in texts])  # n×5
    erasures = [(r, i, count) for r in range(len(orders)) for i in range(len(texts)) for count in np.unique(counts[i])]
    erased = [erase(texts[i], orders[r][i][:count]) for r, i, count in erasures]
    after = probe.probability(erased, predicted.classes[[i for _, i, _ in erasures]])
    drops = np.empty((len(orders), *counts.shape))
    for (r, i, count), probability in zip(erasures, after, strict=True):
        drops[r, i, counts[i] == count] = predicted.probabilities[i] - probability
    return drops


def comprehensiveness(probe: Probe, predicted: Predicted, ranked: Ranked, by: str) -> np.ndarray:
    """Return the drop in p(c) without the top-ranked tokens: R×n×5 (DeYoung et al. 2020, eq. 1).

    The drop is high if the ranking is faithful. The tokens are removed if `by` is "removal", otherwise replaced by the
    unknown token.
    """
    erase: Erase = np.delete if by == "removal" else partial(erasure.replace, token=probe.unknown_id)
    return erase_shares(probe, predicted, ranked, erase)


def sufficiency(probe: Probe, predicted: Predicted, ranked: Ranked, by: str) -> np.ndarray:
    """Return the drop in p(c) with only the top-ranked tokens: R×n×5 (DeYoung et al. 2020, eq. 2).

    The drop is low if the ranking is faithful. The other tokens are removed if `by` is "removal", otherwise replaced by
    the unknown token.
    """
    erase: Erase = erasure.retain if by == "removal" else partial(erasure.replace_others, token=probe.unknown_id)
    return erase_shares(probe, predicted, ranked, erase)


def flip_grid(length: int) -> np.ndarray:
    """Return the Fibonacci numbers 1, 2, 3, 5, 8, … below `length`, and `length` - 1.

    `decision_flips` removes these numbers of tokens. The result is empty for a text of one token.
    """
    numbers = [1, 2]
    while numbers[-1] < length:
        numbers.append(numbers[-1] + numbers[-2])
    return np.unique([number for number in numbers if number < length] + [length - 1] * (length > 1))


def decision_flips(probe: Probe, predicted: Predicted, ranked: Ranked) -> np.ndarray:
    """Return the smallest share of tokens whose removal, from the top of a ranking, changes the predicted class: R×n.

    The measure is from Serrano & Smith (2019). Only the numbers of tokens that `flip_grid` returns are tried. The
    share is 1 if no such removal changes the predicted class.
    """
    grids = [flip_grid(len(text)) for text in predicted.texts]
    shares = np.ones((len(ranked), len(predicted)))
    pending = [(r, i) for r in range(len(ranked)) for i in range(len(predicted))]
    orders = list(ranked.values())
    for step in range(max(map(len, grids), default=0)):
        pending = [(r, i) for r, i in pending if step < len(grids[i])]
        shorter = [np.delete(predicted.texts[i], orders[r][i][: grids[i][step]]) for r, i in pending]
        if not shorter:
            break
        unchanged = []
        for (r, i), new in zip(pending, probe.probabilities(shorter).argmax(1), strict=True):
            if new == predicted.classes[i]:
                unchanged.append((r, i))
            else:
                shares[r, i] = grids[i][step] / len(predicted.texts[i])
        pending = unchanged
    return shares


def polarity_violations(ranked: Ranked, leave_one_out: Scores) -> np.ndarray:
    """Return the share of the top 10 % of tokens (at least one) whose individual removal raises p(c): R×n.

    The measure is from Liu et al. (2022, section 3).
    """
    tops = [max(1, int(np.rint(POLARITY_SHARE * len(scores)))) for scores in leave_one_out]
    return np.array(
        [
            [(scores[order[:top]] < 0).mean() for scores, order, top in zip(leave_one_out, orders, tops, strict=True)]
            for orders in ranked.values()
        ]
    )


def soft_erasure(
    probe: Probe, predicted: Predicted, scores: Mapping[str, Scores], seeds: Sequence[Sequence[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return comprehensiveness and sufficiency, R×n each, with random features of the embeddings set to zero.

    Each feature of token i is erased with probability a_i for comprehensiveness, and retained with probability a_i for
    sufficiency, where a_i is the score of the token, scaled to [0, 1] in each text (Zhao & Aletras 2023, eqs. 3 to 6,
    without their clipping at 0 and their normalization by the effect of an empty text). All rankings share the random
    numbers of a text. The results are means over 3 draws of random numbers.
    """
    drops = np.zeros((2, len(scores), len(predicted)))
    for r, values in enumerate(scores.values()):
        scaled = [scale_scores(text_scores) for text_scores in values]
        for rows, tokens, mask in probe.batches(predicted.texts):
            importance = pad(scaled, rows, mask.shape[1])
            with torch.inference_mode():
                embeddings = probe.model.embed(tokens, mask)
                probabilities = torch.from_numpy(importance).to(probe.device).unsqueeze(2)
                classes = torch.from_numpy(predicted.classes[rows]).to(probe.device)
                for draw in range(DRAWS):
                    uniform = np.zeros(embeddings.shape, dtype=np.float32)
                    for line, row in enumerate(rows.tolist()):
                        rng = np.random.default_rng([*seeds[row], draw])
                        uniform[line, : len(values[row])] = rng.random((len(values[row]), embeddings.shape[2]))
                    is_important = torch.from_numpy(uniform).to(probe.device) < probabilities
                    for kind, is_retained in enumerate((~is_important, is_important)):
                        probability = probe.class_probability(embeddings * is_retained, mask, classes)
                        after = probability.double().cpu().numpy()
                        drops[kind, r, rows] += (predicted.probabilities[rows] - after) / DRAWS
    return drops[0], drops[1]


def scale_scores(scores: np.ndarray) -> np.ndarray:
    """Scale scores to [0, 1], so that the lowest is 0 and the highest 1; if all are equal, each becomes 1/2."""
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.full(len(scores), 0.5)
