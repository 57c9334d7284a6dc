"""`train` in Python does what the command does."""

import logging
import os
import random
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig

from heedful import load, train
from heedful.base.errors import UserError
from tests.helpers import ROOT, interrupted, run, saved_predictions

SMALL = ("model.encoder.hidden_dim=6", "trainer.max_epochs=2", "logger=none", "callbacks=checkpoints")
COLUMNS = ("data.text=cleaned_review", "data.label=sentiments", "data.batch_size=5")


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.training.run.write_run_report", lambda *_: [])  # drawing takes most of the time
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.read_csv(next((ROOT / "src").rglob("small.csv")))


def state() -> Any:
    """The state of the process that a training may change, except its memory."""
    levels = [logging.getLogger(name).level for name in (None, "pytorch_lightning", "lightning_fabric")]
    handlers = [signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    numbers = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    hydra = HydraConfig.instance().cfg, GlobalHydra.instance().hydra
    names = {name: value for name, value in os.environ.items() if name.startswith("PL_")}
    process = sys.argv, os.getcwd(), sys.excepthook, sys.exit, names
    return levels, handlers, numbers, hydra, torch.get_num_threads(), list(warnings.filters), process


def test_predictions_equal_those_of_the_command_and_a_quiet_training_prints_nothing(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as in a program that does not configure the log
    frame.to_csv("reviews.csv", index=False)
    run(tmp_path, "train", *SMALL, *COLUMNS, "data=csv", "data.path=reviews.csv", "hydra.run.dir=command")
    expected = saved_predictions(tmp_path / "command")
    before = state()
    first = train(*SMALL, *COLUMNS, data=frame, verbose=False)
    threaded, options = list[Any](), {"data": "reviews.csv", "verbose": False}
    thread = threading.Thread(target=lambda: threaded.append(train(*SMALL, *COLUMNS, **options)))
    thread.start()
    thread.join()
    assert state() == before and capfd.readouterr() == ("", "")
    assert threaded[0].folder != first.folder
    for trained in (first, *threaded):
        predictions = saved_predictions(trained.folder)
        np.testing.assert_array_equal(predictions.probabilities, expected.probabilities)
        np.testing.assert_array_equal(predictions.index, expected.index)
        assert trained.result.status == "completed"
    probabilities = load(tmp_path / "command").predict_proba(frame.cleaned_review)
    np.testing.assert_array_equal(first.model.predict_proba(frame.cleaned_review), probabilities)
    assert first.result.choices == load(tmp_path / "command").members[0].card.choices | {"data": "python"}


def test_the_result_shows_the_scores_and_the_call(frame: pd.DataFrame, monkeypatch, capfd) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    trained = train(*SMALL, *COLUMNS, data=frame)
    printed, errors = capfd.readouterr()
    assert "Some classes have fewer than 5 test texts" in errors
    assert "Scores, best epoch" in printed and str(trained.folder) in printed.replace("\n", "")
    assert trained.scores["test/acc"] == trained.result.metrics["test/acc"].value
    assert f"{trained.scores['test/acc']:.3f}" in repr(trained) and str(trained.folder) in repr(trained)
    assert repr(trained.model).endswith("best.ckpt: one class, negative, neutral, positive")
    assert trained.result.command == f"train({', '.join(map(repr, (*SMALL, *COLUMNS)))}, data=…)"
    assert "optimizer.lr" not in trained.result.overrides and "data=python" in trained.result.overrides


def test_given_splits_are_used(frame: pd.DataFrame) -> None:
    test = frame[30:37].cleaned_review, frame[30:37].sentiments
    data: dict[str, Any] = {"train": frame[:23], "validation": frame[23:30], "test": test}
    trained = train(*SMALL, *COLUMNS, data=data, verbose=False)
    assert trained.result.data.sizes == {"train": 23, "val": 7, "test": 7}
    data = {"training": frame[:23], "eval": frame[23:30]}
    trained = train(*SMALL, *COLUMNS, "data.train_split=training", "data.test_split=eval", data=data, verbose=False)
    assert trained.result.data.sizes == {"train": 20, "val": 3, "test": 7}


def test_mistakes_are_reported_as_on_the_command_line(frame: pd.DataFrame, tmp_path: Path) -> None:
    message = r"2 mistakes(.|\n)*did you mean model/attention\?(.|\n)*must be a valid number"
    with pytest.raises(UserError, match=message):
        train("modle/attention=x", "optimizer.lr=fast", data=frame)
    with pytest.raises(UserError, match=r"data \(train\): no column 'text'"):
        train(*SMALL, data=frame)
    with pytest.raises(UserError, match=r"data\.path=reviews\.csv: there is no 'reviews\.csv'"):
        train(*SMALL, data="reviews.csv")
    with pytest.raises(UserError, match=r"'-m': is not an override .*; sweeps \(-m\) need the command"):
        train("-m", "seed=0,1")
    with pytest.raises(UserError, match=r"hydra\.mode=MULTIRUN: train\(\) trains one model"):
        train("hydra.mode=MULTIRUN")
    with pytest.raises(UserError, match=r"trainer\.devices=2: train\(\) uses one device; several need the command"):
        train("trainer.devices=2")
    with pytest.raises(UserError, match=r"data \(train\): has no rows"):
        train([*SMALL, *COLUMNS], data=frame[:0])  # a list
    assert not list(tmp_path.glob("outputs/**/*.yaml"))


def test_an_interrupted_training_resumes(frame: pd.DataFrame) -> None:
    whole = train(*SMALL, *COLUMNS, data=frame, verbose=False)
    with interrupted(8), pytest.raises(KeyboardInterrupt, match="stopped by SIGINT"):
        train(*SMALL, *COLUMNS, "hydra.run.dir=stopped", data=frame, verbose=False)
    resumed = train("ckpt_path=stopped", data=frame, verbose=False)
    assert resumed.folder == Path("stopped").absolute() and resumed.result.status == "completed"
    np.testing.assert_array_equal(
        saved_predictions(resumed.folder).probabilities, saved_predictions(whole.folder).probabilities
    )


def test_a_test_needs_test_texts(frame: pd.DataFrame) -> None:
    with pytest.raises(UserError, match=r"^data: has no test split; with data\.test_fraction=0, add test=false"):
        train(*SMALL, *COLUMNS, "data.test_fraction=0", data=frame)
    trained = train(*SMALL, *COLUMNS, "data.test_fraction=0", "test=false", data=frame, verbose=False)
    assert trained.result.data.sizes == {"train": 35, "val": 4} and trained.scores == {}
