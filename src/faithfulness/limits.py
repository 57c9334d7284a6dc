"""Search for the lowest and highest comprehensiveness and sufficiency of any ranking of a text's tokens.

Edin et al. (2024) normalize by these limits, because models differ in how much an erasure can change their prediction.
A ranking selects a set of tokens for each share, and each set contains the previous one.

Each search is a generator, so that the texts of many searches are evaluated in common batches. In one round,

    search                            yields    Request([text without token 0, text without token 1])
    probe.probability(texts, classes) returns   [0.91, 0.34]
    search                            receives  [0.91, 0.34]
"""

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from src.faithfulness import erasure
from src.faithfulness.measures import Predicted
from src.faithfulness.names import GRADIENT, LEAVE_ONE_OUT
from src.faithfulness.probe import Probe, Scores, Texts

SHORT = 32  # in texts of at most this number of tokens, the search adds one token at a time, as in Edin et al.
SHORT_BEAM, LONG_BEAM = 5, 3  # states that the beam search retains in short and in long texts
PERTURBATIONS = (0.5, 1.0)  # noise added to the scores of candidates, in standard deviations of the scores


class Request(NamedTuple):
    """A search's request for the class probabilities of texts, or for their scores by gradient × input."""

    texts: Texts
    by_gradient: bool = False


Search = Generator[Request, list, float]  # receives a probability or scores for each text; returns a limit


class State(NamedTuple):
    """The selected tokens, which are removed or retained, and the sum of the gains over the shares so far.

    The gain is the drop in probability if the search is for the highest drop, otherwise the negative drop.
    """

    selected: np.ndarray  # L bool
    total: float


def search_limits(
    probe: Probe,
    predicted: Predicted,
    scores: Mapping[str, Scores],
    of_rankings: np.ndarray,
    rngs: Sequence[np.random.Generator],
    retain: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest comprehensiveness or sufficiency by removal, as means over shares, n each.

    For texts of at most 32 tokens, a beam search adds one token at a time. For longer texts, the search adds all tokens
    of the next share at once: for one limit the tokens with the highest scores, for the other those with the lowest.
    The scores are gradient × input in the remaining text (also after each of two random perturbations) and
    leave-one-out. For sufficiency, the probability of each token alone replaces gradient × input in the remaining text,
    and gradient × input in the whole text is added. Both searches only approximate the limits. The values of the
    rankings are included, so that no ranking exceeds the limits.

    Args:
        scores: scores of the tokens by ranking, including gradient × input and leave-one-out.
        of_rankings: R×n, the measure of each ranking as a mean over shares.
        rngs: n generators for the perturbations.
        retain: whether the measure is sufficiency, where only the selected tokens remain.
    """
    searches, owners = [], []
    for i, (text, probability) in enumerate(zip(predicted.texts, predicted.probabilities, strict=True)):
        others = [scores[name][i] for name in (LEAVE_ONE_OUT, *([GRADIENT] if retain else []))]
        for sign in (-1, 1):
            if len(text) <= SHORT:
                searches.append(search_tokens(text, probability, sign, retain))
            else:
                searches.append(search_blocks(text, probability, sign, retain, others, rngs[i]))
            owners.append(i)
    results = run_searches(probe, searches, predicted.classes[owners]).reshape(-1, 2)
    low, high = np.vstack([results[:, 0], of_rankings]).min(0), np.vstack([results[:, 1], of_rankings]).max(0)
    return low, high


def run_searches(probe: Probe, searches: Sequence[Search], classes: np.ndarray) -> np.ndarray:
    """Run the searches together and return their results; search i concerns the probability of class `classes[i]`."""
    results = np.zeros(len(searches))
    requests: dict[int, Request] = {i: next(search) for i, search in enumerate(searches)}
    while requests:
        answers: dict[int, list] = {}
        for by_gradient in (False, True):
            selected = {i: request for i, request in requests.items() if request.by_gradient == by_gradient}
            texts = [text for request in selected.values() for text in request.texts]
            targets = np.repeat(classes[list(selected)], [len(request.texts) for request in selected.values()])
            if not texts:
                continue
            evaluate = probe.gradient_times_input if by_gradient else probe.probability
            values = list(evaluate(texts, targets))
            for i, request in selected.items():
                answers[i], values = values[: len(request.texts)], values[len(request.texts) :]
        requests = {}
        for i, answer in answers.items():
            try:
                requests[i] = searches[i].send(answer)
            except StopIteration as end:
                results[i] = end.value
    return results


def search_tokens(text: np.ndarray, probability: float, sign: int, retain: bool) -> Search:
    """Select one more token at a time; return the highest (sign 1) or lowest (-1) mean drop over the shares."""
    counts = erasure.counts(len(text))
    states = [State(np.zeros(len(text), dtype=bool), 0.0)]
    for step in range(1, counts[-1] + 1):
        totals: dict[bytes, float] = {}
        for state in states:
            for position in np.flatnonzero(~state.selected):
                _propose(totals, state, position)
        candidates = [State(np.frombuffer(key, dtype=bool), total) for key, total in totals.items()]
        after = yield Request([text[state.selected == retain] for state in candidates])
        states = _best(candidates, sign * (probability - np.array(after)), counts, step, SHORT_BEAM)
    return sign * states[0].total / len(counts)


def search_blocks(
    text: np.ndarray,
    probability: float,
    sign: int,
    retain: bool,
    others: Sequence[np.ndarray],
    rng: np.random.Generator,
) -> Search:
    """Select all tokens of the next share at once; return the highest or lowest mean drop over the shares.

    Args:
        text: L token ids.
        probability: p(c) of the whole text.
        sign: 1 to search for the highest drop, -1 for the lowest.
        retain: whether only the selected tokens remain, as for sufficiency.
        others: further scores of the tokens, L each, which are high if a token supports the class.
        rng: generator for the perturbations.
    """
    counts = erasure.counts(len(text))
    states = [State(np.zeros(len(text), dtype=bool), 0.0)]
    direction = sign if retain else -sign  # 1: select the tokens with the lowest scores; -1: with the highest
    number = 0  # number of selected tokens
    alone = np.array((yield Request([text[i : i + 1] for i in range(len(text))]))) if retain else np.empty(0)
    for step in np.unique(counts):
        if retain:
            bases = [alone[~state.selected] for state in states]
        else:
            bases = yield Request([text[~state.selected] for state in states], by_gradient=True)
        totals: dict[bytes, float] = {}
        for state, base in zip(states, bases, strict=True):
            positions = np.flatnonzero(~state.selected)
            noise = [scale * base.std() * rng.standard_normal(len(positions)) for scale in PERTURBATIONS]
            for scores in (base, *(base + values for values in noise), *(other[positions] for other in others)):
                order = np.argsort(direction * scores, kind="stable")
                _propose(totals, state, positions[order[: step - number]])
        candidates = [State(np.frombuffer(key, dtype=bool), total) for key, total in totals.items()]
        after = yield Request([text[state.selected == retain] for state in candidates])
        states = _best(candidates, sign * (probability - np.array(after)), counts, step, LONG_BEAM)
        number = step
    return sign * states[0].total / len(counts)


def _propose(totals: dict[bytes, float], state: State, positions: np.intp | np.ndarray) -> None:
    """Add a state's selection, extended by these positions, to `totals`; of equal selections, keep the largest sum."""
    selected = state.selected.copy()
    selected[positions] = True
    key = selected.tobytes()
    totals[key] = max(state.total, totals.get(key, state.total))


def _best(candidates: Sequence[State], gains: np.ndarray, counts: np.ndarray, step: int, beam: int) -> list[State]:
    """Return the best candidates after `step` tokens, assuming the same gain for all remaining shares."""
    here, later = int((counts == step).sum()), int((counts > step).sum())
    states = [State(state.selected, state.total + here * gain) for state, gain in zip(candidates, gains, strict=True)]
    values = np.array([state.total for state in states]) + later * gains
    return [states[i] for i in np.argsort(-values, kind="stable")[:beam]]
