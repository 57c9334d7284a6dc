"""Agreement between seeds is compared with numbers computed by hand and with all permutations."""

from itertools import combinations, permutations

import numpy as np
import pytest

from heedful.runs.faithfulness_record import FaithfulnessRecord, Options
from studies.faithfulness.seeds import ATTENTION, PREDICTIONS, agreement_between_seeds, pseudo_values


def record(probabilities: np.ndarray, weights: list[list[float]]) -> FaithfulnessRecord:
    lengths = [len(row) for row in weights]
    padded = np.zeros((len(weights), max(lengths)))
    for line, row in zip(padded, weights, strict=True):
        line[: len(row)] = row
    options = Options(checkpoint="", texts=len(weights), seed=0, measures=[])
    return FaithfulnessRecord(
        options, {"probabilities": probabilities, "weights": padded, "lengths": np.array(lengths)}
    )


def means(*records: FaithfulnessRecord) -> dict[str, float]:
    return {name: float(values.mean()) for name, values in agreement_between_seeds(records).items()}


def test_agreement_of_two_seeds() -> None:
    first = record(np.array([[0.9, 0.1], [0.3, 0.7]]), [[0.5, 0.3, 0.2], [1.0, 0.0]])
    second = record(np.array([[0.8, 0.2], [0.6, 0.4]]), [[0.2, 0.3, 0.5], [0.75, 0.25]])
    agreement = means(first, second)
    assert agreement["seeds_classes"] == 0.5
    assert agreement["seeds_predictions"] == pytest.approx(1 - (0.1 + 0.3) / 2)
    assert agreement["seeds_attention"] == pytest.approx(1 - (0.3 + 0.25) / 2)
    assert agreement["seeds_attention_top"] == 0.5  # the seeds have the same top token only in the second text
    # p of class 0 by seed: .9 and .3 against .8 and .6; the mean of the four distances .1, .3, .5 and .3
    assert agreement[PREDICTIONS] == pytest.approx(1 - 0.2 / 0.3)
    by_order = [[np.abs(np.subtract((0.5, 0.3, 0.2), order)).sum() / 2 for order in permutations((0.2, 0.3, 0.5))]]
    by_order += [[0.25, 0.75]]  # weights 1 and 0 against .75 and .25, and against .25 and .75
    assert agreement[ATTENTION] == pytest.approx(1 - 0.275 / np.mean([np.mean(values) for values in by_order]))


def test_equal_seeds_agree_fully_and_unrelated_seeds_at_chance() -> None:
    rng = np.random.default_rng(0)

    def draw() -> FaithfulnessRecord:
        return record(rng.dirichlet([0.5] * 3, 2003), rng.dirichlet([0.5] * 7, 2003).tolist())

    first = draw()
    same = means(first, first, first)
    assert same.pop("seeds_attention_divergence") == pytest.approx(0, abs=1e-12)
    assert same == pytest.approx(dict.fromkeys(same, 1.0))
    unrelated = means(first, draw())
    assert abs(unrelated[PREDICTIONS]) < 0.05
    assert abs(unrelated[ATTENTION]) < 0.05


def test_uniform_weights_have_no_agreement_above_chance() -> None:
    uniform = record(np.array([[0.9, 0.1], [0.3, 0.7]]), [[1 / 3] * 3, [0.5] * 2])
    agreement = means(uniform, uniform)
    assert ATTENTION not in agreement
    assert agreement["seeds_attention"] == 1


def test_agreement_requires_two_seeds_of_the_same_texts() -> None:
    first = record(np.array([[0.9, 0.1]]), [[0.5, 0.5]])
    assert agreement_between_seeds([first]) == {}
    assert agreement_between_seeds([first, record(np.array([[0.9, 0.1]]), [[0.5, 0.3, 0.2]])]) == {}


def test_pseudo_values_of_a_mean_over_pairs() -> None:
    by_pair = np.random.default_rng(5).normal(size=(10, 3))  # pairs of five seeds × texts
    pairs = list(combinations(range(5), 2))
    expected = [5 * by_pair.mean(0) - 4 * by_pair[[s not in pair for pair in pairs]].mean(0) for s in range(5)]
    assert pseudo_values(by_pair, 5) == pytest.approx(np.array(expected))
    assert pseudo_values(by_pair, 5).mean(0) == pytest.approx(by_pair.mean(0))
    assert pseudo_values(by_pair[:1], 2) == pytest.approx(by_pair[:1])
