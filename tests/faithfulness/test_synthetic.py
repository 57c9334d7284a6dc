"""A task with known results: faithful rankings reach the upper limit, and a misleading attention scores low."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from heedful.faithfulness.measurement import measure_texts
from heedful.models.probe import Probe
from heedful.runs.faithfulness_record import normalize
from tests.faithfulness.models import CONFIDENCE, additive, faithful, marked_texts, misleading

COUNT = 47
NEAR = 0.1  # about two standard errors of a mean over the texts
CHANCE = (0.05 + 0.05 + 0.1 + 0.2 + 0.5) / 5  # of 20 tokens, 1, 1, 2, 4 and 10 are erased
AFTER_LURE = (0 + 0 + 1 / 19 + 3 / 19 + 9 / 19) / 5  # the lure is erased first, then the other tokens in random order


@cache
def measure_model(build: Callable[[], Probe]) -> tuple[dict[str, np.ndarray], list[str]]:
    """The arrays of a model on the task, and the names of its rankings."""
    rngs = [np.random.default_rng([5, i]) for i in range(COUNT)]
    arrays, scores = measure_texts(build(), marked_texts(COUNT), rngs)
    return arrays, list(scores)


def normalized_means(build: Callable[[], Probe], name: str) -> dict[str, float]:
    """The mean of a normalized measure for each ranking."""
    arrays, rankings = measure_model(build)
    values = arrays[f"{name}_removal"].mean(2)  # n×R
    means = normalize(values, arrays[f"{name}_low"][:, None], arrays[f"{name}_high"][:, None]).mean(0)
    return dict(zip(rankings, means.tolist(), strict=True))


@pytest.mark.parametrize(
    ("build", "measure", "limit", "chance"),
    [
        *((build, "comprehensiveness", 1, CHANCE) for build in (additive, misleading)),
        (additive, "sufficiency", 0, 1 - CHANCE),
    ],
)
def test_faithful_rankings_reach_the_limit_and_random_is_at_chance(build, measure, limit, chance) -> None:
    means = normalized_means(build, measure)
    arrays, _ = measure_model(build)
    assert np.allclose(arrays[f"{measure}_low"], 0, atol=1e-6)
    assert np.allclose(arrays[f"{measure}_high"], CONFIDENCE - 0.5, atol=1e-6)
    for ranking in ("integrated gradients", "leave-one-out", "gradient × input"):
        assert means[ranking] == pytest.approx(limit, abs=1e-5)
    assert abs(means["random"] - chance) < NEAR
    assert abs(means["uniform"] - chance) < NEAR
    assert np.abs(arrays["integral_error"]).max() < 0.005


def test_a_misleading_attention_scores_low() -> None:
    means = normalized_means(misleading, "comprehensiveness")
    arrays, _ = measure_model(misleading)
    assert abs(means["attention"] - AFTER_LURE) < NEAR
    assert abs(means["attention × gradient"] - AFTER_LURE) < NEAR
    assert np.allclose(arrays["comprehensiveness_removal"][:, 0, 0], 0, atol=1e-6)  # the most attended word


def test_an_attention_to_the_marked_word_is_faithful() -> None:
    means = normalized_means(faithful, "comprehensiveness")
    assert means["attention"] == pytest.approx(1, abs=1e-5)
    assert means["attention × gradient"] == pytest.approx(1, abs=1e-5)


def test_attention_times_gradient_requires_an_attention() -> None:
    rngs = [np.random.default_rng(seed) for seed in range(2)]
    _, scores = measure_texts(additive(), marked_texts(2), rngs)
    assert "attention × gradient" not in scores
    assert np.allclose(scores["attention"][0], 0.05)
