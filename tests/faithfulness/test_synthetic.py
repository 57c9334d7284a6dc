"""A task with a known answer: faithful rankings reach the upper limit, and an attention that misleads is exposed."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from src.faithfulness.erasure import normalize
from src.faithfulness.names import MEASURES
from src.faithfulness.probe import Probe
from src.faithfulness.texts import measure_texts
from tests.faithfulness.models import SURE, additive, honest, marked_texts, misleading

COUNT = 211
CHANCE = (0.05 + 0.05 + 0.1 + 0.2 + 0.5) / 5  # of 20 tokens, 1, 1, 2, 4 and 10 are erased
AFTER_LURE = (0 + 0 + 1 / 19 + 3 / 19 + 9 / 19) / 5  # the lure first, then the others in random order


@cache
def measured(build: Callable[[], Probe]) -> tuple[dict[str, np.ndarray], list[str]]:
    """The arrays of a model on the task, and the names of its rankings."""
    names = [name for name in MEASURES if name != "soft"]
    arrays, scores = measure_texts(build(), marked_texts(COUNT), [[5, i] for i in range(COUNT)], names)
    return arrays, list(scores)


def normalized(build: Callable[[], Probe], name: str) -> dict[str, float]:
    """The mean of a normalized measure of each ranking."""
    arrays, rankings = measured(build)
    values = arrays[f"{name}_removal"].mean(2)  # n×R
    means = normalize(values, arrays[f"{name}_low"][:, None], arrays[f"{name}_high"][:, None]).mean(0)
    return dict(zip(rankings, means.tolist(), strict=True))


@pytest.mark.parametrize("build", [additive, misleading])
def test_faithful_rankings_reach_the_upper_limit_and_random_is_at_chance(build: Callable[[], Probe]) -> None:
    means = normalized(build, "comprehensiveness")
    arrays, _ = measured(build)
    assert np.allclose(arrays["comprehensiveness_low"], 0, atol=1e-6)
    assert np.allclose(arrays["comprehensiveness_high"], SURE - 0.5, atol=1e-6)
    for ranking in ("integrated gradients", "leave-one-out", "gradient × input"):
        assert means[ranking] == pytest.approx(1, abs=1e-5)
    assert abs(means["random"] - CHANCE) < 0.05
    assert abs(means["uniform"] - CHANCE) < 0.05
    assert np.abs(arrays["integral_error"]).max() < 0.005


def test_faithful_rankings_are_sufficient() -> None:
    means = normalized(additive, "sufficiency")
    arrays, _ = measured(additive)
    assert np.allclose(arrays["sufficiency_low"], 0, atol=1e-6)
    assert np.allclose(arrays["sufficiency_high"], SURE - 0.5, atol=1e-6)
    for ranking in ("integrated gradients", "leave-one-out", "gradient × input"):
        assert means[ranking] == pytest.approx(0, abs=1e-5)
    assert abs(means["random"] - (1 - CHANCE)) < 0.05


def test_an_attention_that_is_forced_to_look_elsewhere_is_exposed() -> None:
    means = normalized(misleading, "comprehensiveness")
    arrays, _ = measured(misleading)
    assert abs(means["attention"] - AFTER_LURE) < 0.05
    assert abs(means["attention × gradient"] - AFTER_LURE) < 0.05
    assert np.allclose(arrays["comprehensiveness_removal"][:, 0, 0], 0, atol=1e-6)  # of the most attended word
    assert np.allclose(arrays["permuted"], 0, atol=1e-6)  # the prediction does not depend on the weights
    assert np.allclose(arrays["uniform"], 0, atol=1e-6)


def test_an_attention_to_the_marked_word_is_faithful() -> None:
    means = normalized(honest, "comprehensiveness")
    arrays, _ = measured(honest)
    assert means["attention"] == pytest.approx(1, abs=1e-5)
    assert means["attention × gradient"] == pytest.approx(1, abs=1e-5)
    assert np.allclose(arrays["uniform"], SURE - 1 / (1 + np.exp(-0.2)), atol=1e-6)  # reads a twentieth of the word
    assert np.allclose(arrays["polarity"][:, 0], 0)


def test_attention_times_gradient_needs_an_attention() -> None:
    _, scores = measure_texts(additive(), marked_texts(2), [[0], [1]], [])
    assert "attention × gradient" not in scores
    assert np.allclose(scores["attention"][0], 0.05)
