"""Examples with their weights, and statistics of the weights of many texts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heedful.training.callbacks.attention import BINS, by_position
from tests.helpers import saved_predictions, train

TEXT = "an excellent product, truly"


def test_the_weight_of_a_word_is_distributed_over_its_bins() -> None:
    weights = by_position(np.array([0.2, 0.5, 0.3]))  # each word covers 16 2/3 of the 50 bins
    assert weights.shape == (BINS,)
    assert weights.sum() == pytest.approx(1)
    assert weights[:16] == pytest.approx(0.2 * 3 / 50)
    assert weights[16] == pytest.approx((0.2 * 2 / 3 + 0.5 / 3) * 3 / 50)
    assert weights[17:33] == pytest.approx(0.5 * 3 / 50)
    assert weights[34:] == pytest.approx(0.3 * 3 / 50)


@pytest.mark.parametrize("length", [1, 7, 50, 113])
def test_uniform_weights_are_uniform_at_any_length(length: int) -> None:
    assert by_position(np.full(length, 1 / length)) == pytest.approx(1 / BINS)


def saved_examples(run: Path, with_errors: bool = False) -> list[dict[str, Any]]:
    examples = json.loads((run / "attention.json").read_text())
    return [example for example in examples if bool(example["kind"]) == with_errors]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attention") / "run"
    texts = f"callbacks.attention.texts=['{TEXT}']"
    options = ["callbacks.attention.examples=2", "callbacks.attention.shared=0"]
    train(folder, "callbacks=attention", texts, *options, "model/attention=multi_head", draws=True)
    return folder


def test_texts_of_the_option_follow_the_examples(folder: Path) -> None:
    *examples, text = saved_examples(folder)
    assert {example["split"] for example in examples} == {"test"}
    assert (text["split"], text["index"], text["label"]) == ("text", 0, None)
    assert text["words"] == ["an", "excellent", "product", ",", "truly"]
    assert sum(text["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert sum(text["weights"]) == pytest.approx(1, abs=1e-4)
    assert "truly" in (folder / "page.html").read_text("utf-8")


def test_examples_are_a_correct_and_a_wrong_prediction_of_the_test_split(folder: Path) -> None:
    *examples, _ = saved_examples(folder)
    is_correct = [example["predicted"] == example["label"] for example in examples]
    assert is_correct in ([True, False], [True], [False])
    _, probabilities, labels, task, index, *_ = saved_predictions(folder)
    names = list(task.classes)
    for example in examples:
        row = index.tolist().index(example["index"])
        expected = dict(zip(names, probabilities[row].tolist(), strict=True))
        assert example["probabilities"] == pytest.approx(expected, abs=1e-5)
        assert example["label"] == names[labels[row]]


def test_shared_texts_are_the_same_in_all_runs(finished: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    train(tmp_path / "run", "callbacks=attention", "seed=1", "trainer.max_epochs=1")
    by_run = [[example["index"] for example in saved_examples(run)] for run in (finished[0], tmp_path / "run")]
    assert by_run[0][:4] == by_run[1][:4]
    for indices in by_run:
        assert 4 <= len(indices) == len(set(indices)) <= 10


def test_statistics_cover_all_texts_of_a_small_split(folder: Path) -> None:
    with np.load(folder / "attention_stats.npz") as arrays:
        assert len(arrays["length"]) == len(arrays["entropy"]) == 8
        assert arrays["position_mean"].sum() == pytest.approx(1)
        assert (arrays["entropy"] <= np.log(arrays["length"]) + 1e-6).all()
        assert arrays["effective"] == pytest.approx(np.exp(arrays["entropy"]))


def test_mistakes_and_uncertain_predictions_are_written_with_their_words(finished: tuple[Path, dict[str, Any]]) -> None:
    run, _ = finished
    _, probabilities, labels, task, index, *_ = saved_predictions(run)
    names = list(task.classes)
    examples = saved_examples(run, with_errors=True)
    predicted, highest = probabilities.argmax(1), probabilities.max(1)
    wrong = np.flatnonzero(predicted != labels)
    mistakes = [each["index"] for each in examples if each["kind"] == "mistake"]
    assert mistakes == index[wrong[np.argsort(-highest[wrong], kind="stable")]][:10].tolist()
    uncertain = [each["index"] for each in examples if each["kind"] == "uncertain"]
    assert uncertain == index[np.argsort(highest, kind="stable")][:10].tolist()
    for each in examples:
        i = index.tolist().index(each["index"])
        assert (each["label"], each["predicted"]) == (names[labels[i]], names[predicted[i]])
        assert each["probabilities"][each["predicted"]] == pytest.approx(highest[i], abs=1e-4)
        assert sum(each["weights"]) == pytest.approx(1, abs=0.01)
    page = (run / "page.html").read_text()
    assert ('data-preset="wrong"' in page) == bool(mistakes)
    assert 'data-preset="unsure"' in page
