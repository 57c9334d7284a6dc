"""Resuming with `python -m src.train ckpt_path=…` alone: the restored overrides, refusals, and exact continuation."""

import csv
import os
import re
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from src.cli.resume import restore_run_overrides
from src.config.composition import Repository, without_hydra
from src.config.hydra_adapter import parse_flags
from src.config.paths import make_paths_absolute
from src.errors import UserError
from tests.forks import complete
from tests.helpers import CONF, command, run

INTERRUPTED = """
import os, signal, sys
from src.lit import LitClassifier
from src.train import main
step = LitClassifier.training_step
def interrupted(self, batch, index):
    if self.global_step == 8:
        os.kill(os.getpid(), signal.SIGINT)
    return step(self, batch, index)
LitClassifier.training_step = interrupted
main()
"""
OVERRIDES = (
    *("model/encoder=gru", "model/attention=none", "model.encoder.hidden_dim=6", "model.head.dropout=0.3"),
    *("optimizer.lr=0.02", "data.batch_size=5", "trainer.max_epochs=3", "tags=[a,b]", "seed=3"),
    *("callbacks=[checkpoints,gradient_norms]", "callbacks.gradient_norms.every_n_steps=1"),
)
SPEED = "train/texts_per_second"


@pytest.fixture(scope="module")
def repository() -> Repository:
    return Repository(Path(CONF), "train")


@pytest.fixture
def restore_overrides(repository: Repository) -> Callable[..., list[str]]:
    """A function that returns the overrides restored from a command line of `src.train`."""
    return lambda *lines: restore_run_overrides(parse_flags(lines), repository)


@pytest.fixture
def change_config(checkpoint: Path, tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a checkpoint with a changed configuration to the folder of a run, and returns its path."""

    def write(**nodes: Any) -> Path:
        content = torch.load(checkpoint, weights_only=True)
        config = OmegaConf.create(content["heed"]["config"])
        for path, value in nodes.items():
            OmegaConf.update(config, path.replace("__", "."), value, merge=False, force_add=True)
        content["heed"]["config"] = OmegaConf.to_container(config)
        path = tmp_path / "run" / "checkpoints" / "last.ckpt"
        path.parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "run" / "config.yaml").touch()
        torch.save(content, path)
        return path

    return write


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [{key: value for key, value in row.items() if key != SPEED} for row in csv.DictReader(file)]


def test_an_interrupted_run_resumes_exactly_with_the_printed_command(tmp_path: Path) -> None:
    run(tmp_path, "train", *OVERRIDES, "hydra.run.dir=whole")
    (python, *_), options = command(tmp_path, "train")
    line = [python, "-c", INTERRUPTED, *OVERRIDES, "hydra.run.dir=half of it"]
    interrupted = complete(line, options)
    assert interrupted.returncode == 128 + signal.SIGINT, interrupted.stderr
    match = re.search(r"Resume with: python -m src\.train (.*)", interrupted.stdout)
    assert match, interrupted.stdout
    arguments = shlex.split(match[1])
    assert len(arguments) == 1

    run(tmp_path, "train", *arguments)
    whole, resumed = tmp_path / "whole", tmp_path / "half of it"
    assert rows(resumed / "csv" / "metrics.csv") == rows(whole / "csv" / "metrics.csv")
    assert (resumed / "gradients.csv").read_text() == (whole / "gradients.csv").read_text()
    states = [
        torch.load(path / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"] for path in (whole, resumed)
    ]
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())
    runs = [path.name.rpartition("-")[2] for path in (resumed / "wandb").glob("offline-run-*")]
    assert len(runs) == 2 and len(set(runs)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "half of it", "whole"]
    assert OmegaConf.load(resumed / "config.yaml").tags == ["a", "b"]


def test_the_configuration_of_the_checkpoint_is_restored(
    restore_overrides: Callable[..., list[str]],
    change_config: Callable[..., Path],
    repository: Repository,
    tmp_path: Path,
) -> None:
    path = change_config(
        model__encoder={"_target_": "src.models.encoder.identity.Identity"},
        scheduler={"_target_": "torch.optim.lr_scheduler.ReduceLROnPlateau", "patience": 3},
        data__seed=0,
        param_groups={"encoder": {"lr": 1e-5}},
        data__tokenizer__lowercase=False,
        tags=["a, b", "${seed}", "it's", "???"],
        seed=7,
        callbacks__last_checkpoint=None,
        trainer__gradient_clip_val=float("inf"),
    )
    saved = torch.load(path, weights_only=True)["heed"]["config"]
    cfg = without_hydra(repository.compose(restore_overrides(f"ckpt_path={path}")))
    cfg.paths.output_dir = saved["paths"]["output_dir"]
    restored = make_paths_absolute(OmegaConf.to_container(cfg, resolve=True))
    for key in restored.keys() - {"ckpt_path", "logger", "data", "extras", "paths"}:
        assert restored[key] == saved[key], key
    assert {**restored["data"], "cache_dir": None} == {**saved["data"], "cache_dir": None}
    assert f'hydra.run.dir="{path.parents[1]}"' in restore_overrides(f"ckpt_path={path}")


def test_overrides_that_do_not_change_the_training_are_applied(
    restore_overrides: Callable[..., list[str]], checkpoint: Path
) -> None:
    overrides = ["trainer.max_epochs=9", "logger=csv", "callbacks=none", "tags=[c]", "trainer=gpu", "test=false"]
    lines = restore_overrides(f"ckpt_path='{checkpoint}'", *overrides)
    assert lines[-6:] == overrides
    assert "++model.encoder.hidden_dim=6" in lines
    assert not any(re.match(r"[+~]*callbacks\.", line) for line in lines)
    assert f'hydra.run.dir="{checkpoint.parents[1]}"' in lines
    assert not any("run.dir" in line for line in restore_overrides(f"ckpt_path='{checkpoint}'", "hydra.run.dir=a")[:-1])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "model/encoder=lstm",
            r"model/encoder=lstm +would change .*model\.encoder\.bidirectional: was True, but is now",
        ),
        ("model.head.dropout=0.2", r"model\.head\.dropout=0\.2 +would change the training .*remove it"),
        ("data.batch_size=7", r"data\.batch_size=7 +would change"),
        ("data.tokenizer.vocab_size=50", r"data\.tokenizer\.vocab_size=50 +would change"),
        ("optimizer.lr=0.5", r"optimizer\.lr=0\.5 +would change the training .*\(optimizer\.lr: was "),
        ("loss.label_smoothing=0.1", r"loss\.label_smoothing=0\.1 +would change"),
        ("seed=4", r"seed=4 +would change"),
        ("data=csv", r"data=csv +would change"),
    ],
)
def test_overrides_that_change_the_training_are_refused(
    line: str, message: str, restore_overrides: Callable[..., list[str]], checkpoint: Path
) -> None:
    with pytest.raises(UserError, match=message):
        restore_overrides(f"ckpt_path='{checkpoint}'", line)


def test_an_override_that_repeats_the_checkpoint_is_accepted(
    restore_overrides: Callable[..., list[str]], change_config: Callable[..., Path]
) -> None:
    path = change_config(loss__label_smoothing=0.25, model__head__dropout=0.5)
    assert (
        restore_overrides(f"ckpt_path={path}", "loss.label_smoothing=0.25", "model.head.dropout=0.5")[-1]
        == "model.head.dropout=0.5"
    )


def test_other_command_lines_are_not_changed(restore_overrides: Callable[..., list[str]], checkpoint: Path) -> None:
    path = f"ckpt_path='{checkpoint}'"
    for line in (
        [path, "model.encoder.hidden_dim=6", "optimizer.lr=0.5"],  # selects the model and the data itself
        [path, "train=false"],
        ["seed=1"],
        [path, "seed=1,2", "-m"],
        [path, "--help"],
        ["model/encoder=glob(zzz)"],
        [path, "model/encoder=glob(zzz)", "train=false"],
    ):
        assert restore_overrides(*line) == [override for override in line if not override.startswith("-")]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            {"model__attention": {"_target_": "subprocess.Popen", "args": "false"}},
            r"is not allowed\. .*\n +model\.attention\._target_=subprocess\.Popen +subprocess is not a trusted module",
        ),
        (
            {"callbacks__evil": {"_target_": "pytorch_lightning.callbacks.LambdaCallback"}},
            r"callbacks\.evil\._target_=pytorch_lightning\.callbacks\.LambdaCallback\s+pytorch_lightning is not a",
        ),
        (
            {"extras__trusted_modules": ["subprocess"], "loss": {"_target_": "subprocess.Popen"}},
            r"subprocess is not a trusted module",
        ),
        (
            {"callbacks__best_checkpoint__dirpath": "/etc"},
            r"callbacks\.best_checkpoint\.dirpath=/etc +is a path outside the run's folder",
        ),
        ({"trainer__default_root_dir": "../.."}, r"trainer\.default_root_dir=.* is a path outside"),
        ({"optimizer": {"a=1 hydra.run.dir": 2}}, r"the option name .*cannot be written on a command line"),
    ],
)
def test_a_malicious_configuration_is_refused(
    nodes: dict[str, Any], message: str, restore_overrides: Callable[..., list[str]], change_config: Callable[..., Path]
) -> None:
    with pytest.raises(UserError, match=message):
        restore_overrides(f"ckpt_path={change_config(**nodes)}")


def test_a_checkpoint_does_not_set_folders_logger_options_or_trusted_modules(
    restore_overrides: Callable[..., list[str]],
    change_config: Callable[..., Path],
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = change_config(
        hydra={"run": {"dir": "/etc"}, "job": {"env_set": {"PATH": "/tmp"}}},
        paths={"output_dir": "/etc", "root_dir": "/etc"},
        callbacks__best_checkpoint__dirpath="/etc/checkpoints",
        callbacks__last_checkpoint__dirpath="/etc/other",
        trainer__default_root_dir="/etc",
        data__cache_dir="/etc",
        extras__trusted_modules=["subprocess"],
        logger__csv__save_dir="/etc",
        logger__csv__flush_logs_every_n_steps=1,
        choices={"encoder": "../../../etc/passwd", "launcher": "slurm", "job_logging": "none"},
    )
    folder = path.parents[1]
    lines = restore_overrides(f"ckpt_path={path}")
    assert not any("/etc" in line or "subprocess" in line or "env_set" in line for line in lines)
    assert [line for line in lines if line.startswith("hydra")] == [
        f'hydra.run.dir="{folder}"',
        "hydra.output_subdir=null",
        "hydra.mode=RUN",
    ]
    assert f'++callbacks.last_checkpoint.dirpath="{folder}/other"' in lines
    assert "logger.csv.flush_logs_every_n_steps=1 in the checkpoint is ignored" in caplog.text
    assert "~logger.wandb" in lines


def test_a_checkpoint_outside_a_run_requires_a_folder(
    restore_overrides: Callable[..., list[str]], checkpoint: Path, tmp_path: Path
) -> None:
    path = tmp_path / "last.ckpt"
    os.link(checkpoint, path)
    with pytest.raises(UserError, match=r"last\.ckpt is not in the folder of a run .*: add hydra\.run\.dir=<folder>"):
        restore_overrides(f"ckpt_path={path}")
    assert restore_overrides(f"ckpt_path={path}", "hydra.run.dir=x")[-1] == "hydra.run.dir=x"


def test_a_refused_attempt_writes_no_files(checkpoint: Path, tmp_path: Path) -> None:
    files = {path: path.stat().st_mtime_ns for path in checkpoint.parents[1].rglob("*")}
    process = complete(*command(tmp_path, "train", f"ckpt_path={checkpoint}", "data.val_fraction=0.3"))
    assert (process.returncode, process.stdout) == (1, "")
    assert "data.val_fraction=0.3   would change the training" in process.stderr
    assert {path: path.stat().st_mtime_ns for path in checkpoint.parents[1].rglob("*")} == files
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}  # the cache of matplotlib
