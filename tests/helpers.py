"""Functions for several tests: they compose the configurations of small runs, and execute runs and commands."""

import csv
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from omegaconf import DictConfig

from heedful.config.compose import ConfigFiles, without_hydra
from heedful.config.schema import validate_config
from heedful.data.padded_batches import Batch
from heedful.data.schema import Schema
from heedful.runs.run_files import Predictions
from heedful.tasks.multiclass import Multiclass
from tests.forks import complete

ROOT = Path(__file__).parents[1]
CONF = str(ROOT / "conf")
SMALL = ("model.encoder.hidden_dim=6", "data.batch_size=14")  # half of the bundled training texts


@cache
def repository(command: str) -> ConfigFiles:
    """The configuration files of a command, which are read once per process."""
    return ConfigFiles(command)


def small_config(folder: Path, overrides: Sequence[str] = ()) -> DictConfig:
    """Compose a short run on the bundled CSV file, which writes to `folder` and to the folder `cache` next to it."""
    paths = [f"paths.output_dir={folder}", f"data.cache_dir={folder.parent / 'cache'}"]
    return without_hydra(repository("train").compose([*paths, *overrides]))


def one_class_data(folder: Path) -> list[str]:
    """Overrides for a file that passes the checks of the configuration, but is refused when its rows are read."""
    path = folder / "one_class.csv"
    path.write_text("text,label\na,x\nb,x\n")
    return ["data=csv", f"data.path='{path}'"]


def train(folder: Path, *overrides: str, draws: bool | str = False) -> dict[str, Any]:
    """Run `src.train` with two epochs of two steps and 6 hidden features in this process, and return its result.json.

    With `draws`, the run has a page and pictures; the pictures have content, which takes most of the time of a run,
    only if it is "pictures".
    """
    selects_callbacks = any(override.startswith(("callbacks=", "debug=")) for override in overrides)
    names = ("progress", "baseline", *(() if draws else ("removal",)))
    slow = [f"~callbacks.{name}" for name in names if not any(name in override for override in overrides)]
    options = ["logger=csv", *([] if selects_callbacks else slow)]
    cfg = small_config(folder, [*SMALL, "trainer.max_epochs=2", *options, *overrides])
    return run_config(cfg, draws)


def reporting(draws: bool | str) -> AbstractContextManager[object]:
    """What a run draws: no report, a report with empty pictures, or, for "pictures", one with all their content."""
    if draws == "pictures":
        return nullcontext()
    if draws:
        return patch("matplotlib.figure.Figure.savefig", lambda figure, path, **_: Path(path).touch())
    return patch("heedful.training.run.write_run_report", return_value=[])


def run_config(cfg: DictConfig, draws: bool | str = False) -> dict[str, Any]:
    """Run `src.train` with a configuration in this process, and return its result.json."""
    from heedful.commands.train import main

    validate_config(cfg, "train")
    with reporting(draws):
        main.__wrapped__(cfg)  # type: ignore[attr-defined]
    return json.loads(Path(cfg.paths.output_dir, "result.json").read_text())


@contextmanager
def interrupted(number: int) -> Iterator[list[int]]:
    """Send SIGINT to this process in this batch of a training, the first of which is 1, and record the batches."""
    from heedful.training.lit import LitClassifier

    step, batches = LitClassifier.training_step, list[int]()

    def training_step(self: Any, batch: Batch, index: int) -> torch.Tensor:
        batches.append(index)
        if len(batches) == number:
            os.kill(os.getpid(), signal.SIGINT)
        return step(self, batch, index)

    with patch.object(LitClassifier, "training_step", training_step):
        yield batches


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def trained(folder: Path, *overrides: str) -> Path:
    """Train without evaluation and pictures, and return the path of the last checkpoint."""
    train(folder, "callbacks=checkpoints", "test=false", *overrides)
    return folder / "checkpoints" / "last.ckpt"


def saved_predictions(run: Path, split: str = "test") -> Predictions:
    return Predictions.load(run / "predictions" / f"{split}.npz")


def classified(probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None) -> Predictions:
    """The predictions of a model of the classes 0, 1, 2, … for the texts of a test split."""
    task = Multiclass(tuple(map(str, range(probabilities.shape[1]))))
    return Predictions("test", probabilities, labels, task, np.arange(len(labels)), groups)


def last_weights(run: Path) -> dict[str, torch.Tensor]:
    return torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]


def assert_equal(state: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert state.keys() == other.keys()
    for name, value in state.items():
        assert torch.equal(value, other[name]), name


def assert_equal_weights(first: Path, second: Path) -> None:
    """Compare the weights in the last checkpoints of two runs, which must be identical."""
    assert_equal(last_weights(first), last_weights(second))


def change_checkpoint(path: Path, change: Callable[[dict[str, Any]], object], target: Path | None = None) -> Path:
    """Change the content of a checkpoint, in place or in a copy, and return the path of the changed file."""
    content = torch.load(path, weights_only=True)
    change(content)
    torch.save(content, target or path)
    return target or path


def change_card(path: Path, key: str, value: Any, target: Path | None = None) -> Path:
    """Set a value at a dotted path in the card of a checkpoint, in place or in a copy, and return the file's path."""

    def change(content: dict[str, Any]) -> None:
        card = json.loads(content["heedful"])
        *parents, last = key.split(".")
        node = card
        for parent in parents:
            node = node[parent]
        node[last] = value
        content["heedful"] = json.dumps(card)

    return change_checkpoint(path, change, target)


def evaluate(folder: Path, checkpoint: Path | str, *overrides: str, draws: bool | str = False) -> dict[str, Any]:
    """Run `src.eval` in this process, and return the content of its result.json; `checkpoint` may be a list in [ ]."""
    from heedful.commands.eval import main

    path = checkpoint if str(checkpoint).startswith("[") else f"'{checkpoint}'"
    paths = [f"ckpt_path={path}", f"paths.output_dir='{folder}'", "callbacks=none", "logger=none"]
    lines = [*paths, *overrides, f"++data.cache_dir='{folder.parent / 'cache'}'"]
    cfg = without_hydra(repository("eval").compose(lines))
    with reporting(draws):
        main.__wrapped__(cfg)  # type: ignore[attr-defined]
    return json.loads((folder / "result.json").read_text())


def one_batch(codec: Schema, texts: Sequence[str], labels: Sequence[int] | np.ndarray | None = None) -> Batch:
    """Create one batch of all texts in the same order; without `labels`, every label is -1."""
    batch = codec.builder(texts)(np.arange(len(texts)))
    return batch if labels is None else batch._replace(targets=torch.as_tensor(np.asarray(labels)))


def command(folder: Path, name: str, *arguments: str) -> tuple[list[str], dict[str, Any]]:
    """The arguments with which `subprocess` runs `python -m src.<name>` in `folder`."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "XDG_CACHE_HOME": str(folder / "cache")}
    environment |= {"OMP_NUM_THREADS": "1", "COLUMNS": "100"}
    options = {"cwd": folder, "env": environment, "text": True, "encoding": "utf-8"}
    return [sys.executable, "-m", f"src.{name}", *arguments], options


def run(folder: Path, name: str, *arguments: str, stdin: str = "") -> str:
    """Run `python -m src.<name>` in `folder`, which must succeed, and return standard output."""
    process = complete(*command(folder, name, *arguments), input=stdin)
    assert process.returncode == 0, process.stderr
    return process.stdout
