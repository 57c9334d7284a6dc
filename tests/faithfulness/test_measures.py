"""Measures are compared with numbers computed by hand, on a model with p(good) = σ(4 Σ polarity)."""

import numpy as np
import pytest
import torch

from heedful.data.tokenizer import UNKNOWN_ID
from heedful.faithfulness.measures import Predicted, erase_shares, erased_counts, rank, retain
from heedful.faithfulness.rankings import integrated_gradients, is_inexact
from heedful.models.probe import Probe
from studies.faithfulness.agreement import kendall
from studies.faithfulness.erasure import replace, scale_scores, soft_erasure
from studies.faithfulness.flips import decision_flips, flip_grid
from studies.faithfulness.polarity import polarity_violations
from studies.faithfulness.weights import adversarial_weights, jensen_shannon, replaced_weights
from tests.faithfulness.models import BAD, CONFIDENCE, GOOD, LURE, NEUTRAL, additive, faithful, misleading, overflowing


def predict(probe: Probe, *texts: list[int]) -> Predicted:
    arrays = [np.array(text) for text in texts]
    probabilities = probe.probabilities(arrays)
    return Predicted(arrays, probabilities.argmax(1), probabilities.max(1))


def sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def test_counts_of_shares() -> None:
    assert erased_counts(100).tolist() == [1, 5, 10, 20, 50]
    assert erased_counts(7).tolist() == [1, 1, 1, 1, 4]
    assert erased_counts(1).tolist() == [1, 1, 1, 1, 1]


def test_erasures_of_positions() -> None:
    text, positions = np.array([7, 8, 9, 7]), np.array([3, 0])
    assert retain(text, positions).tolist() == [7, 7]
    assert replace(text, positions, 1).tolist() == [1, 8, 9, 1]
    assert text.tolist() == [7, 8, 9, 7]


def test_overflowing_gradients_rank_tokens() -> None:
    texts, classes = [np.array([NEUTRAL, GOOD, BAD])] * 2, np.array([1, 0])
    scores = overflowing().gradient_times_input(texts, classes)
    assert [rank(values, np.random.default_rng(0)).tolist() for values in scores] == [[1, 0, 2], [2, 0, 1]]
    scores, errors = integrated_gradients(overflowing(), texts, classes)
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() == np.finfo(np.float32).max  # no finite score ranks above an infinite one
    assert np.isnan(errors).all()
    assert is_inexact(errors).all()
    assert not is_inexact(integrated_gradients(additive(), texts, classes)[1]).any()


def test_equal_scores_are_in_random_order() -> None:
    assert rank(np.array([0.1, 0.7, 0.3]), np.random.default_rng(0)).tolist() == [1, 2, 0]
    orders = {tuple(rank(np.zeros(3), np.random.default_rng(seed))) for seed in range(50)}
    assert len(orders) == 6


def test_comprehensiveness_and_sufficiency() -> None:
    probe = additive()
    predicted = predict(probe, [GOOD, NEUTRAL, GOOD, BAD, NEUTRAL, NEUTRAL], [BAD])
    assert predicted.classes.tolist() == [1, 0]
    assert predicted.probabilities == pytest.approx([CONFIDENCE, CONFIDENCE])
    ranked = {"a": [np.array([0, 2, 3, 1, 4, 5]), np.array([0])], "b": [np.array([3, 1, 4, 0, 2, 5]), np.array([0])]}
    removed = erase_shares(probe, predicted, ranked, np.delete)
    assert removed.shape == (2, 2, 5)
    assert removed[0, 0] == pytest.approx([CONFIDENCE - 0.5] * 5, abs=1e-6)  # erases 1, 1, 1, 1 and 3 of 6 tokens
    assert removed[1, 0] == pytest.approx([CONFIDENCE - sigmoid(8)] * 5, abs=1e-6)
    assert removed[:, 1].ravel() == pytest.approx([CONFIDENCE - 0.5] * 10, abs=1e-6)  # the text without its only token
    retained = erase_shares(probe, predicted, ranked, retain)
    assert retained[0, 0] == pytest.approx([0.0] * 5, abs=1e-6)  # retains good, or good, good and bad
    assert retained[1, 0] == pytest.approx([CONFIDENCE - sigmoid(-4)] * 5, abs=1e-6)
    # an unknown token has no polarity here, so that its effect is that of removal
    replaced = erase_shares(probe, predicted, ranked, lambda text, positions: replace(text, positions, UNKNOWN_ID))
    assert replaced == pytest.approx(removed, abs=1e-6)


def test_decision_flips() -> None:
    assert [flip_grid(length).tolist() for length in (1, 2, 5, 9)] == [[], [1], [1, 2, 3, 4], [1, 2, 3, 5, 8]]
    probe = additive()
    predicted = predict(probe, [GOOD, NEUTRAL, GOOD, BAD, GOOD], [NEUTRAL, BAD, NEUTRAL, NEUTRAL])
    ranked = {
        "early": [np.array([0, 2, 4, 3, 1]), np.array([0, 2, 3, 1])],
        "late": [np.array([3, 1, 0, 2, 4]), np.array([1, 0, 2, 3])],
    }
    # without two of three good words the sum is 0, and argmax returns the first class, bad
    assert decision_flips(probe, predicted, ranked).tolist() == [[2 / 5, 1.0], [1.0, 1.0]]


def test_polarity_violations() -> None:
    leave_one_out = [np.arange(-10.0, 20.0), np.array([-1.0, 2.0])]
    ranked = {"a": [np.array([0, 29, 1, *range(2, 29)]), np.array([1, 0])]}
    assert polarity_violations(ranked, leave_one_out).tolist() == [[2 / 3, 0.0]]


def test_soft_erasure_with_probabilities_of_zero_and_one() -> None:
    assert scale_scores(np.array([-2.0, 0.0, 6.0])).tolist() == [0.0, 0.25, 1.0]
    assert scale_scores(np.array([3.0, 3.0])).tolist() == [0.5, 0.5]
    probe = additive()
    predicted = predict(probe, [NEUTRAL, GOOD, NEUTRAL], [BAD, NEUTRAL])
    scores = {
        "a": [np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0])],
        "b": [np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0])],
    }
    comprehensiveness, sufficiency = soft_erasure(probe, predicted, scores, [[0], [1]])
    assert comprehensiveness == pytest.approx(np.array([[CONFIDENCE - 0.5] * 2, [0.0] * 2]), abs=1e-6)
    assert sufficiency == pytest.approx(np.array([[0.0] * 2, [CONFIDENCE - 0.5] * 2]), abs=1e-6)


def test_kendall_uses_absolute_scores() -> None:
    attention = [np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.5, 0.5])]
    assert kendall(attention, [np.array([1.0, -2.0, 4.0, 3.0]), np.array([1.0, 2.0])]) == pytest.approx(
        [2 / 3, np.nan], nan_ok=True
    )


def test_replaced_weights() -> None:
    probe = faithful()
    predicted = predict(probe, [NEUTRAL, GOOD, NEUTRAL, NEUTRAL], [BAD])
    permuted, uniform = replaced_weights(probe, predicted, [np.random.default_rng(i) for i in range(2)])
    # three of four permutations give the marked word no weight
    assert permuted == pytest.approx([CONFIDENCE - 0.5, 0.0], abs=1e-6)
    assert uniform == pytest.approx([CONFIDENCE - sigmoid(1), 0.0], abs=1e-6)


def test_jensen_shannon() -> None:
    first, second = torch.tensor([[[[1.0, 0.0]]], [[[0.5, 0.5]]]]), torch.tensor([[[[0.0, 1.0]]], [[[0.5, 0.5]]]])
    assert jensen_shannon(first, second).tolist() == pytest.approx([np.log(2), 0.0])


def test_adversarial_weights() -> None:
    text, rngs = [NEUTRAL, GOOD, LURE, NEUTRAL, NEUTRAL], [np.random.default_rng(0)]
    probe = misleading()
    (divergence,) = adversarial_weights(probe, predict(probe, text), rngs)  # no weights change the prediction
    assert 0.6 < divergence <= np.log(2) + 1e-6
    # σ(4 w) ≥ CONFIDENCE − 0.01 requires a weight w ≥ 0.88 of the marked word: the divergence is at most 0.043
    probe = faithful()
    (divergence,) = adversarial_weights(probe, predict(probe, text), rngs)
    assert 0.01 < divergence < 0.05
    probe = additive()
    assert np.isnan(adversarial_weights(probe, predict(probe, text), rngs)).all()
