"""Resuming training from a checkpoint, and the files after a refused attempt."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from src.checkpoint import read_checkpoint
from src.data.datamodule import TextDataModule
from src.errors import UserError
from src.training_state import read_training_state
from tests.helpers import train, trained

STOPPING = {"wait_count": 0, "stopped_epoch": 0, "best_score": torch.tensor(0.5), "patience": 5}
OPTIONS = ("callbacks=checkpoints", "test=false")


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def setup(*_: object) -> None:
        raise AssertionError("the data were read")

    monkeypatch.setattr(TextDataModule, "setup", setup)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "optimizer=sgd",
            r"optimizer: was torch\.optim\.Adam, but is now torch\.optim\.SGD\. Restore the earlier value",
        ),
        ("optimizer=adamw", r"optimizer: was torch\.optim\.Adam, but is now torch\.optim\.AdamW"),
        ("optimizer=adagrad", r"optimizer: was torch\.optim\.Adam, but is now src\.optim\.adagrad\.Adagrad"),
        ("scheduler=plateau", r"scheduler: was none, but is now torch\.optim\.lr_scheduler\.ReduceLROnPlateau"),
        ("optimizer.lr=0.5", r"optimizer\.lr: was 0\.\d+, but is now 0\.5\. Restore the earlier value"),
        ("+optimizer.amsgrad=true", r"optimizer\.amsgrad: was None, but is now True"),
        ("+param_groups.encoder.lr=0.01", r"param_groups: was \{\}, but is now \{'encoder': \{'lr': 0\.01\}\}"),
        ("model.embedding.freeze=true", r"optimizer: had groups of \[\d+\] parameters, but now has groups of \[\d+\]"),
        (
            "trainer.max_epochs=1",
            r"trainer\.max_epochs=1: the checkpoint .*last\.ckpt is already in epoch 2; set .* 2 or",
        ),
    ],
)
def test_a_difference_from_the_checkpoint_is_reported_before_the_data_are_read(
    option: str, message: str, checkpoint: Path, tmp_path: Path, no_data: None
) -> None:
    with pytest.raises(UserError, match=message):
        train(tmp_path / "run", *OPTIONS, f"ckpt_path='{checkpoint}'", option)


@pytest.mark.parametrize("name", ["one_cycle", "linear"])
def test_a_schedule_that_was_planned_for_another_number_of_epochs_is_refused(name: str, tmp_path: Path) -> None:
    path = trained(tmp_path / "run", f"scheduler={name}")
    with pytest.raises(UserError, match=r"trainer\.max_epochs: the scheduler was planned for 2 epochs, not 3"):
        train(tmp_path / "resumed", *OPTIONS, f"scheduler={name}", f"ckpt_path='{path}'", "trainer.max_epochs=3")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda content: content["optimizer_states"][0]["param_groups"][0].pop("betas"),
            "its state lacks these options of Adam: betas",
        ),
        (lambda content: content["optimizer_states"].clear(), "has the states of 0 optimizers, but 1 is required"),
        (lambda content: content.pop("rng"), "training cannot resume from it .rng is missing"),
        (
            lambda content: content["rng"]["cpu"].zero_(),
            r"rng\.cpu: is not a state of torch's random number generator",
        ),
        (
            lambda content: content["rng"].update(cpu=content["rng"]["cpu"].to_sparse()),
            r"rng\.cpu: expects a dense tensor on the CPU",
        ),
        (
            lambda content: content["rng"].update(cpu=content["rng"]["cpu"][:1].clone().expand(5056)),
            r"rng\.cpu: its shape \(5056,\) is larger than its data",
        ),
        (lambda content: content.pop("epoch"), "training cannot resume from it .epoch is missing"),
    ],
)
def test_a_damaged_state_is_reported_before_the_data_are_read(
    change: Any, message: str, checkpoint: Path, tmp_path: Path, no_data: None
) -> None:
    content = torch.load(checkpoint, weights_only=True)
    change(content)
    torch.save(content, tmp_path / "odd.ckpt")
    with pytest.raises(UserError, match=message):
        train(tmp_path / "run", *OPTIONS, f"ckpt_path='{tmp_path / 'odd.ckpt'}'")


def optimizer_state(content: dict[str, Any]) -> Any:
    return content["optimizer_states"][0]["state"][2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda state: state.update(exp_avg=torch.zeros(3)),
            r"state\[2\]\.exp_avg: its shape \(3,\) is not the parameter's shape \(24, 6\)",
        ),
        (
            lambda state: state.update(exp_avg=torch.zeros(())),
            r"state\[2\]\.exp_avg: its shape \(\) is not the parameter's shape \(24, 6\)",
        ),
        (lambda state: state.update(exp_avg=torch.zeros(24, 6).long()), "expects a tensor of floating-point numbers"),
        (lambda state: state.update(exp_avg=torch.zeros(24, 6).to_sparse()), "exp_avg: expects a dense tensor"),
        (lambda state: state.update(exp_avg=[0.0] * 6), "exp_avg: expects a Tensor, got a list"),
        (lambda state: state.update(step=torch.zeros(2)), "step: expects one number"),
        (lambda state: state.update(step=torch.zeros((), device="meta")), "step: expects a dense tensor"),
        (lambda state: state.update(step="7"), "step: expects a Tensor or a finite number, got text"),
        (lambda state: state.pop("exp_avg_sq"), "exp_avg_sq is missing"),
    ],
)
def test_a_state_that_does_not_fit_its_parameter_is_refused(
    change: Any, message: str, checkpoint: Path, tmp_path: Path
) -> None:
    content = torch.load(checkpoint, weights_only=True)
    change(optimizer_state(content))
    torch.save(content, tmp_path / "odd.ckpt")
    with pytest.raises(UserError, match=rf"odd\.ckpt: training cannot resume from it .optimizer_states.*{message}"):
        train(tmp_path / "run", *OPTIONS, f"ckpt_path='{tmp_path / 'odd.ckpt'}'")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("lr", "fast", "expects a finite number, got text"),
        ("lr", float("nan"), "expects a finite number, got nan"),
        ("betas", (0.9,), "expects 2 values, got 1"),
        ("betas", (0.9, "x"), "expects a finite number, got text"),
        ("fused", "yes", "expects true or false or null, got text"),
    ],
)
def test_an_option_of_another_type_in_the_state_is_refused(
    option: str, value: Any, message: str, checkpoint: Path, tmp_path: Path, no_data: None
) -> None:
    content = torch.load(checkpoint, weights_only=True)
    content["optimizer_states"][0]["param_groups"][0][option] = value
    torch.save(content, tmp_path / "odd.ckpt")
    with pytest.raises(UserError, match=rf"odd\.ckpt: training cannot resume .*groups\[0\]\.{option}.*{message}"):
        train(tmp_path / "run", *OPTIONS, f"ckpt_path='{tmp_path / 'odd.ckpt'}'")


@pytest.mark.parametrize("name", ["adagrad", "adamw", "sgd"])
def test_training_resumes_with_each_optimizer(name: str, tmp_path: Path) -> None:
    path = trained(tmp_path / "run", f"optimizer={name}")
    train(tmp_path / "more", *OPTIONS, f"optimizer={name}", f"ckpt_path='{path}'", "trainer.max_epochs=3")


@pytest.mark.parametrize("callback", ["BestCheckpoint", "ModelCheckpoint"])
@pytest.mark.parametrize("key", ["best_model_path", "kth_best_model_path", "best_k_models", "last_model_path"])
@pytest.mark.parametrize("file_name", ["{0}/../../other.ckpt", "{0}/other.txt", "/other.ckpt", "s3://a/b.ckpt"])
def test_a_state_that_names_other_files_is_refused(
    callback: str, key: str, file_name: str, checkpoint: Path, tmp_path: Path
) -> None:
    content = torch.load(checkpoint, weights_only=True)
    state = next(state for name, state in content["callbacks"].items() if name.startswith(callback))
    file = file_name.format(state["dirpath"])
    state[key] = {file: torch.tensor(1.0)} if key == "best_k_models" else file
    torch.save(content, tmp_path / "odd.ckpt")
    message = rf"odd\.ckpt: training cannot resume from it .callbacks\.{callback}: '{re.escape(file)}' is not"
    with pytest.raises(UserError, match=message):
        read_training_state(tmp_path / "odd.ckpt")


def test_a_state_that_names_other_files_is_not_evaluated_either(checkpoint: Path, tmp_path: Path) -> None:
    content = torch.load(checkpoint, weights_only=True)
    for state in content["callbacks"].values():
        state.update({"best_model_path": "/etc/passwd"} if "best_model_path" in state else {})
    torch.save(content, tmp_path / "odd.ckpt")
    with pytest.raises(UserError, match=r"odd\.ckpt: cannot be evaluated .callbacks\..*: '/etc/passwd' is not"):
        train(tmp_path / "run", *OPTIONS, f"ckpt_path='{tmp_path / 'odd.ckpt'}'", "train=false")


def update_best(**values: object) -> Any:
    """Return a function that changes the state of the callback BestCheckpoint."""

    def change(content: dict[str, Any]) -> None:
        next(state for name, state in content["callbacks"].items() if name.startswith("Best")).update(values)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("optimizer_states"), "optimizer_states is missing"),
        (lambda content: content.update(loops="x"), "loops: expects a mapping, got text"),
        (lambda content: content["loops"].update(fit_loop={"epoch_progress": 5}), "epoch_progress: expects a mapping"),
        (lambda content: content["loops"]["fit_loop"].pop("epoch_progress"), "epoch_progress is missing"),
        (
            lambda content: content["loops"]["fit_loop"]["epoch_progress"]["current"].update(ready=-3),
            "epoch_progress.current.ready must be at least 0, got -3",
        ),
        (
            lambda content: content["loops"]["fit_loop"]["state_dict"]["combined_loader"][0].update(epoch="x"),
            "combined_loader.*epoch: expects a whole number, got text",
        ),
        (
            lambda content: content["loops"]["fit_loop"]["state_dict"]["combined_loader"][0].update(position=-7),
            "combined_loader.*position must be at least 0, got -7",
        ),
        (lambda content: content.update(epoch=-5), "epoch must be at least 0, got -5"),
        (lambda content: content.update({"pytorch-lightning_version": "0.5.0"}), "expects 2 or newer, got '0.5.0'"),
        (lambda content: content.update({"pytorch-lightning_version": "abc"}), "expects 2 or newer, got 'abc'"),
        (lambda content: content.update({"pytorch-lightning_version": 2}), "version: expects text, got a whole"),
        (lambda content: content["callbacks"].update(Speed=5), "callbacks.Speed: expects a mapping"),
        (lambda content: content["callbacks"].update(Speed={"epochs": "x"}), "callbacks.Speed.epochs: expects a list"),
        (lambda content: content["callbacks"].update({"EarlyStopping{}": {}}), "EarlyStopping.wait_count is missing"),
        (
            lambda content: content["callbacks"].update({"EarlyStopping{}": STOPPING | {"stopping_reason": "x"}}),
            "EarlyStopping.stopping_reason: expects a whole number, got text",
        ),
        (update_best(best_model_path=3), "BestCheckpoint.best_model_path: expects text"),
        (update_best(best_model_path="a\0b"), "is not a checkpoint in the callback's folder"),
        (update_best(best_model_score="abc"), "best_model_score: expects a Tensor or null, got text"),
        (update_best(best_model_score=torch.tensor(torch.nan)), "best_model_score: is NaN"),
        (update_best(kth_value=torch.zeros(2)), "kth_value: expects one number"),
    ],
)
def test_an_altered_state_is_refused(change: Any, message: str, checkpoint: Path, tmp_path: Path) -> None:
    content = torch.load(checkpoint, weights_only=True)
    change(content)
    path = tmp_path / "last.ckpt"
    torch.save(content, path)
    with pytest.raises(UserError, match=rf"^{path}: training cannot resume from it \(.*{message}"):
        read_training_state(path)


def test_another_option_of_the_scheduler_is_refused(tmp_path: Path) -> None:
    path = trained(tmp_path / "run", "scheduler=plateau", "scheduler.patience=0")
    with pytest.raises(UserError, match=r"scheduler\.patience: was 0, but is now 3"):
        train(tmp_path / "resumed", *OPTIONS, "scheduler=plateau", f"ckpt_path='{path}'", "scheduler.patience=3")


def test_the_best_checkpoint_has_the_model_only(checkpoint: Path, tmp_path: Path, no_data: None) -> None:
    best = checkpoint.with_name("best.ckpt")
    assert best.stat().st_size < 0.5 * checkpoint.stat().st_size
    assert read_checkpoint(best)["epoch"] >= 0
    message = rf"best\.ckpt: contains the model, but not the state of its training: resume from {checkpoint}"
    with pytest.raises(UserError, match=message):
        train(tmp_path / "run", *OPTIONS, f"ckpt_path='{best}'")


def test_training_resumes_for_the_same_number_of_epochs_or_more(checkpoint: Path, tmp_path: Path) -> None:
    resumed = (*OPTIONS, f"ckpt_path='{checkpoint}'")
    same = train(tmp_path / "same", *resumed)["seconds"]
    more = train(tmp_path / "more", *resumed, "trainer.max_epochs=3")["seconds"]
    assert len(same["per_epoch"]) == 2 and more["per_epoch"][:2] == same["per_epoch"]  # the times in the checkpoint
    assert len(more["per_epoch"]) == 3 and more["fit"] == pytest.approx(sum(more["per_epoch"]))


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


def test_training_resumes_with_the_same_vocabulary_only(checkpoint: Path, tmp_path: Path) -> None:
    content = torch.load(checkpoint, weights_only=True)
    codec = content["heed"]["codec"]
    tokenizer = json.loads(codec["tokenizer"])
    words = tokenizer["model"]["vocab"]
    second, third = (next(word for word, i in words.items() if i == number) for number in (2, 3))
    words[second], words[third] = 3, 2  # another order of words that are equally frequent
    codec["tokenizer"] = json.dumps(tokenizer)
    changed = tmp_path / "changed.ckpt"
    torch.save(content, changed)
    with pytest.raises(UserError, match=r"data\.tokenizer: its vocabulary has changed since this checkpoint"):
        train(tmp_path / "run", *OPTIONS, f"ckpt_path='{changed}'")


def test_without_a_logger_the_curves_of_the_earlier_run_remain(tmp_path: Path) -> None:
    path = trained(tmp_path / "run", *OPTIONS)
    folder = tmp_path / "run" / "csv"
    metrics = (folder / "metrics.csv").read_text()
    train(tmp_path / "run", *OPTIONS, f"ckpt_path='{path}'", "trainer.max_epochs=3", "logger=none")
    assert (folder / "metrics.csv").read_text() == metrics
    assert {file.name for file in folder.iterdir()} == {"metrics.csv", "hparams.yaml"}


def test_a_checkpoint_with_the_earlier_name_of_an_option_resumes(tmp_path: Path) -> None:
    path = trained(tmp_path / "run", "+param_groups.encoder.lr=0.01")
    content = torch.load(path, weights_only=True)
    content["heed"]["config"]["per_part"] = content["heed"]["config"].pop("param_groups")
    torch.save(content, path)
    resumed = (*OPTIONS, f"ckpt_path='{path}'")
    assert train(tmp_path / "same", *resumed, "+param_groups.encoder.lr=0.01")["status"] == "completed"
    with pytest.raises(UserError, match=r"param_groups: was \{'encoder': \{'lr': 0\.01\}\}, but is now \{\}"):
        train(tmp_path / "other", *resumed)


def test_a_refused_attempt_does_not_change_the_earlier_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    path = trained(run, "scheduler=plateau")
    result = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps({**result, "status": "interrupted", "error": "stopped by SIGINT"}))
    files = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for option in ("optimizer=sgd", "trainer.max_epochs=1", "data.val_fraction=2", "model.encoder.hidden_dim=7"):
        with pytest.raises(UserError):
            train(run, *OPTIONS, "scheduler=plateau", "logger=none", f"ckpt_path='{path}'", option)
        assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == files, option


def test_a_run_replaces_the_earlier_record_when_it_starts(checkpoint: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "result.json").write_text('{"status": "interrupted"}')
    (run / "config.yaml").write_text("seed: 7\n")
    assert train(run, *OPTIONS, f"ckpt_path='{checkpoint}'")["status"] == "completed"
    assert "ckpt_path" in (run / "config.yaml").read_text()


def test_a_first_run_that_is_refused_has_a_record(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        train(tmp_path / "run", "model.head.dropout=2")
    assert json.loads((tmp_path / "run" / "result.json").read_text())["status"] == "failed"
    assert (tmp_path / "run" / "config.yaml").exists()
