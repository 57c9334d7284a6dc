"""A frozen encoder is computed once for each text; the stored states lead to the same model as computed ones."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from omegaconf import DictConfig

from heedful import datamodule, load
from heedful.base.errors import UserError
from heedful.models.encoder.pretrained import PretrainedEncoder
from heedful.runs.environment import Launch
from heedful.training.fit import train_classifier
from tests.helpers import assert_equal_weights, run_config, saved_predictions
from tests.models.encoder.test_pretrained import WORDS, config, save

CALLBACKS = ("progress", "attention", "gradient_norms", "baseline", "removal")
WEEKLY = pytest.mark.weekly


def prepare(folder: Path, name: str, *overrides: str) -> DictConfig:
    """Return the configuration of a training on the states of a small pretrained model."""
    model = save(folder / "model") if not (folder / "model").exists() else folder / "model"
    paths = (f"paths.output_dir='{folder / name}'", f"data.cache_dir='{folder / 'cache'}'", "data.max_length=19")
    off = (f"callbacks.{callback}=null" for callback in CALLBACKS)
    small = ("trainer.max_epochs=2", "data.batch_size=14", "logger=csv", "model.encoder.freeze=true")
    return config(model, *paths, *small, *off, *overrides)


def run(folder: Path, *overrides: str, name: str | None = None) -> np.ndarray:
    """Train, and return the probabilities of the test texts."""
    name = name or f"run{len(list(folder.iterdir()))}"
    run_config(prepare(folder, name, *overrides))
    return saved_predictions(folder / name).probabilities


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `computed`, and then the run `stored`, which leaves its states in the cache."""
    folder = tmp_path_factory.mktemp("frozen")
    run(folder, "callbacks.frozen_states=null", name="computed")
    assert not list((folder / "cache").glob("states-*"))
    run(folder, name="stored")
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of texts with a number, which is the label of half of them."""
    path, rng = tmp_path_factory.mktemp("data") / "pairs.csv", np.random.default_rng(0)
    texts = [[" ".join(rng.choice(WORDS[:7], size)) for size in rng.integers(1, 8, 60)] for _ in "ab"]
    labels = rng.choice(["x", "y"], 60)
    numbers = np.where(rng.random(60) < 0.5, labels == "x", 3)
    pd.DataFrame({"a": texts[0], "b": texts[1], "number": numbers, "label": labels}).to_csv(path, index=False)
    return path


def test_stored_states_lead_to_the_same_predictions(folder: Path) -> None:
    computed, stored = (saved_predictions(folder / name).probabilities for name in ("computed", "stored"))
    assert not np.array_equal(stored, computed)  # half precision
    np.testing.assert_allclose(stored, computed, atol=2e-3)


@pytest.mark.parametrize("precision", ["bf16-true", *(pytest.param(f"{n}-true", marks=WEEKLY) for n in (16, 64))])
def test_stored_states_of_pairs_with_columns_have_the_precision_of_the_model(precision, tmp_path, table) -> None:
    options = ["data=csv", f"data.path={table}", "data.text=[a,b]", "data.columns=[number]"]
    options += [f"trainer.precision={precision}", "optimizer.eps=1e-4"]
    computed = run(tmp_path, *options, "callbacks.frozen_states=null")
    np.testing.assert_allclose(run(tmp_path, *options), computed, atol=2e-3)


def test_without_a_test_split_the_trained_model_encodes_its_texts(tmp_path: Path) -> None:
    cfg = prepare(tmp_path, "run", "data.test_fraction=0", "test=false")
    _, module = train_classifier(cfg, Launch())
    assert list((tmp_path / "cache").glob("states-*"))
    data = datamodule(cfg)
    data.setup()
    texts = data.texts("train", range(7))
    expected = load(tmp_path / "run").predict_proba(texts)
    np.testing.assert_array_equal(module.ensemble().classify(texts)[0], expected)


def test_a_second_run_computes_no_states(folder: Path) -> None:
    with patch.object(PretrainedEncoder, "forward", side_effect=AssertionError):
        again = run(folder)
        with pytest.raises(AssertionError):
            run(folder, "data.max_length=5")
    assert np.array_equal(again, saved_predictions(folder / "stored").probabilities)


def test_a_run_with_a_pretrained_encoder_resumes(folder: Path) -> None:
    run(folder, "trainer.max_epochs=1", name="part")
    run(folder, f"ckpt_path='{folder / 'part' / 'checkpoints' / 'last.ckpt'}'", name="part")
    assert_equal_weights(folder / "stored", folder / "part")


@pytest.mark.parametrize("override", ["model.encoder.freeze=false", "model.embedding.dropout=0.5"])
def test_states_that_change_are_not_stored(tmp_path: Path, override: str) -> None:
    run(tmp_path, "trainer.max_epochs=1", override)
    assert not list((tmp_path / "cache").glob("states-*"))


def test_states_that_cannot_be_stored_are_computed_in_every_epoch(folder: Path, caplog) -> None:
    with patch("heedful.training.callbacks.frozen_states.load_or_build", side_effect=UserError("no space")):
        assert np.array_equal(run(folder), saved_predictions(folder / "computed").probabilities)
    assert "The frozen states are not stored, and are computed in every epoch: no space" in caplog.text


def test_states_that_are_too_large_are_not_stored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run(tmp_path, "trainer.max_epochs=1", "callbacks.frozen_states.max_gb=0")
    assert "frozen_states.max_gb=0" in caplog.text
    assert not list((tmp_path / "cache").glob("states-*"))
