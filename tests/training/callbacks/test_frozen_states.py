"""A frozen encoder is computed once for each text; the stored states lead to the same model as computed ones."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from heedful.base.errors import UserError
from heedful.models.encoder.pretrained import PretrainedEncoder
from tests.helpers import assert_equal_weights, run_config, saved_predictions
from tests.models.encoder.test_pretrained import config, save

CALLBACKS = ("progress", "attention", "gradient_norms", "baseline")


def run(folder: Path, *overrides: str, name: str | None = None) -> np.ndarray:
    """Train on the states of a small pretrained model, and return the probabilities of the test texts."""
    model = save(folder / "model") if not (folder / "model").exists() else folder / "model"
    name = name or f"run{len(list(folder.iterdir()))}"
    paths = (f"paths.output_dir='{folder / name}'", f"data.cache_dir='{folder / 'cache'}'", "data.max_length=19")
    off = (f"callbacks.{callback}=null" for callback in CALLBACKS)
    run_config(config(model, *paths, "trainer.max_epochs=2", "logger=csv", *off, *overrides))
    return saved_predictions(folder / name).probabilities


def test_stored_states_lead_to_the_same_predictions(tmp_path: Path) -> None:
    computed = run(tmp_path, "model.encoder.freeze=true", "callbacks.frozen_states=null")
    stored = run(tmp_path, "model.encoder.freeze=true")
    assert not np.array_equal(stored, computed)  # half precision
    np.testing.assert_allclose(stored, computed, atol=2e-3)


@pytest.mark.parametrize("precision", ["bf16-true", "16-true", "64-true"])
def test_stored_states_have_the_precision_of_the_model(tmp_path: Path, precision: str) -> None:
    options = ("model.encoder.freeze=true", f"trainer.precision={precision}", "optimizer.eps=1e-4")
    computed = run(tmp_path, *options, "callbacks.frozen_states=null")
    np.testing.assert_allclose(run(tmp_path, *options), computed, atol=2e-3)


def test_a_second_run_computes_no_states(tmp_path: Path) -> None:
    first = run(tmp_path, "model.encoder.freeze=true")
    with patch.object(PretrainedEncoder, "forward", side_effect=AssertionError):
        again = run(tmp_path, "model.encoder.freeze=true")
        with pytest.raises(AssertionError):
            run(tmp_path, "model.encoder.freeze=true", "data.max_length=5")
    assert np.array_equal(again, first)


def test_a_run_with_a_pretrained_encoder_resumes(tmp_path: Path) -> None:
    run(tmp_path, "model.encoder.freeze=true", name="whole")
    run(tmp_path, "model.encoder.freeze=true", "trainer.max_epochs=1", name="part")
    part = tmp_path / "part"
    run(tmp_path, "model.encoder.freeze=true", f"ckpt_path='{part / 'checkpoints' / 'last.ckpt'}'", name="part")
    assert_equal_weights(tmp_path / "whole", part)


@pytest.mark.parametrize("override", ["model.encoder.freeze=false", "model.embedding.dropout=0.5"])
def test_states_that_change_are_not_stored(tmp_path: Path, override: str) -> None:
    run(tmp_path, "model.encoder.freeze=true", override)
    assert not list((tmp_path / "cache").glob("states-*"))


def test_states_that_cannot_be_stored_are_computed_in_every_epoch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    computed = run(tmp_path, "model.encoder.freeze=true", "callbacks.frozen_states=null")
    with patch("heedful.training.callbacks.frozen_states.load_or_build", side_effect=UserError("no space")):
        assert np.array_equal(run(tmp_path, "model.encoder.freeze=true"), computed)
    assert "The frozen states are not stored, and are computed in every epoch: no space" in caplog.text


def test_states_that_are_too_large_are_not_stored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run(tmp_path, "model.encoder.freeze=true", "callbacks.frozen_states.max_gb=0")
    assert "frozen_states.max_gb=0" in caplog.text
    assert not list((tmp_path / "cache").glob("states-*"))
