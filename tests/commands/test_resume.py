"""Resuming with `python -m src.train ckpt_path=…`: the recorded overrides, refusals, and exact continuation."""

import os
import re
import shlex
import signal
from argparse import Namespace
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from heedful.base.errors import UserError
from heedful.launch.composition import parse_flags
from heedful.launch.resume import restore_run_overrides
from heedful.runs.result import RunResult
from tests.forks import complete
from tests.helpers import assert_equal_weights, command, read_csv, run

INTERRUPTED = """
import os, signal, sys
from heedful.training.lit import LitClassifier
from heedful.commands.train import main
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
    *("model/embedding=glove", "data=csv", "data.path=weighted.csv", "data.weight=w"),
)
SPEED = "train/texts_per_second"


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """The folder of a run that was started with some overrides; its checkpoint has no content."""
    folder = tmp_path / "run"
    for name, lines in {
        "checkpoints/last.ckpt": [],
        ".hydra/overrides.yaml": [
            *("- model/encoder=gru", "- optimizer.lr=0.02", "- seed=3", "- trainer.max_epochs=5"),
            *("- logger=csv", "- logger.csv.name=log", "- sweep.dry_run=false", "- hparams_search=optuna"),
        ],
        ".hydra/hydra.yaml": [
            "hydra:",
            "  overrides: {hydra: [hydra.run.dir=elsewhere, 'hydra.searchpath=[file:///mine]']}",
            "  job: {config_name: own}",
            f"  runtime: {{config_sources: [{{provider: main, path: '{folder}/my_conf'}}]}}",
        ],
        "my_conf/own.yaml": [],
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(lines))
    return folder


def restore(*arguments: str) -> Namespace:
    flags = parse_flags(arguments)
    restore_run_overrides(flags)
    return flags


def rows(path: Path) -> list[dict[str, str]]:
    return [{key: value for key, value in row.items() if key != SPEED} for row in read_csv(path)]


def test_an_interrupted_run_resumes_exactly_with_the_printed_command(tmp_path: Path) -> None:
    with (tmp_path / "weighted.csv").open("w") as file:
        file.write(
            "text,label,w\n"
            + "".join(f"{['good', 'bad'][i % 2]} no{i % 11},{'pn'[i % 2]},{i % 5}\n" for i in range(43))
        )
    run(tmp_path, "train", *OVERRIDES, "hydra.run.dir=whole")
    (python, *_), options = command(tmp_path, "train")
    line = [python, "-c", INTERRUPTED, *OVERRIDES, "hydra.run.dir=half of it"]
    interrupted = complete(line, options)
    assert interrupted.returncode == 128 + signal.SIGINT, interrupted.stderr
    match = re.search(r"Resume with: heedful train (.*)", interrupted.stdout)
    assert match, interrupted.stdout
    arguments = shlex.split(match[1])
    assert len(arguments) == 1

    run(tmp_path, "train", *arguments)
    whole, resumed = tmp_path / "whole", tmp_path / "half of it"
    assert rows(resumed / "csv" / "metrics.csv") == rows(whole / "csv" / "metrics.csv")
    assert (resumed / "gradients.csv").read_text() == (whole / "gradients.csv").read_text()
    assert_equal_weights(whole, resumed)
    runs = [path.name.rpartition("-")[2] for path in (resumed / "wandb").glob("offline-run-*")]
    assert len(runs) == 2 and len(set(runs)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "half of it", "weighted.csv", "whole"]
    assert RunResult.load(resumed).data == RunResult.load(whole).data
    assert OmegaConf.load(resumed / "config.yaml").tags == ["a", "b"]


@pytest.mark.parametrize("clone", ["src/heedful/config", "hydra_plugins/heed.py"])
def test_a_run_of_another_clone_resumes_with_the_configuration_of_this_one(clone: str, run_folder: Path) -> None:
    (run_folder / clone).mkdir(parents=True)
    (run_folder / "my_conf").rename(run_folder / "conf")
    record = run_folder / ".hydra" / "hydra.yaml"
    record.write_text(record.read_text().replace("my_conf", "conf"))
    assert restore(f"ckpt_path={run_folder}").config_path is None


@pytest.mark.parametrize("path", ["", "/checkpoints/last.ckpt"])
def test_a_run_resumes_with_its_recorded_overrides_and_configuration_files(path: str, run_folder: Path) -> None:
    flags = restore(f"ckpt_path={run_folder}{path}", "trainer.max_epochs=9", "logger=none")
    assert (flags.config_name, flags.config_path) == ("own", f"{run_folder}/my_conf")
    assert flags.overrides == [
        "hydra.searchpath=[file:///mine]",
        *("model/encoder=gru", "optimizer.lr=0.02", "seed=3"),
        *(f"ckpt_path={run_folder}/checkpoints/last.ckpt", "trainer.max_epochs=9", "logger=none"),
        *(f"hydra.run.dir={run_folder}", "hydra.output_subdir=null", "hydra.mode=RUN"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        *("model/encoder=lstm", "model.head.dropout=0.2", "data.batch_size=7", "data=csv", "optimizer.lr=0.5"),
        *("seed=4", "+param_groups.encoder.lr=1", "hydra.run.dir=other", "paths.output_dir=other"),
    ],
)
def test_overrides_that_change_the_training_or_its_folder_are_refused(line: str, run_folder: Path) -> None:
    with pytest.raises(UserError, match=rf"{re.escape(line)} +cannot change when a run resumes: remove it"):
        restore(f"ckpt_path={run_folder}/checkpoints/last.ckpt", line)
    restore(f"ckpt_path={run_folder}/checkpoints/last.ckpt", "optimizer.lr=0.02")  # repeats a recorded override


def test_other_command_lines_are_not_changed(run_folder: Path) -> None:
    path = f"ckpt_path={run_folder}/checkpoints/last.ckpt"
    for line in (
        *(["seed=1"], [path, "seed=1,2", "-m"], [path, "--help"], ["ckpt_path=null"]),
        ["model/encoder=glob(zzz)"],
    ):
        assert restore(*line).overrides == [override for override in line if not override.startswith("-")]


def test_a_training_resumes_only_in_the_folder_of_a_run(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "last.ckpt").touch()
    with pytest.raises(UserError, match=r"has no checkpoints/last\.ckpt"):
        restore(f"ckpt_path={tmp_path}")
    for path in (tmp_path / "last.ckpt", run_folder / "checkpoints" / "gone.ckpt"):
        with pytest.raises(UserError, match=r"is not a checkpoint in the folder of a run .*: a training resumes only"):
            restore(f"ckpt_path={path}")


def test_the_user_is_told_that_a_folder_belongs_to_another_user(run_folder: Path, monkeypatch, capsys) -> None:
    restore(f"ckpt_path={run_folder}/checkpoints/last.ckpt")
    assert "another user" not in capsys.readouterr().out
    monkeypatch.setattr(os, "getuid", lambda: run_folder.stat().st_uid + 1)
    restore(f"ckpt_path={run_folder}/checkpoints/last.ckpt")
    assert f"{run_folder} belongs to another user: resuming runs the code" in capsys.readouterr().out


def test_a_refused_attempt_writes_no_files(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    files = {path: path.stat().st_mtime_ns for path in run_folder.rglob("*")}
    for arguments, message in (
        ([f"ckpt_path={run_folder}/checkpoints/last.ckpt", "seed=9"], "cannot change when a run resumes"),
        ([f"hydra.run.dir={run_folder}"], "already contains a run: choose another hydra.run.dir"),
    ):
        process = complete(*command(tmp_path / "work", "train", *arguments))
        assert (process.returncode, process.stdout) == (1, "")
        assert message in process.stderr
    assert {path: path.stat().st_mtime_ns for path in run_folder.rglob("*")} == files
    assert {path.name for path in (tmp_path / "work").iterdir()} <= {"cache"}  # the cache of matplotlib
