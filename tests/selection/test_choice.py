"""The choice of a model: paired differences, what is shown, and what is dropped."""

import math

import numpy as np
import pytest

from heedful.selection.choice import FOLD_VARIANCE, Gain, choose, corrected_score, find_beaten, is_decided

CHEAP, DEAR = True, False
EQUAL = "no cheaper and no better than"


def hits(texts: int, *groups: tuple[int, str]) -> np.ndarray:
    """Return the hits of models on groups of texts: (7, "101") are 7 texts that the first and third get right."""
    columns = [[int(digit) for digit in right] for count, right in groups for _ in range(count)]
    assert len(columns) == texts
    return np.array(columns, float).T


def test_the_interval_of_a_difference_is_paired_and_widened_for_folds() -> None:
    differences = np.array([1.0] * 3 + [0.0] * 7 + [-1.0])  # mean 2/11
    gain = Gain.of(differences)
    variance = (3 * (9 / 11) ** 2 + 7 * (2 / 11) ** 2 + (13 / 11) ** 2) / 10
    assert gain.value == pytest.approx(2 / 11)
    assert gain.error == pytest.approx(math.sqrt(1.5 * variance / 11)) and FOLD_VARIANCE == 1.5
    assert (gain.low, gain.high) == pytest.approx(
        (2 / 11 - 1.95996 * gain.error, 2 / 11 + 1.95996 * gain.error), abs=1e-5
    )
    assert Gain.of(differences, tests=5).high == pytest.approx(2 / 11 + 2.57583 * gain.error, abs=1e-5)  # 0.05 / 5


CHOICES = {
    "dear and 1.2 errors ahead": ([(70, "11"), (2, "01"), (31, "00")], [CHEAP, DEAR], ("cheapest", 0, 1)),
    "cheap and 1.2 errors ahead": ([(70, "11"), (2, "01"), (31, "00")], [CHEAP, CHEAP], ("cheapest", 0, 1)),
    "cheap and 1.4 errors ahead": ([(70, "11"), (3, "01"), (30, "00")], [CHEAP, CHEAP], ("probably", 1, 1)),
    "0.8 errors ahead": ([(70, "11"), (1, "01"), (32, "00")], [CHEAP, CHEAP], ("cheapest", 0, 1)),
    "13 wins of 13": ([(70, "11"), (13, "01"), (20, "00")], [CHEAP, DEAR], ("clearly", 1, 1)),
    "13 losses": ([(70, "11"), (13, "10"), (20, "00")], [CHEAP, CHEAP], ("cheapest", 0, 0)),
    "as good, cheaper": ([(70, "111"), (13, "011"), (1, "001"), (19, "000")], [CHEAP, DEAR, DEAR], ("clearly", 1, 2)),
    "still better": ([(70, "111"), (13, "011"), (11, "001"), (9, "000")], [CHEAP, DEAR, DEAR], ("clearly", 2, 2)),
    "a single model": ([(103, "1")], [CHEAP], ("cheapest", 0, 0)),
}


@pytest.mark.parametrize(("groups", "negligible", "expected"), CHOICES.values(), ids=CHOICES)
def test_the_choice(groups: list[tuple[int, str]], negligible: list[bool], expected: tuple[str, int, int]) -> None:
    choice = choose(hits(103, *groups), negligible)
    assert (choice.reason, choice.chosen, choice.best) == expected


def test_several_candidates_need_a_larger_difference() -> None:
    one, texts = "01", 103
    assert choose(hits(texts, (90, "11"), (7, one), (6, "00")), [CHEAP, DEAR]).reason == "clearly"
    others = [(90, "1" * 12), (7, one + "0" * 10), (6, "0" * 12)]
    assert choose(hits(texts, *others), [CHEAP] + 11 * [DEAR]).reason == "cheapest"


def test_the_corrected_score_has_no_luck_of_the_choice() -> None:
    rng = np.random.default_rng(0)
    equal = (rng.random((19, 211)) < 0.7).astype(float)
    score, low, high = corrected_score(equal, [CHEAP] * 19)
    assert low < score < high
    assert score < equal.mean(1).max() - 0.02 and abs(score - 0.7) < 0.03


def test_beaten_models_are_dropped_more_reluctantly_at_first() -> None:
    terms = hits(101, (60, "111"), (8, "010"), (33, "000"))  # 8 losses: 2.4 standard errors
    worse, cheap = {2: ("worse than", 1)}, [0, 2, 1]
    assert find_beaten(terms, [0, 1, 2], 2, cheap, of=5) == {}
    assert find_beaten(terms, [0, 1, 2], 4, cheap, of=5) == worse  # the first model stays
    assert find_beaten(terms, [0, 2], 4, cheap, of=5) == {2: (EQUAL, 0)}  # it is right for the same texts


def test_models_that_would_hardly_be_named_in_the_end_are_dropped() -> None:
    # z = 0 after t = 3/5 of the folds: the final z has the variance 2/3, and a model as dear is named above 1.96
    equal = hits(101, (60, "111"), (5, "010"), (5, "001"), (31, "000"))
    assert find_beaten(equal, [0, 1, 2], 3, [0, 20, 14], of=5) == {2: (EQUAL, 1)}  # P = 0.8 %
    assert find_beaten(equal, [0, 1, 2], 2, [0, 20, 14], of=5) == {}  # 5.4 %
    assert find_beaten(equal, [0, 1, 2], 3, [0, 20, 13], of=5) == {}  # a cheaper one is named above -1.96


def test_a_race_ends_early_if_its_only_other_model_is_far_ahead() -> None:
    ahead = hits(101, (60, "11"), (9, "01"), (32, "00"))  # 9 wins: 2.56 standard errors
    assert [is_decided(ahead, folds) for folds in range(1, 5)] == [False, False, True, True]
    assert not is_decided(ahead[::-1], 4)
    assert not is_decided(ahead[[0, 1, 1]], 4) and not is_decided(ahead[:1], 4)
