"""Guides on texts whose class is the polarity of one of many polar words, which only the weights tell apart."""

import numpy as np
import pytest
import torch

from src.faithfulness.guides import Guide, guide_results
from src.faithfulness.probe import Training
from src.faithfulness.trained import Sample
from tests.faithfulness.models import BAD, GOOD, LURE, additive, honest, marked_texts


def balanced(count: int, seed: int) -> Sample:
    """Texts of five good and five bad words with a lure in front of one of them, whose polarity is the label."""
    rng = np.random.default_rng(seed)
    texts, labels = [], rng.integers(0, 2, count)
    for label in labels:
        words = rng.permutation([GOOD, BAD] * 5)
        position = rng.choice(np.flatnonzero(words == (GOOD if label else BAD)))
        texts.append(np.insert(words, position, LURE))
    return Sample(np.arange(count), labels, texts, 0)


def after_lure(texts: list[np.ndarray]) -> list[np.ndarray]:
    """The whole weight on the word after the lure."""
    return [np.roll(text == LURE, 1).astype(float) for text in texts]


def test_weights_on_the_right_words_guide_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    probe, trained = additive(), []
    monkeypatch.setattr(probe, "attention", after_lure)
    results = guide_results(probe, balanced(311, 1), balanced(211, 2), Training(20, 0, trained.append))
    means = {name: float(correct.mean()) for name, correct in results.items()}
    assert means["guide_attention"] == 1
    assert abs(means["guide_uniform"] - 0.5) < 0.1  # all texts have the same words
    assert abs(means["guide_learned"] - 0.5) < 0.1
    assert sum(trained) == 3 * 20 * 311


def test_guides_learn_without_context() -> None:
    texts = marked_texts(307)
    labels = np.array([int((text == GOOD).any()) for text in texts])
    sample = Sample(np.arange(307), labels, texts, 0)
    results = guide_results(honest(), sample, sample, Training(20, 0, lambda number: None))
    assert {name: float(correct.mean()) for name, correct in results.items()} == dict.fromkeys(results, 1.0)


def test_a_guide_reads_the_sum_of_weighted_states() -> None:
    torch.manual_seed(3)
    guide = Guide(5, 2)
    embeddings, mask = torch.randn(1, 3, 5), torch.tensor([[True, True, False]])
    states = torch.tanh(guide.states(embeddings))[0]
    fixed = guide(embeddings, mask, torch.tensor([[0.3, 0.7, 0.0]]))
    assert torch.allclose(fixed[0], guide.head(0.3 * states[0] + 0.7 * states[1]), atol=1e-6)
    own = torch.softmax(guide.score(states[:2]).squeeze(1), 0)
    learned = guide(embeddings, mask, None)
    assert torch.allclose(learned[0], guide.head(own[0] * states[0] + own[1] * states[1]), atol=1e-6)
