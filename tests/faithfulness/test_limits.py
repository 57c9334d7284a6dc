from itertools import permutations

import numpy as np
import pytest
import torch

from src.data.batching import Truncation
from src.faithfulness.erasure import counts, normalize, remove
from src.faithfulness.limits import comprehensiveness_limits
from src.faithfulness.measures import Predicted
from src.faithfulness.probe import Probe
from src.models.loss import CrossEntropy
from tests.faithfulness.models import BAD, GOOD, NEUTRAL, SURE, additive
from tests.models.combinations import compose


def limits_of(probe: Probe, text: np.ndarray, of_rankings: list[float]) -> tuple[float, float]:
    probabilities = probe.probabilities([text])
    predicted = Predicted([text], probabilities.argmax(1), probabilities.max(1))
    scores = [np.zeros(len(text))]
    rngs = [np.random.default_rng(0)]
    low, high = comprehensiveness_limits(probe, predicted, scores, np.array(of_rankings)[:, None], rngs)
    return float(low[0]), float(high[0])


@pytest.mark.parametrize("seed", range(3))
def test_a_short_text_reaches_the_limits_of_all_rankings(seed: int) -> None:
    torch.manual_seed(seed)
    probe = Probe(
        compose(encoder="bilstm", attention="bahdanau").double(), CrossEntropy([1] * 3), Truncation(50, "first")
    )
    text = np.random.default_rng(seed).integers(2, 20, 7)
    whole = probe.probabilities([text])[0]
    orders = list(permutations(range(7), 4))  # the shares remove 1, 1, 1, 1 and 4 tokens
    shorter = [remove(text, np.array(order[:count])) for order in orders for count in (1, 4)]
    after = probe.probability(shorter, np.full(len(shorter), whole.argmax())).reshape(-1, 2)
    means = whole.max() - (4 * after[:, 0] + after[:, 1]) / 5
    low, high = limits_of(probe, text, [])
    assert low == pytest.approx(means.min(), abs=1e-6)
    assert high == pytest.approx(means.max(), abs=1e-6)


def test_a_long_text_of_an_additive_model() -> None:
    # 40 tokens, of which 2, 4, 8 and 20 are removed after the first one; the sum of polarities is 3 - 2 = 1
    text = np.full(40, NEUTRAL)
    text[[3, 11, 30]], text[[7, 23]] = GOOD, BAD
    assert counts(40).tolist() == [1, 2, 4, 8, 20]
    low, high = limits_of(additive(), text, [])
    p = [float(1 / (1 + np.exp(-4.0 * total))) for total in (1, 0, -1, -2, 2, 3)]
    assert high == pytest.approx(SURE - np.mean([p[1], p[2], p[3], p[3], p[3]]), abs=1e-6)
    assert low == pytest.approx(SURE - np.mean([p[4], p[5], p[5], p[5], p[5]]), abs=1e-6)


def test_no_ranking_exceeds_the_limits() -> None:
    low, high = limits_of(additive(), np.array([GOOD, NEUTRAL]), [-0.5, 0.9, 0.1])
    assert (low, high) == (-0.5, 0.9)


def test_normalized_values() -> None:
    values = normalize(np.array([0.1, 0.5, 0.3]), np.array([0.1, 0.0, 0.3]), np.array([0.3, 1.0, 0.3]))
    assert values == pytest.approx([0.0, 0.5, np.nan], nan_ok=True)
