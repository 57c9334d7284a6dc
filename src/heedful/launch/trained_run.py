"""Train in Python: `from heedful import train`; the result is a value with the scores, the folder and the model."""

import io
import logging
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from threading import RLock
from typing import Any

from hydra.types import RunMode
from omegaconf import OmegaConf
from pytorch_lightning.utilities.seed import isolate_rng
from rich.console import Console

from heedful.base.errors import UserError
from heedful.base.files import write_text
from heedful.base.process import Interrupted
from heedful.config.compose import require_overrides
from heedful.config.keys import plain_value
from heedful.config.overrides import as_lines, as_typed, escape_references, key_of, quote
from heedful.data.sets import as_sets, label_names, split_names, usual_splits
from heedful.inference.api import Model
from heedful.launch.composition import as_run, compose_command, parse_flags
from heedful.report.score_sections import scores_section
from heedful.report.terminal import render_terminal
from heedful.report.verdict import run_verdict
from heedful.runs.environment import Launch
from heedful.runs.folder import BEST, remove_if_unused
from heedful.runs.result import RunResult
from heedful.runs.run_files import read_predictions
from heedful.training.fit import train_classifier

ONE_AT_A_TIME = RLock()  # the states of Hydra and of torch's random numbers are global


@dataclass(frozen=True, repr=False)
class TrainedRun:
    """A training that has ended. Printed, it shows the scores as the command does.

    Args:
        folder: contains the files that docs/run-folders.md describes.
        result: the record, `result.json`.
        model: the best weights on the CPU; the last ones if no checkpoint was selected.
    """

    folder: Path
    result: RunResult
    model: Model = field(compare=False)

    @property
    def scores(self) -> dict[str, float | None]:
        """The value of each final metric, by names such as test/acc; None if it is undefined for the texts."""
        return {name: score.value for name, score in self.result.metrics.items()}

    def __repr__(self) -> str:
        console = Console(file=io.StringIO(), width=100)
        sections = [scores_section(self.result.metrics, predictions=read_predictions(self.folder))]
        console.print(render_terminal(sections, run_verdict(self.result)))
        return f"{console.file.getvalue().strip()}\n\n{self.result.status}: {self.folder}"  # type: ignore[attr-defined]


def train(*overrides: str | Sequence[str], data: Any = None, verbose: bool = True) -> TrainedRun:
    """Train and test a classifier, as the command `train` does, and return its scores, folder and model.

    Args:
        overrides: options as on the command line, such as "experiment=recommended" or "optimizer.lr=0.01", or a list.
        data: texts with labels: a pandas frame, a `datasets.Dataset`, (texts, labels), a dict of columns or a list of
            dicts; a dict of several of them (or a `DatasetDict`) with the keys train and, if they exist, validation and
            test; or the path of a file. The columns are text and label, unless the overrides data.text and data.label
            name others. None means the data that the overrides select.
        verbose: whether to print the data, the epochs, the scores and what the log says. Python's warnings stay
            warnings, which a program may filter.

    Raises:
        UserError: if an option or the data are wrong; nothing was started.
        KeyboardInterrupt: if Ctrl-C stopped the training, which `ckpt_path=<folder>` resumes.
    """
    typed = f"train({', '.join([*map(repr, overrides), *(['data=…'] if data is not None else [])])})"
    return run_training(as_lines(overrides), data, typed, verbose)


def run_training(
    overrides: Collection[str], data: Any, typed: str, verbose: bool, without: Collection[str] = ()
) -> TrainedRun:
    """Train as `train` does, without some callbacks or the page; the record contains the call, as typed."""
    require_overrides(overrides)
    flags = parse_flags([*data_lines(overrides, data), *overrides])
    with ONE_AT_A_TIME:
        _, cfg = compose_command("train", flags)
        if cfg.hydra.mode == RunMode.MULTIRUN:
            raise UserError("hydra.mode=MULTIRUN: train() trains one model; sweeps need the command")
        devices = plain_value(cfg, "trainer.devices")
        if (len(devices) if isinstance(devices, list) else devices) not in (1, "1"):
            raise UserError(f"trainer.devices={devices}: train() uses one device; several need the command")
        with as_run(cfg, str(cfg.hydra.run.dir)) as task:
            for name in {*without, *(() if verbose else ("progress",))} & set(task.callbacks or ()):
                task.callbacks[name] = None
            if not verbose and "progress" in task.data:
                task.data.progress = False
            values = OmegaConf.create(escape_references(OmegaConf.to_container(task, resolve=True)))
        is_in_memory = data is not None and not isinstance(data, str | PathLike)
        if is_in_memory:
            values.data.label = label_names(data, values.data.label, values.data.labels)
        sets = as_sets(data, values.data.text, values.data.label) if is_in_memory else None
        folder = Path(cfg.hydra.runtime.output_dir)
        lines = as_typed(cfg.hydra.overrides.task)
        if cfg.hydra.output_subdir is not None:
            hydra = OmegaConf.masked_copy(cfg, ["hydra"])  # a run resumes from what Hydra writes for a command
            for name, node in {"config": task, "hydra": hydra, "overrides": cfg.hydra.overrides.task}.items():
                write_text(folder / str(cfg.hydra.output_subdir) / f"{name}.yaml", OmegaConf.to_yaml(node))
        launch = Launch(
            typed, tuple(lines), dict(cfg.hydra.runtime.choices), is_quiet=not verbose, has_page="page" not in without
        )
        try:
            with isolate_rng(), _restored_process(), nullcontext() if verbose else _without_last_resort():
                run, module = train_classifier(values, launch, sets)
        except Interrupted as stop:
            raise KeyboardInterrupt(stop.signum, str(stop)) from None
        except (UserError, OSError):
            remove_if_unused(folder, "train")
            raise
    (member,) = module.ensemble().members
    best = folder / "checkpoints" / BEST
    return TrainedRun(folder, run.result, Model([member._replace(name=str(best) if best.exists() else "")]))


@contextmanager
def _restored_process() -> Iterator[None]:
    """Undo at the end what Lightning's seed and W&B leave in the process: variables, and hooks of `sys`."""
    before, hooks = dict(os.environ), (sys.excepthook, sys.exit)
    try:
        yield
    finally:
        for name in [name for name in os.environ if name.startswith("PL_")]:
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if name.startswith("PL_")})
        sys.excepthook, sys.exit = hooks


@contextmanager
def _without_last_resort() -> Iterator[None]:
    """Keep Python from printing log lines in the block; handlers that the user has set get them."""
    handler, logger = logging.NullHandler(), logging.getLogger("heedful")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def data_lines(overrides: Collection[str], data: Any) -> list[str]:
    """Return the overrides that select `data`, unless `overrides` do."""
    keys = set(map(key_of, overrides))
    if data is None:
        return []
    if isinstance(data, str | PathLike):
        return [*([] if "data" in keys else ["data=csv"]), f"data.path={quote(str(data))}"]
    named = {line.partition("=")[2].strip("'\"") for line in overrides if key_of(line).endswith("_split")}
    usual = usual_splits([name for name in split_names(data) if name not in named])
    splits = {f"data.{option}": name for option, name in usual.items() if name is not None}
    return ["data=python", *(f"{key}={name}" for key, name in splits.items() if key not in keys)]
