"""Whole runs in this process: their files, exact resumption, and repeatable results."""

import json
import signal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from heedful.base.errors import UserError
from heedful.base.process import Interrupted
from heedful.runs.run_files import read_history
from heedful.training.plugins import CheckpointWriter
from tests.helpers import assert_equal_weights, interrupted, last_weights, read_csv, saved_predictions, train


def test_a_run_writes_all_files(finished: tuple[Path, dict[str, Any]]) -> None:
    folder, result = finished
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files >= {
        *("config.yaml", "result.json", "csv/metrics.csv", "checkpoints/best.ckpt", "checkpoints/last.ckpt"),
        *("predictions/val.npz", "predictions/test.npz", "gradients.csv", "attention.json"),
        *("attention_stats.npz", "pictures/curves.png", "pictures/confusion.png"),
    }
    assert result["status"] == "completed"
    assert result["error"] is None
    assert result["data"]["train"] + result["data"]["val"] + result["data"]["test"] == 39
    assert result["parameters"]["total"] == sum(result["parameters"]["by_part"].values())
    splits = result["data"]["splits"]
    assert {split: summary["texts"] for split, summary in splits.items()} == {"train": 28, "val": 3, "test": 8}
    assert splits["train"]["vector_share"] > 0.5  # counted after the vectors are read
    assert "Texts of each split" in (folder / "page.html").read_text()
    assert len(result["seconds"]["per_epoch"]) == 2
    assert torch.__version__.startswith(result["versions"]["torch"])  # a local build has a suffix, such as +cpu


def test_the_data_are_printed_once_before_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = train(tmp_path / "run", "callbacks=none", "data.max_length=3", "data.batch_size=null")
    assert result["data"]["batch_size"] == 16
    output = capsys.readouterr().out
    assert output.count("tokens cut by data.max_length") == 1
    assert output.index("texts are longer than 3 tokens; ") < output.index("test/acc")


def test_metrics_have_the_same_names_and_values_in_results_and_logs(finished: tuple[Path, dict[str, Any]]) -> None:
    folder, result = finished
    logged: dict[str, float] = {}
    for row in read_csv(folder / "csv" / "metrics.csv"):
        logged |= {key: float(value) for key, value in row.items() if value}
    for name in ("acc", "balanced_acc", "precision_macro", "f1_macro", "mcc", "auroc", "ece"):
        score = result["metrics"][f"test/{name}"]
        assert score["value"] == pytest.approx(logged[f"test/{name}"], abs=1e-5), name
        if name in ("acc", "mcc", "ece"):  # a class has too few texts for intervals of means over classes
            assert score["low"] - 1e-6 <= score["value"] <= score["high"] + 1e-6
        assert score["n"] == result["data"]["test"]
    predictions = saved_predictions(folder)
    accuracy = (predictions.probabilities.argmax(1) == predictions.labels).mean()
    assert result["metrics"]["test/acc"]["value"] == pytest.approx(accuracy)


def test_the_same_seed_gives_the_same_numbers(finished: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder, result = finished
    repeated = train(tmp_path / "run", "data.batch_size=4")
    assert repeated["metrics"] == result["metrics"]
    assert_equal_weights(tmp_path / "run", folder)
    other = train(tmp_path / "other", "seed=1", "test=false")
    weights = last_weights(folder)
    assert any(not torch.equal(value, weights[name]) for name, value in last_weights(tmp_path / "other").items())
    assert other["seed"] == 1
    assert other["best"]["value"] is not None  # a search without a test needs it


DROPOUTS = ("model.embedding.dropout=0.3", "model.head.dropout=0.3", "data.batch_size=5")
THREE_EPOCHS = (*DROPOUTS, "trainer.max_epochs=3", "test=false")  # six batches per epoch; only weights are compared
PLATEAU = ("scheduler=plateau", "scheduler.patience=0", "scheduler.threshold=1.0", "scheduler.min_lr=0.0")


def train_until(number: int, folder: Path, *options: str) -> int:
    """Train until SIGINT arrives in this batch, the first of which is 1, and return the number of batches."""
    with interrupted(number) as batches, pytest.raises(Interrupted, match="SIGINT"):
        train(folder, *options)
    return len(batches)


@pytest.mark.parametrize(
    ("more", "steps"),
    [
        (("scheduler=one_cycle", "+trainer.limit_train_batches=4"), (2, 4)),  # within the first epoch, and at its end
        ((*PLATEAU, "optimizer=sgd"), (5, 9)),  # before the last step of the first epoch, and within the second
        # at the end of an epoch, and within one
        (("trainer.max_epochs=null", "+trainer.max_steps=15", "optimizer=adagrad"), (6, 9)),
    ],
)
def test_resuming_is_exact(more: tuple[str, ...], steps: tuple[int, int], store, tmp_path: Path) -> None:
    """A run that is interrupted in these steps and resumed has the weights and curves of an uninterrupted run."""
    options, last, done, resume = [*THREE_EPOCHS, *more], tmp_path / "half" / "checkpoints" / "last.ckpt", 0, ()
    for step in steps:
        assert train_until(step - done, tmp_path / "half", *options, *resume) == step - done
        result = json.loads((tmp_path / "half" / "result.json").read_text())
        assert (result["status"], result["error"]) == ("interrupted", "stopped by SIGINT")
        assert torch.load(last, weights_only=True)["global_step"] == step
        done, resume = step, (f"ckpt_path='{last}'",)
    train(tmp_path / "half", *options, *resume)
    whole = store(*THREE_EPOCHS, *more, short=False)
    assert_equal_weights(whole, tmp_path / "half")
    history = read_history(whole)
    assert history is not None and list(history["train/loss"]) == [0, 1, 2]
    assert history == read_history(tmp_path / "half")


def test_resuming_with_accumulated_gradients_is_exact(tmp_path: Path) -> None:
    """A run that is interrupted within a group of batches stops at the end of the group."""
    options = [*THREE_EPOCHS, "trainer.accumulate_grad_batches=4"]  # groups of four and two batches
    train(tmp_path / "whole", *options)
    # the eighth is the second batch of the second epoch
    assert train_until(8, tmp_path / "half", *options) == 10
    train(tmp_path / "half", *options, f"ckpt_path='{tmp_path / 'half' / 'checkpoints' / 'last.ckpt'}'")
    assert_equal_weights(tmp_path / "whole", tmp_path / "half")


def test_an_epoch_that_a_validation_ends_has_training_metrics(tmp_path: Path) -> None:
    """Its last validation, after four of six batches, stops the training."""
    stop = ("+callbacks.early_stopping.min_delta=10", "callbacks.early_stopping.patience=1", "trainer.min_epochs=null")
    train(tmp_path / "run", *THREE_EPOCHS, "+trainer.val_check_interval=2", *stop)
    rows = read_csv(tmp_path / "run" / "csv" / "metrics.csv")
    assert [row["step"] for row in rows if row["train/loss"]] == ["3"]


def test_the_last_group_of_batches_is_divided_by_its_own_size(tmp_path: Path) -> None:
    """A single group of all six batches has the same mean gradient, regardless of the size that larger groups have."""
    options = ("data.batch_size=5", "optimizer=sgd", "trainer.max_epochs=1", "callbacks=checkpoints", "test=false")
    for size in (6, 11):
        train(tmp_path / str(size), *options, f"trainer.accumulate_grad_batches={size}")
    torch.testing.assert_close(last_weights(tmp_path / "6"), last_weights(tmp_path / "11"), rtol=1e-6, atol=1e-7)


def test_a_training_without_a_validation_selects_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    result = train(tmp_path / "run", "callbacks=checkpoints", "trainer.check_val_every_n_epoch=3")
    assert result["status"] == "completed" and result["best"]["checkpoint"] is None
    assert "No best.ckpt was selected, because training ended before val/loss was measured" in caplog.text


def test_a_killed_run_has_the_row_of_each_epoch_that_it_completed(checkpoint, tmp_path, monkeypatch) -> None:
    """The row is written before the checkpoint from which the next epoch resumes."""
    options = ("callbacks=checkpoints", "test=false")
    save = CheckpointWriter.save_checkpoint

    def killed(self: CheckpointWriter, checkpoint: dict[str, Any], path: str, **more: Any) -> None:
        save(self, checkpoint, path, **more)
        if path.endswith("last.ckpt"):
            raise Interrupted(signal.SIGTERM)

    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(CheckpointWriter, "save_checkpoint", killed)
        train(tmp_path / "run", *options)
    part = tmp_path / "run" / "pictures" / ".curves.png.0a1b2c3d.part"
    part.parent.mkdir()
    part.touch()
    train(tmp_path / "run", *options, f"ckpt_path='{tmp_path / 'run' / 'checkpoints' / 'last.ckpt'}'")
    whole, killed_run = (read_csv(run / "csv" / "metrics.csv") for run in (checkpoint.parents[1], tmp_path / "run"))
    for row in (*whole, *killed_run):
        row.pop("train/texts_per_second")
    assert killed_run == whole
    assert not part.exists()


def test_a_report_that_cannot_be_drawn_does_not_fail_the_training(tmp_path, caplog, monkeypatch) -> None:
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", Mock(side_effect=RuntimeError("no font")))
    result = train(tmp_path / "run", "callbacks=checkpoints", draws="pictures")
    assert result["status"] == "completed" and result["metrics"]["test/acc"]["n"] == 8
    assert "The report could not be written, which changes no score: no font" in caplog.text


def test_the_validation_after_training_adds_no_point_to_the_curves(finished: tuple[Path, dict[str, Any]]) -> None:
    rows = read_csv(finished[0] / "csv" / "metrics.csv")
    assert [row["epoch"] for row in rows if row["val/loss"] or row["val/acc"]] == ["0", "1"]


@pytest.mark.parametrize(("limit", "batch"), [([], 7), (["+trainer.max_steps=5"], 5)])
def test_a_loss_that_is_not_finite_is_reported(tmp_path: Path, limit: list[str], batch: int) -> None:
    with pytest.raises(UserError, match=rf"the loss became nan by batch {batch} of epoch 1"):
        train(tmp_path / "run", "optimizer=sgd", "optimizer.lr=1e30", "data.batch_size=4", *limit)
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["status"] == "failed"
    assert "the loss became nan" in result["error"]


def test_a_plateau_scheduler_steps_only_after_a_validation(tmp_path: Path) -> None:
    result = train(tmp_path / "run", *PLATEAU, "trainer.max_epochs=3", "trainer.check_val_every_n_epoch=2")
    assert result["status"] == "completed"
    content = torch.load(tmp_path / "run" / "checkpoints" / "last.ckpt", weights_only=True)
    assert content["lr_schedulers"][0]["last_epoch"] == 1  # one validation in three epochs, after the second
