"""The logger for Weights & Biases: `logger=wandb` selects it."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, Literal

import wandb
from pytorch_lightning.loggers import WandbLogger

from src.errors import UserError
from src.loggers.tracker import Tracker
from src.records.examples import Example, read_examples
from src.records.files import read_predictions
from src.report.words import clean_text, top_words
from src.run_result import RunResult

FOLDER = re.compile(r"(?:offline-)?run-(\d{8}_\d{6})-([\w-]{1,64})")  # time and id of a run
EXIT_CODES = {"completed": 0, "pruned": 0, "failed": 1, "interrupted": 255}  # W&B displays finished, failed or killed
TAGGED_COMPONENTS = ("embedding", "position", "encoder", "attention", "pooling")


class Wandb(Tracker, WandbLogger):
    """Lightning's W&B logger, which also logs the run's tables, pictures, page and status.

    Args:
        offline: whether to keep the run in its folder, from which `wandb sync` can upload the run; the environment
            variable WANDB_MODE takes precedence.
        log_model: True uploads the checkpoints after training, "all" also uploads them during training; both need an
            online run.
        options: other options of Lightning's logger and of `wandb.init`.

    Raises:
        UserError: if the run is online and no account is configured.
        ValueError: if `log_model` is set in an offline run.
    """

    def __init__(self, offline: bool = True, log_model: bool | Literal["all"] = False, **options: Any) -> None:
        mode = os.environ.get("WANDB_MODE") or ("offline" if offline else "online")
        if log_model and mode != "online":
            raise ValueError(f"log_model={log_model} needs an online run: offline=false")
        if mode == "online" and not wandb.login(prompt=False, verify=False):
            setting = "WANDB_MODE=online" if offline else "logger.wandb.offline=false"
            raise UserError(
                f"{setting} needs a W&B account: run `wandb login` once, set WANDB_API_KEY, or keep the run in its "
                "folder with WANDB_MODE=offline"
            )
        # Lightning's own `offline` sets an environment variable, which would affect the next job of a sweep
        super().__init__(mode=mode, log_model=log_model, **options)
        self._wandb_init.pop("anonymous")  # Lightning always passes it, and W&B warns about it
        if mode != "online":  # W&B would import Launch, in 1.5 s of CPU time, for inputs that only its jobs have
            no_inputs: Any = SimpleNamespace(StagedLaunchInputs=lambda: SimpleNamespace(apply=lambda run: None))
            sys.modules.setdefault("wandb.sdk.launch.inputs.internal", no_inputs)

    @property
    def experiment(self) -> Any:
        """The W&B run, which starts at the first access.

        Raises:
            UserError: if W&B cannot start the run.
        """
        try:
            return super().experiment
        except wandb.errors.Error as error:
            raise UserError(
                f"W&B could not start a run: {error}; WANDB_MODE=offline keeps the run in its folder"
            ) from error

    def continue_run(self) -> None:
        """Continue the newest W&B run in the folder, unless an id is configured."""
        folders = Path(self.save_dir or ".", "wandb").glob("*run-*")
        ids = sorted(match.groups() for folder in folders if (match := FOLDER.fullmatch(folder.name)))
        if ids and self._wandb_init.get("id") is None:
            self._wandb_init["id"] = ids[-1][1]

    def describe(self, result: RunResult) -> None:
        run, choices = self.experiment, dict(result.choices)
        values = {"choices": choices, "variant": result.architecture, "overrides": list(result.overrides)}
        run.config.update(values, allow_val_change=True)
        names = [choices[group] for group in TAGGED_COMPONENTS if choices.get(group, "none") != "none"]
        run.tags = tuple(dict.fromkeys([*(run.tags or ()), *names]))

    def show(self, result: RunResult, folder: Path, files: Sequence[Path], step: int) -> None:
        self.experiment.summary.update(scores(result))
        pictures = {file.stem: file for file in files if file.suffix == ".png"}
        media: dict[str, Any] = {f"pictures/{name}": wandb.Image(str(path)) for name, path in pictures.items()}
        pages = [file for file in files if file.suffix == ".html"]
        media |= {f"pages/{page.stem}": wandb.Html(str(page), inject=False) for page in pages}
        class_names: Sequence[str] = []
        if predictions := read_predictions(folder):
            predicted, labels = predictions.probabilities.argmax(1).tolist(), predictions.labels.tolist()
            class_names = predictions.class_names
            media["confusion"] = wandb.plot.confusion_matrix(y_true=labels, preds=predicted, class_names=class_names)
        if examples := read_examples(folder, class_names):
            rows = [_row(example) for example in examples]
            media["examples"] = wandb.Table(columns=list(rows[0]), data=[list(row.values()) for row in rows])
        with _stage_files_in(self.save_dir):
            self.experiment.log(media | {"trainer/global_step": step})

    def close(self, result: RunResult) -> None:
        try:
            self.experiment.summary.update({**costs(result), "status": result.status})
        finally:  # a run that has not ended would also receive the values of the next job of a sweep
            self.experiment.finish(exit_code=EXIT_CODES[result.status])


def scores(result: RunResult) -> dict[str, float]:
    """Return each score with its 95 % interval and each split's number of texts, except undefined values.

    The test accuracy is repeated under the encoder's name: a panel shows all runs that have its metric, so a panel for
    one encoder needs a separate metric.
    """
    numbers: dict[str, float | None] = {}
    for name, score in result.metrics.items():
        numbers |= {name: score.value, f"{name}_low": score.low, f"{name}_high": score.high}
        numbers[f"{name.partition('/')[0]}/n"] = score.n
    if encoder := result.choices.get("encoder"):
        numbers[f"of_encoder/{encoder}"] = numbers.get("test/acc")
    return {name: number for name, number in numbers.items() if number is not None}


def costs(result: RunResult) -> dict[str, float]:
    """Return the parameters, seconds, speed, peak memory, best score and best epoch of a run, if they are known."""
    parameters, seconds, memory, best = result.parameters, result.seconds, result.peak_memory_mb, result.best
    numbers = {
        "parameters/total": parameters.total,
        "parameters/trainable": parameters.trainable,
        **{f"parameters/{name}": count for name, count in parameters.by_part.items()},
        "seconds/total": seconds.total,
        "seconds/fit": seconds.fit,
        "seconds/test": seconds.test,
        "seconds/epoch": median(seconds.per_epoch) if seconds.per_epoch else None,
        "peak_memory_mb/process": memory.process,
        "peak_memory_mb/cuda": memory.cuda,
        "best/value": best.value,
        "best/epoch": best.epoch,
        "texts_per_second": result.texts_per_second,
    }
    return {name: number for name, number in numbers.items() if number is not None}


@contextmanager
def _stage_files_in(folder: str | None) -> Iterator[None]:
    """Make W&B store tables in the run's folder until the upload, instead of in the user's home folder.

    If the environment variable WANDB_DATA_DIR is set, W&B uses that folder.
    """
    previous = os.environ.get("WANDB_DATA_DIR")
    os.environ["WANDB_DATA_DIR"] = previous or os.path.abspath(os.path.join(folder or ".", "wandb", "data"))
    try:
        yield
    finally:
        if previous is None:
            del os.environ["WANDB_DATA_DIR"]


def _row(example: Example) -> dict[str, Any]:
    """Convert an example to a table row."""
    top = top_words(example.words, example.weights)
    return {
        "split": example.split,
        "row": example.index,
        "label": example.label,
        "predicted": example.predicted,
        "right": None if example.label is None else example.label == example.predicted,
        "probability": example.probabilities[example.predicted],
        "text": " ".join(map(clean_text, example.words)),
        "most attended": ", ".join(f"{clean_text(word)} {weight:.3f}" for _, word, weight in top),
    }
