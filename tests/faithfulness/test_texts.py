"""The number of forward passes that a measurement plans."""

import numpy as np
import pytest

from heedful.commands.faithfulness import MEASURES
from heedful.faithfulness.texts import measure_texts, most_passes
from tests.faithfulness.models import NEUTRAL, faithful, marked_texts


@pytest.mark.parametrize("names", [MEASURES, ["removal"], ["flip"], []])
def test_the_planned_passes_are_an_upper_bound_of_the_same_size(names: list[str]) -> None:
    probe, passes = faithful(), []
    probe.model.head.register_forward_pre_hook(lambda _, inputs: passes.append(len(inputs[0])))
    long = np.random.default_rng(7).integers(NEUTRAL, NEUTRAL + 19, 61)
    texts = [*marked_texts(3), long]
    rngs = [np.random.default_rng(i) for i in range(len(texts))]
    measure_texts(probe, texts, rngs, [name for name in names if name != "plausibility"])
    planned = most_passes(map(len, texts), names)
    assert sum(passes) <= planned <= 3 * sum(passes)
