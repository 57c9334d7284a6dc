"""Each word left out of test texts, against predictions of the shorter texts; and a run without texts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from heedful import load
from heedful.runs.removal import read_removals
from tests.helpers import read_csv

OF_TWO = ("callbacks=default", "callbacks.progress=null", "callbacks.removal.texts=2", "trainer.max_epochs=1")


def test_removal_is_what_the_prediction_loses_without_a_word(finished: tuple[Path, dict[str, Any]]) -> None:
    run, _ = finished
    model, rows = load(run), read_csv(run / "predictions" / "test.csv")
    removals = read_removals(run)
    wrong = [number for number, row in enumerate(rows) if row["label"] != row["predicted"]]
    assert {each.row for each in removals} == set(range(len(rows)))
    assert {each.row for each in removals[: len(wrong)]} == set(wrong)
    for found in removals[:3]:
        words = list(found.words)
        texts = [" ".join(words), *(" ".join(words[:i] + words[i + 1 :]) for i in range(len(words)))]
        probabilities = model.predict_proba(texts)
        likeliest = probabilities[:, probabilities[0].argmax()]
        log_odds = np.log(likeliest / (1 - likeliest))
        np.testing.assert_allclose(found.removal, log_odds[0] - log_odds[1:], atol=2e-3)


def test_a_run_may_keep_no_text_of_the_data(finished: tuple[Path, dict[str, Any]], store: Callable[..., Path]) -> None:
    with_texts, _ = finished
    run = store("extras.keep_texts=false", short=False)
    texts = [row["text"] for row in read_csv(with_texts / "predictions" / "test.csv")]
    assert len(texts[0].split()) > 3 and {row["text"] for row in read_csv(run / "predictions" / "test.csv")} == {""}
    assert json.loads((run / "attention.json").read_text()) == [] and not (run / "removal.json").exists()
    for file in run.rglob("*"):
        if file.suffix in (".json", ".csv", ".html", ".log", ".yaml", ".md"):
            assert not any(text in file.read_text(encoding="utf-8") for text in texts), file


def test_the_number_of_texts_may_be_limited(store: Callable[..., Path]) -> None:
    assert len(read_removals(store(*OF_TWO, short=False))) == 2
