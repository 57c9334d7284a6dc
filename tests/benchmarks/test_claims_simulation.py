"""False positives among claims, on fewer simulated sweeps than in the benchmark."""

import numpy as np
import pytest

from benchmarks.claims_simulation import SETUPS, rates
from src.comparison import statistics

SWEEPS = 60
BY_NAME = {setup.name: setup for setup in SETUPS}
SHARED = "4 × 4 seed noise, shared by variants"


@pytest.mark.parametrize("name", ["2 × 2", "4 × 4 text noise", "4 × 4 seed noise", SHARED])
def test_false_positives_of_claims_stay_at_their_level(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The level is 5 %, plus three standard errors of so few sweeps; one attention has two names."""
    monkeypatch.setattr(statistics, "RESAMPLES", 200)
    before, after = rates(BY_NAME[name], SWEEPS, 101, 5, np.random.default_rng(1))
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / SWEEPS)
    assert after.value < limit
    assert name != SHARED or before.value > limit
