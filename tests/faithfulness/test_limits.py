from itertools import permutations

import numpy as np
import pytest
import torch

from heedful.data.padded_batches import Truncation
from heedful.faithfulness.limits import search_limits
from heedful.faithfulness.measures import Predicted, erased_counts, retain
from heedful.models.probe import Probe
from heedful.runs.faithfulness_record import normalize
from heedful.tasks.multiclass import Multiclass
from tests.faithfulness.models import BAD, CONFIDENCE, GOOD, NEUTRAL, additive
from tests.models.combinations import compose


def limits_of(
    probe: Probe, text: np.ndarray, ranking_values: list[float], is_retained: bool = False
) -> tuple[float, float]:
    probabilities = probe.probabilities([text])
    predicted = Predicted([text], probabilities.argmax(1), probabilities.max(1))
    scores = {name: [np.zeros(len(text))] for name in ("gradient × input", "leave-one-out")}
    rngs = [np.random.default_rng(0)]
    low, high = search_limits(probe, predicted, scores, np.array(ranking_values)[:, None], rngs, is_retained)
    return float(low[0]), float(high[0])


@pytest.mark.parametrize("is_retained", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_short_text_reaches_the_limits_of_all_rankings(seed: int, is_retained: bool) -> None:
    torch.manual_seed(seed)
    probe = Probe(compose(encoder="bilstm", attention="bahdanau").double(), Multiclass(), Truncation(50, "first"))
    text = np.random.default_rng(seed).integers(2, 20, 7)
    whole = probe.probabilities([text])[0]
    orders = list(permutations(range(7), 4))  # the shares select 1, 1, 1, 1 and 4 tokens
    erase = retain if is_retained else np.delete
    shorter = [erase(text, np.array(order[:count])) for order in orders for count in (1, 4)]
    after = probe.probability(shorter, np.full(len(shorter), whole.argmax())).reshape(-1, 2)
    means = whole.max() - (4 * after[:, 0] + after[:, 1]) / 5
    low, high = limits_of(probe, text, [], is_retained)
    assert low == pytest.approx(means.min(), abs=1e-6)
    assert high == pytest.approx(means.max(), abs=1e-6)


@pytest.mark.parametrize(
    ("is_retained", "lowest", "highest"),  # sums of the remaining polarities; that of the whole text is 3 - 2 = 1
    [(False, [2, 3, 3, 3, 3], [0, -1, -2, -2, -2]), (True, [1, 2, 3, 3, 3], [-1, -2, -2, -2, -2])],
)
def test_a_long_text_of_an_additive_model(is_retained: bool, lowest: list[int], highest: list[int]) -> None:
    text = np.full(40, NEUTRAL)
    text[[3, 11, 30]], text[[7, 23]] = GOOD, BAD
    assert erased_counts(40).tolist() == [1, 2, 4, 8, 20]
    low, high = limits_of(additive(), text, [], is_retained)
    assert high == pytest.approx(CONFIDENCE - np.mean(1 / (1 + np.exp(-4.0 * np.array(highest)))), abs=1e-6)
    assert low == pytest.approx(CONFIDENCE - np.mean(1 / (1 + np.exp(-4.0 * np.array(lowest)))), abs=1e-6)


def test_no_ranking_exceeds_the_limits() -> None:
    low, high = limits_of(additive(), np.array([GOOD, NEUTRAL]), [-0.5, 0.9, 0.1])
    assert (low, high) == (-0.5, 0.9)


def test_normalized_values() -> None:
    values = normalize(np.array([0.1, 0.5, 0.3]), np.array([0.1, 0.0, 0.3]), np.array([0.3, 1.0, 0.3]))
    assert values == pytest.approx([0.0, 0.5, np.nan], nan_ok=True)
