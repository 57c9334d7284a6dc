"""False-positive rates of claims, on fewer simulated sweeps than in the benchmark."""

import numpy as np
import pytest

from benchmarks.claims_simulation import SETUPS, rates
from src.comparison import two_level_bootstrap

SWEEPS = 60
BY_NAME = {setup.name: setup for setup in SETUPS}
SHARED = "4 × 4 seed noise, shared by variants"


@pytest.mark.parametrize("name", ["2 × 2", "4 × 4 text noise", "4 × 4 seed noise", SHARED])
def test_false_positive_rates_of_claims_are_at_most_the_level(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The rate is at most 5 %, within three standard errors; one attention has two names."""
    monkeypatch.setattr(two_level_bootstrap, "RESAMPLES", 200)
    separate, joint = rates(BY_NAME[name], SWEEPS, 101, 5, np.random.default_rng(1))
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / SWEEPS)
    assert joint.value < limit
    assert name != SHARED or separate.value > limit
