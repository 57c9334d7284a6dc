"""Temperature scaling, against a temperature in closed form and an independent optimizer."""

import math

import numpy as np
import pytest
import torch

from heedful.terms.temperature import fit_temperature, rescale, uncalibrated
from tests.helpers import classified


def test_the_temperature_of_equal_confidences_makes_them_the_share_of_hits() -> None:
    """9 of 10 texts of confidence 0.99 are right: log(0.99 / 0.01) / T = log(0.9 / 0.1)."""
    probabilities = np.tile([[0.99, 0.01]], (10, 1))
    targets = np.array([0] * 9 + [1])
    temperature = fit_temperature(probabilities, targets)
    assert temperature == pytest.approx(math.log(99) / math.log(9))
    assert rescale(probabilities, temperature)[:, 0] == pytest.approx([0.9] * 10)


def test_the_temperature_is_that_of_an_independent_optimizer() -> None:
    rng = np.random.default_rng(5)
    logits = torch.from_numpy(rng.normal(0, 3, (211, 7)))
    targets = torch.from_numpy(np.where(rng.random(211) < 0.4, logits.argmax(1), rng.integers(0, 7, 211)))
    beta = torch.ones((), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([beta], max_iter=100, tolerance_grad=1e-12, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(beta * logits, targets)
        loss.backward()
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    found = fit_temperature(logits.softmax(1).numpy(), targets.numpy())
    assert found == pytest.approx(1 / beta.item(), rel=1e-6)


def test_without_a_best_temperature_it_stays_1() -> None:
    assert fit_temperature(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1])) == 1
    assert fit_temperature(np.full((3, 2), 0.5), np.array([0, 1, 1])) == 1


def test_probabilities_before_the_temperature() -> None:
    predictions = classified(np.array([[0.9, 0.1]]), np.array([0]))
    assert uncalibrated(predictions) is None
    task = type(predictions.task)(predictions.task.classes, temperature=2.0)  # type: ignore[call-arg]
    before = uncalibrated(predictions._replace(task=task))
    assert before is not None and before.probabilities == pytest.approx(np.array([[81 / 82, 1 / 82]]))
