"""Search for the lowest and highest comprehensiveness and sufficiency of any ranking of a text's tokens.

Edin et al. (2024) normalize the two measures by these limits, because models differ in how much an erasure can change
their predictions. A ranking selects a set of tokens for each share, and each set contains the sets for smaller shares.

Each search is a generator, so that the texts of many searches are evaluated in common batches: it yields the texts that
it needs, and receives their probabilities.
"""

from collections.abc import Generator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from heedful.faithfulness.measures import Predicted, erased_counts
from heedful.models.probe import Probe, Scores, TokenIds
from heedful.runs.faithfulness_record import GRADIENT, LEAVE_ONE_OUT

SHORT = 32  # in texts of at most this number of tokens, the search adds one token at a time, as in Edin et al.
SHORT_BEAM, LONG_BEAM = 5, 3  # widths of the beam search in short and in long texts
PERTURBATIONS = (0.5, 1.0)  # noise on scores, in standard deviations of the scores


class Request(NamedTuple):
    """A search's request for the class probabilities of texts, or for their scores by gradient × input."""

    texts: TokenIds
    by_gradient: bool = False


Search = Generator[Request, list, float]  # receives a probability or scores for each text; returns a limit


class State(NamedTuple):
    """The selected tokens, which are removed or retained, and the sum of the gains over the shares reached so far.

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
    of the next share at once: the tokens with the highest scores for one limit, and the tokens with the lowest scores
    for the other limit. The scores are gradient × input in the remaining text, the same scores after each of two random
    perturbations, and leave-one-out. For sufficiency, the probability of each token alone replaces gradient × input in
    the remaining text, and gradient × input in the whole text is a further score. Both searches only approximate the
    limits. If the value of a ranking lies beyond a limit, the value replaces the limit.

    Args:
        of_rankings: R×n, the measure of each ranking as a mean over shares.
        retain: whether the measure is sufficiency, where only the selected tokens remain.
    """
    searches, owners = [], []
    for i, (text, probability) in enumerate(zip(predicted.texts, predicted.probabilities, strict=True)):
        others = [scores[name][i] for name in (LEAVE_ONE_OUT, *([GRADIENT] if retain else []))]
        for sign in (-1, 1):
            searches.append(search(text, probability, sign, retain, others, rngs[i]))
            owners.append(i)
    results = run_searches(probe, searches, predicted.classes[owners]).reshape(-1, 2)
    low, high = np.vstack([results[:, 0], of_rankings]).min(0), np.vstack([results[:, 1], of_rankings]).max(0)
    return low, high


def run_searches(probe: Probe, searches: Sequence[Search], classes: np.ndarray) -> np.ndarray:
    """Run the searches together and return their results; search i concerns the probability of class `classes[i]`."""
    results = np.zeros(len(searches))
    requests: dict[int, Request] = {i: next(search) for i, search in enumerate(searches)}
    while requests:
        received: dict[int, list] = {}
        for by_gradient, evaluate in ((False, probe.probability), (True, probe.gradient_times_input)):
            selected = {i: request.texts for i, request in requests.items() if request.by_gradient == by_gradient}
            owners = [i for i, texts in selected.items() for _ in texts]
            if owners:
                values = iter(evaluate([text for texts in selected.values() for text in texts], classes[owners]))
                received |= {i: list(islice(values, len(texts))) for i, texts in selected.items()}
        requests = {}
        for i, result in received.items():
            try:
                requests[i] = searches[i].send(result)
            except StopIteration as end:
                results[i] = end.value
    return results


def search(
    text: np.ndarray,
    probability: float,
    sign: int,
    retain: bool,
    others: Sequence[np.ndarray],
    rng: np.random.Generator,
) -> Search:
    """Search for the highest drop in p(c), averaged over the shares, or for the lowest if `sign` is -1.

    Args:
        probability: p(c) of the whole text.
        others: further scores of the tokens of a long text, L each, which are high if a token supports the class.
    """
    counts, is_short = erased_counts(len(text)), len(text) <= SHORT
    alone = np.empty(0)  # p(c) of each token alone, used for sufficiency in long texts
    if retain and not is_short:
        alone = np.array((yield Request([text[i : i + 1] for i in range(len(text))])))
    states = [State(np.zeros(len(text), dtype=bool), 0.0)]
    for step in range(1, counts[-1] + 1) if is_short else np.unique(counts):
        if is_short:
            extensions: list = [np.flatnonzero(~state.selected) for state in states]
        else:
            if retain:
                bases = [alone[~state.selected] for state in states]
            else:
                bases = yield Request([text[~state.selected] for state in states], by_gradient=True)
            direction = sign if retain else -sign
            pairs = zip(states, bases, strict=True)
            extensions = [_extensions(state, step, base, others, direction, rng) for state, base in pairs]
        totals: dict[bytes, float] = {}  # the highest total of each selection
        for state, additions in zip(states, extensions, strict=True):
            for positions in additions:
                selected = state.selected.copy()
                selected[positions] = True
                key = selected.tobytes()
                totals[key] = max(state.total, totals.get(key, state.total))
        selections = [np.frombuffer(key, dtype=bool) for key in totals]
        after = yield Request([text[selected == retain] for selected in selections])
        gains = sign * (probability - np.array(after))
        reached = np.array(list(totals.values())) + (counts == step).sum() * gains
        values = reached + (counts > step).sum() * gains  # assumes the same gain for all remaining shares
        best = np.argsort(-values, kind="stable")[: SHORT_BEAM if is_short else LONG_BEAM]
        states = [State(selections[i], reached[i]) for i in best]
    return sign * states[0].total / len(counts)


def _extensions(
    state: State, step: int, base: np.ndarray, others: Sequence[np.ndarray], direction: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return, for several scores, the positions of the tokens that extend a selection to `step` tokens.

    They are the lowest, with direction -1 the highest, of the scores `base` of the tokens that are not selected yet, of
    these with random perturbations, and of `others`, scores of all tokens.
    """
    positions = np.flatnonzero(~state.selected)
    noise = [scale * base.std() * rng.standard_normal(len(base)) for scale in PERTURBATIONS]
    scores = (base, *(base + values for values in noise), *(other[positions] for other in others))
    count = step - int(state.selected.sum())
    return [positions[np.argsort(direction * values, kind="stable")[:count]] for values in scores]
