"""The highest and lowest comprehensiveness that any ranking of a text's tokens can reach, by beam search.

Edin et al. (2024) normalize comprehensiveness by these limits, because models differ in how much an erasure can change
their prediction. A ranking removes a set of tokens for each share, and each set contains the previous one.
"""

from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np

from src.faithfulness import erasure
from src.faithfulness.measures import Predicted
from src.faithfulness.probe import Probe, Scores, Texts

SHORT = 32  # tokens of the longest text whose search adds one token at a time, as that of Edin et al. does
SHORT_BEAM, LONG_BEAM = 5, 3
PERTURBATIONS = (0.5, 1.0)  # noise added to the scores of candidates, in standard deviations of the scores


class Request(NamedTuple):
    """A search's request for the class probabilities of texts, or for their scores by gradient × input."""

    texts: Texts
    by_gradient: bool = False


Search = Generator[Request, list, float]  # its texts get a probability or the scores of their tokens each


class State(NamedTuple):
    """The tokens that remain, and the sum of the drops over the shares so far."""

    remaining: np.ndarray  # L bool
    total: float


def comprehensiveness_limits(
    probe: Probe,
    predicted: Predicted,
    leave_one_out: Scores,
    of_rankings: np.ndarray,
    rngs: Sequence[np.random.Generator],
) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and highest mean over shares of comprehensiveness by removal, n each.

    For texts of at most 32 tokens, a beam search adds one token at a time. For longer texts, it adds all tokens of the
    next share at once; its candidates are the tokens with the highest gradient × input in the remaining text (also
    after each of two random perturbations), and those with the highest leave-one-out scores. Both searches only
    approximate the limits. The rankings are candidates too, so that none exceeds the limits.

    Args:
        probe: the model.
        predicted: n texts.
        leave_one_out: leave-one-out scores of the texts.
        of_rankings: R×n, the mean comprehensiveness over shares of each ranking.
        rngs: n generators for the perturbations.
    """
    searches, owners = [], []
    for i, (text, probability) in enumerate(zip(predicted.texts, predicted.probabilities, strict=True)):
        for sign in (-1, 1):
            if len(text) <= SHORT:
                searches.append(search_tokens(text, probability, sign))
            else:
                searches.append(search_blocks(text, probability, sign, leave_one_out[i], rngs[i]))
            owners.append(i)
    results = run_searches(probe, searches, predicted.classes[owners]).reshape(-1, 2)
    low, high = np.vstack([results[:, 0], of_rankings]).min(0), np.vstack([results[:, 1], of_rankings]).max(0)
    return low, high


def run_searches(probe: Probe, searches: Sequence[Search], classes: np.ndarray) -> np.ndarray:
    """Run searches together, so that the texts of all their requests are evaluated in common batches."""
    results = np.zeros(len(searches))
    requests: dict[int, Request] = {i: next(search) for i, search in enumerate(searches)}
    while requests:
        answers: dict[int, list] = {}
        for by_gradient in (False, True):
            asking = {i: request for i, request in requests.items() if request.by_gradient == by_gradient}
            texts = [text for request in asking.values() for text in request.texts]
            targets = np.repeat(classes[list(asking)], [len(request.texts) for request in asking.values()])
            if not texts:
                continue
            evaluate = probe.gradient_times_input if by_gradient else probe.probability
            values = list(evaluate(texts, targets))
            for i, request in asking.items():
                answers[i], values = values[: len(request.texts)], values[len(request.texts) :]
        requests = {}
        for i, answer in answers.items():
            try:
                requests[i] = searches[i].send(answer)
            except StopIteration as end:
                results[i] = end.value
    return results


def search_tokens(text: np.ndarray, probability: float, sign: int) -> Search:
    """Add one token at a time to those removed; returns the highest (sign 1) or lowest mean drop over the shares."""
    counts = erasure.counts(len(text))
    states = [State(np.ones(len(text), dtype=bool), 0.0)]
    for step in range(1, counts[-1] + 1):
        totals: dict[bytes, float] = {}
        for state in states:
            for position in np.flatnonzero(state.remaining):
                key = _without(state.remaining, position).tobytes()
                totals[key] = sign * max(sign * state.total, sign * totals.get(key, state.total))
        candidates = [State(np.frombuffer(key, dtype=bool), total) for key, total in totals.items()]
        after = yield Request([text[state.remaining] for state in candidates])
        states = _select(candidates, probability - np.array(after), counts, step, sign, SHORT_BEAM)
    return states[0].total / len(counts)


def search_blocks(
    text: np.ndarray, probability: float, sign: int, leave_one_out: np.ndarray, rng: np.random.Generator
) -> Search:
    """Add all tokens of the next share at once; returns the highest (sign 1) or lowest mean drop over the shares."""
    counts = erasure.counts(len(text))
    states = [State(np.ones(len(text), dtype=bool), 0.0)]
    removed = 0
    for step in np.unique(counts):
        gradients = yield Request([text[state.remaining] for state in states], by_gradient=True)
        totals: dict[bytes, float] = {}
        for state, gradient in zip(states, gradients, strict=True):
            positions = np.flatnonzero(state.remaining)
            noise = [scale * gradient.std() * rng.standard_normal(len(positions)) for scale in PERTURBATIONS]
            for scores in (gradient, *(gradient + values for values in noise), leave_one_out[positions]):
                block = positions[np.argsort(-sign * scores, kind="stable")[: step - removed]]
                key = _without(state.remaining, block).tobytes()
                totals[key] = sign * max(sign * state.total, sign * totals.get(key, state.total))
        candidates = [State(np.frombuffer(key, dtype=bool), total) for key, total in totals.items()]
        after = yield Request([text[state.remaining] for state in candidates])
        states = _select(candidates, probability - np.array(after), counts, step, sign, LONG_BEAM)
        removed = step
    return states[0].total / len(counts)


def _without(remaining: np.ndarray, positions: np.intp | np.ndarray) -> np.ndarray:
    reduced = remaining.copy()
    reduced[positions] = False
    return reduced


def _select(
    candidates: Sequence[State], drops: np.ndarray, counts: np.ndarray, step: int, sign: int, beam: int
) -> list[State]:
    """The best candidates after `step` tokens, as if the drop stayed the same for the remaining shares."""
    here, later = int((counts == step).sum()), int((counts > step).sum())
    states = [State(state.remaining, state.total + here * drop) for state, drop in zip(candidates, drops, strict=True)]
    values = np.array([state.total for state in states]) + later * drops
    return [states[i] for i in np.argsort(-sign * values, kind="stable")[:beam]]
