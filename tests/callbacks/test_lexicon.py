"""The fraction of the weight on words of a lexicon, compared with chance."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from src.callbacks import lexicon
from src.callbacks.lexicon import LexiconShare, compare_with_chance, read_lexicon
from src.errors import UserError
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


def write(folder: Path, text: str) -> str:
    path = folder / "words.txt"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_words_and_strengths_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, "; a comment\nGood\t1.9\t0.9\t[2, 1]\n\nbad,-2.5\nplain\n,-:\t-1.5\n#yay\t3\n")
    assert read_lexicon(path) == {"good": 1.9, "bad": -2.5, "plain": 1.0, ",-:": -1.5, "#yay": 3.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("good\t1\nbad\tvery\n", r"words\.txt, line 2: 'bad\\tvery' is not a word with a finite strength"),
        ("good\tnan\n", "line 1: 'good\\\\tnan' is not a word"),
        ("good\t1\n\t1.5\n", "line 2: '1.5' is not a word"),
        ("# nothing\n\n", r"words\.txt: has no words"),
    ],
)
def test_mistakes_are_reported(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_lexicon(write(tmp_path, text))


def test_a_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_bytes(b"good\xff")
    with pytest.raises(UserError, match=r"words\.txt: line 1 is not UTF-8"):
        read_lexicon(str(tmp_path / "words.txt"))
