"""Guides on texts in which only the weights select the word that determines the class."""

import numpy as np
import pytest

from heedful.faithfulness.trained import SampledTexts
from studies.faithfulness.guides import guide_results
from tests.faithfulness.models import BAD, GOOD, LURE, additive, faithful, marked_texts


def balanced_sample(count: int, seed: int) -> SampledTexts:
    """Texts of five good and five bad words with a lure in front of one of them, whose polarity is the label."""
    rng = np.random.default_rng(seed)
    texts, labels = [], rng.integers(0, 2, count)
    for label in labels:
        words = rng.permutation([GOOD, BAD] * 5)
        position = rng.choice(np.flatnonzero(words == (GOOD if label else BAD)))
        texts.append(np.insert(words, position, LURE))
    return SampledTexts(np.arange(count), labels, texts, 0)


def weights_after_lure(texts: list[np.ndarray]) -> list[np.ndarray]:
    """Weights of 1 for the word after the lure and 0 for the other words."""
    return [np.roll(text == LURE, 1).astype(float) for text in texts]


def test_a_guide_with_weights_on_the_relevant_words_is_correct(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = additive()
    monkeypatch.setattr(probe, "attention", weights_after_lure)
    results = guide_results(probe, balanced_sample(131, 1), balanced_sample(83, 2), epochs=20, seed=0)
    means = {name: float(correct.mean()) for name, correct in results.items()}
    assert means["guide_attention"] == 1
    assert abs(means["guide_uniform"] - 0.5) < 0.15  # all texts have the same words
    assert abs(means["guide_learned"] - 0.5) < 0.15


def test_guides_are_correct_if_the_class_does_not_depend_on_context() -> None:
    texts = marked_texts(211)
    labels = np.array([int((text == GOOD).any()) for text in texts])
    sample = SampledTexts(np.arange(211), labels, texts, 0)
    results = guide_results(faithful(), sample, sample, epochs=20, seed=0)
    assert {name: float(correct.mean()) for name, correct in results.items()} == dict.fromkeys(results, 1.0)
