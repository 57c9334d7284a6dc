"""Resuming training: what must not change, and the files after a refused attempt."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from heedful.base.errors import UserError
from heedful.data.source import Source
from heedful.runs.checkpoint import read_checkpoint
from heedful.runs.training_state import read_training_state
from tests.helpers import change_checkpoint, read_csv, train, trained

OPTIONS = ("callbacks=checkpoints", "test=false")


@pytest.fixture
def resume(checkpoint: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """A function that resumes a copy of the run in `tmp_path / "run"` with further options."""
    shutil.copytree(checkpoint.parents[1], tmp_path / "run")
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    return lambda *options: train(tmp_path / "run", *OPTIONS, f"ckpt_path='{last}'", *options)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("scheduler=plateau", r"scheduler\._target_: was None, but is now torch\.optim\.lr_scheduler\.Reduce"),
        ("optimizer.lr=0.5", r"optimizer\.lr: was 0\.\d+, but is now 0\.5\. Restore the earlier value"),
        ("+param_groups.encoder.lr=0.01", r"param_groups\.encoder\.lr: was None, but is now 0\.01"),
        ("model.encoder.hidden_dim=7", r"model\.encoder\.hidden_dim: was 6, but is now 7"),
        ("data.batch_size=7", r"data\.batch_size: was \d+, but is now 7"),
        ("seed=4", r"seed: was 0, but is now 4"),
        ("data.val_fraction=2", r"data\.val_fraction=2 +must be less than 1"),
        ("trainer.max_epochs=1", r"last\.ckpt: .* It is already in epoch 2: set trainer\.max_epochs to 2 or more"),
    ],
)
def test_a_changed_option_is_reported_and_no_file_is_written(option, message, resume, tmp_path) -> None:
    files = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(UserError, match=message):
        resume("logger=none", option)
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == files


@pytest.mark.parametrize("name", ["one_cycle", pytest.param("linear", marks=pytest.mark.weekly)])
def test_a_schedule_that_was_planned_for_another_number_of_epochs_is_refused(name: str, tmp_path: Path) -> None:
    path = trained(tmp_path / "run", f"scheduler={name}")
    with pytest.raises(UserError, match=r"trainer\.max_epochs: the scheduler was planned for 2 epochs, not 3"):
        train(tmp_path / "run", *OPTIONS, f"scheduler={name}", f"ckpt_path='{path}'", "trainer.max_epochs=3")


@pytest.mark.parametrize("part", ["epoch", "processes", "callbacks", "optimizer_states"])
def test_a_checkpoint_without_the_state_of_its_training_is_refused(part, resume, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Source, "setup", lambda *_: pytest.fail("the data were read"))
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    change_checkpoint(last, lambda content: content.pop(part))
    with pytest.raises(UserError, match=rf"not the state of its training \({part}\): start a new run"):
        resume()


def test_the_best_checkpoint_has_the_model_only(checkpoint: Path) -> None:
    best = checkpoint.with_name("best.ckpt")
    assert best.stat().st_size < 0.5 * checkpoint.stat().st_size
    assert read_checkpoint(best)[1]["epoch"] >= 0
    with pytest.raises(UserError, match=rf"best\.ckpt: contains the model, but .*: resume from {checkpoint}"):
        read_training_state(str(best))


def test_training_resumes_for_the_same_number_of_epochs_or_more(resume: Callable[..., Any], tmp_path: Path) -> None:
    same = resume()["seconds"]
    more = resume("trainer.max_epochs=3")["seconds"]
    assert len(same["per_epoch"]) == 2 and more["per_epoch"][:2] == same["per_epoch"]  # the times in the checkpoint
    assert len(more["per_epoch"]) == 3 and more["fit"] == pytest.approx(sum(more["per_epoch"]))


@pytest.mark.parametrize(
    ("options", "epochs"), [([], 2), (["callbacks.early_stopping.patience=3"], 4), (["~callbacks.early_stopping"], 5)]
)
def test_a_training_that_stopped_early_does_not_go_on(options: list[str], epochs: int, store, tmp_path) -> None:
    """It goes on only if its patience is longer now, or nothing stops it."""
    callbacks = ("callbacks=[checkpoints,early_stopping,progress]", "trainer.max_epochs=5")
    stop = ("+callbacks.early_stopping.min_delta=10", "callbacks.early_stopping.patience=1")
    path = shutil.copytree(store(*callbacks, *stop, short=False), tmp_path / "run") / "checkpoints" / "last.ckpt"
    kept = [] if "~callbacks.early_stopping" in options else stop[: 2 - len(options)]
    result = train(tmp_path / "run", *callbacks, *kept, *options, f"ckpt_path='{path}'")
    assert len(result["seconds"]["per_epoch"]) == epochs
    assert "test/acc" in result["metrics"]
    assert read_csv(tmp_path / "run" / "csv" / "metrics.csv")[-1]["epoch"] == str(epochs)


def test_a_moved_run_resumes_with_its_best_checkpoint(resume: Callable[..., Any], tmp_path: Path) -> None:
    score = {"best_model_score": torch.tensor(-1.0), "kth_value": torch.tensor(-1.0)}

    def improve(content: dict[str, Any]) -> None:
        state = next(state for state in content["callbacks"].values() if state.get("monitor") == "val/loss")
        state.update(score, best_k_models={state["best_model_path"]: torch.tensor(-1.0)})

    best = tmp_path / "run" / "checkpoints" / "best.ckpt"
    change_checkpoint(best.with_name("last.ckpt"), improve)
    before = best.read_bytes()
    result = resume("trainer.max_epochs=3", "test=true")
    assert result["best"]["value"] == -1  # no later epoch is better
    assert result["best"]["checkpoint"] == "checkpoints/best.ckpt"
    assert best.read_bytes() == before


def write_reviews(path: Path, word: str = "good") -> None:
    path.write_text("text,label\n" + "".join(f"{word} film {i % 5},{'ab'[i % 2]}\n" for i in range(31)))


def test_training_resumes_on_the_same_texts_only(tmp_path: Path) -> None:
    source = tmp_path / "reviews.csv"
    write_reviews(source)
    options = (*OPTIONS, "data=csv", f"data.path={source}", "data.progress=false")
    path = trained(tmp_path / "run", *options)
    metrics = (tmp_path / "run" / "csv" / "metrics.csv").read_text()
    write_reviews(source, "bad")
    with pytest.raises(UserError, match=rf"last\.ckpt: training .* the texts of data\.path={source} or their splits"):
        train(tmp_path / "run", *options, f"ckpt_path='{path}'", "trainer.max_epochs=3")
    assert (tmp_path / "run" / "csv" / "metrics.csv").read_text() == metrics
    write_reviews(source)
    assert train(tmp_path / "run", *options, f"ckpt_path='{path}'", "trainer.max_epochs=3")["status"] == "completed"


def test_training_resumes_with_the_same_vocabulary_only(resume: Callable[..., Any], tmp_path: Path) -> None:
    def swap_words(content: dict[str, Any]) -> None:
        card = json.loads(content["heedful"])
        tokenizer = json.loads(card["codec"]["tokenizer"])
        words = tokenizer["model"]["vocab"]
        second, third = (next(word for word, i in words.items() if i == number) for number in (2, 3))
        words[second], words[third] = 3, 2  # another order of words that are equally frequent
        card["codec"]["tokenizer"] = json.dumps(tokenizer)
        content["heedful"] = json.dumps(card)

    change_checkpoint(tmp_path / "run" / "checkpoints" / "last.ckpt", swap_words)
    with pytest.raises(UserError, match=r"data\.tokenizer: its vocabulary has changed since this checkpoint"):
        resume()


def test_without_a_logger_the_curves_of_the_earlier_run_remain(resume: Callable[..., Any], tmp_path: Path) -> None:
    metrics = (tmp_path / "run" / "csv" / "metrics.csv").read_text()
    resume("trainer.max_epochs=3", "logger=none")
    assert (tmp_path / "run" / "csv" / "metrics.csv").read_text() == metrics
