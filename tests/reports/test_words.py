import numpy as np
import pytest

from src.reports.words import clean_text, colour_limit, top_words


def test_heaviest_first_then_earliest_and_each_occurrence_counts() -> None:
    top = top_words(["good", "film", "good", "end"], np.array([0.2, 0.4, 0.2, 0.2]), 3)
    assert top == [(1, "film", 0.4), (0, "good", 0.2), (2, "good", 0.2)]


def test_weights_that_are_no_numbers_come_last() -> None:
    top = top_words(["a", "b", "c"], np.array([np.nan, 0.5, np.inf]))
    assert top == [(1, "b", 0.5), (0, "a", 0.0), (2, "c", 0.0)]


def test_no_words_have_no_top() -> None:
    assert top_words([], np.array([])) == []


def test_each_word_needs_a_weight() -> None:
    with pytest.raises(ValueError, match="one weight a word"):
        top_words(["a", "b"], np.array([1.0]))


@pytest.mark.parametrize(
    ("weights", "strongest"),
    [([0.7, 0.1, 0.1, 0.1], 0.75), ([0.91] + [0.01] * 9, 0.91), ([0.1] * 10, 0.3), ([1.0], 1.0), ([], 1.0)],
)
def test_even_weights_stay_pale(weights: list[float], strongest: float) -> None:
    assert colour_limit(np.array(weights)) == pytest.approx(strongest)


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("film", "film"),
        ("two\nlines\t", "twolines"),
        ("", "␣"),
        (" ", "␣"),
        ("\ud800x\x00", "x"),
        ("日本", "日本"),
        ("a" * 40, "a" * 27 + "…"),
    ],
)
def test_plain_words(word: str, shown: str) -> None:
    assert clean_text(word) == shown
