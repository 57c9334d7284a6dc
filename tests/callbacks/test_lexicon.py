"""The fraction of the weight on words of a lexicon, compared with chance."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from src.callbacks import lexicon
from src.callbacks.lexicon import LexiconShare, compare_with_chance
from tests.helpers import train


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words.txt"
    path.write_text("good\t2\nbad\t-2\nnot\t-0.5\n")
    return path


def run_training(tmp_path: Path, words: Path, *overrides: str) -> dict[str, Any]:
    folder = tmp_path / "run"
    train(folder, "callbacks=lexicon", f"callbacks.lexicon.path='{words}'", *overrides, draws=True)
    return json.loads((folder / "lexicon.json").read_text())


def test_uniform_weights_are_exactly_at_chance(tmp_path: Path, words: Path) -> None:
    result = run_training(tmp_path, words, "model/attention=uniform")
    assert result["texts"] == 8
    assert 0 < result["chance"] < 1
    assert result["ratio"] == pytest.approx(1)
    assert result["texts_above_chance"] == 0


def test_the_words_with_the_largest_lift_are_listed_and_drawn(
    tmp_path: Path, words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexicon, "MIN_COUNT", 2)
    words_by_lift = run_training(tmp_path, words)["words"]
    assert (tmp_path / "run" / "pictures" / "attention_lexicon.png").exists()
    lifts = [word["lift"] for word in words_by_lift]
    assert lifts == sorted(lifts, reverse=True)
    assert all(word["count"] >= 2 for word in words_by_lift)
    strengths = {word["word"]: word["strength"] for word in words_by_lift}
    assert strengths["not"] == -0.5
    assert strengths["the"] is None


def test_words_below_the_threshold_are_omitted(words: Path) -> None:
    assert set(LexiconShare("folder", str(words), min_strength=1).lexicon) == {"good", "bad"}


def test_shares_equal_numbers_computed_by_hand() -> None:
    result = compare_with_chance(np.array([0.6, 0.2, 0.0]), np.array([0.2, 0.2, 0.0]))
    assert result["weight"] == pytest.approx(0.8 / 3)
    assert result["chance"] == pytest.approx(0.4 / 3)
    assert result["ratio"] == pytest.approx(2)
    assert result["texts_above_chance"] == pytest.approx(1 / 3)
    assert result["low"] < 2 < result["high"]


def test_the_interval_covers_the_true_ratio_at_its_level() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(100):
        chance = rng.uniform(0.05, 0.15, 200)
        result = compare_with_chance(chance * rng.gamma(4, 1.5 / 4, 200), chance)  # the true ratio is 1.5
        hits += result["low"] <= 1.5 <= result["high"]
    assert hits >= 87  # 95 are expected; fewer than 87 have a probability of 0.001


def test_the_ratio_is_zero_if_no_text_contains_a_word_of_the_lexicon() -> None:
    assert compare_with_chance(np.zeros(3), np.zeros(3))["ratio"] == 0
