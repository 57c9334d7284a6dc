"""The logger for Weights & Biases: `logger=wandb` selects it."""

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import wandb
from pytorch_lightning.loggers import WandbLogger

from heedful.base.errors import UserError
from heedful.runs.result import RunResult

EXIT_CODES = {"completed": 0, "failed": 1, "interrupted": 255}  # W&B displays finished, failed or killed
TAGGED_COMPONENTS = ("embedding", "position", "encoder", "attention", "pooling")


class Wandb(WandbLogger):
    """Lightning's W&B logger, which also logs the run's pictures, page and status; WANDB_MODE goes before `offline`."""

    def __init__(self, offline: bool = True, **options: Any) -> None:
        mode = os.environ.get("WANDB_MODE") or ("offline" if offline else "online")
        if options.get("log_model") and mode != "online":  # W&B would copy the checkpoints to the user's home folder
            raise ValueError("log_model needs an online run: offline=false")
        if mode == "online" and not wandb.login(prompt=False, verify=False):
            raise UserError(
                "an online run (logger.wandb.offline=false or WANDB_MODE=online) needs a W&B account: run "
                "`wandb login` once, set WANDB_API_KEY, or keep the run in its folder with WANDB_MODE=offline"
            )
        # Lightning's own `offline` sets an environment variable, which would affect later runs of this process
        super().__init__(mode=mode, **options)
        self._wandb_init.pop("anonymous")  # Lightning always passes it, and W&B warns about it
        if mode != "online":
            os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # W&B would send its measurements to its server

    def continue_run(self) -> None:
        """Continue the newest W&B run in the folder, `<mode>run-<time>-<id>`, unless an id is configured."""
        folders = Path(self.save_dir or ".", "wandb").glob("*run-*")
        if runs := sorted(folder.name.partition("run-")[2] for folder in folders):
            self._wandb_init["id"] = self._wandb_init["id"] or runs[-1].partition("-")[2]

    def describe(self, result: RunResult) -> None:
        """Log the choices of components, the variant and the overrides, before the training."""
        run, choices = self.experiment, dict(result.choices)
        values = {"choices": choices, "variant": result.architecture, "overrides": list(result.overrides)}
        run.config.update(values, allow_val_change=True)
        names = [choices[group] for group in TAGGED_COMPONENTS if choices.get(group, "none") != "none"]
        run.tags = tuple(dict.fromkeys([*(run.tags or ()), *names]))

    def show(self, result: RunResult, files: Sequence[Path], step: int) -> None:
        """Log the results of the test, with pictures (PNG) and pages (HTML)."""
        self.experiment.summary.update(scores(result))
        pictures = {file.stem: file for file in files if file.suffix == ".png"}
        media: dict[str, Any] = {f"pictures/{name}": wandb.Image(str(path)) for name, path in pictures.items()}
        pages = [file for file in files if file.suffix == ".html"]
        media |= {f"pages/{page.stem}": wandb.Html(str(page), inject=False) for page in pages}
        self.experiment.log(media | {"trainer/global_step": step})

    def close(self, result: RunResult) -> None:
        """Log the costs and the status, and end the log."""
        try:
            self.experiment.summary.update({**costs(result), "status": result.status})
        finally:  # a run that has not ended would also receive the values of the next job of a sweep
            self.experiment.finish(exit_code=EXIT_CODES[result.status])


def scores(result: RunResult) -> dict[str, float]:
    """Return the defined scores with their 95 % intervals, and the number of texts of a split."""
    numbers: dict[str, float | None] = {}
    for name, score in result.metrics.items():
        numbers |= {name: score.value, f"{name}_low": score.low, f"{name}_high": score.high}
        numbers[f"{name.partition('/')[0]}/n"] = score.n
    if encoder := result.choices.get("encoder"):
        numbers[f"of_encoder/{encoder}"] = numbers.get("test/acc")
    return {name: number for name, number in numbers.items() if number is not None}


def costs(result: RunResult) -> dict[str, float]:
    """Return the parameters, seconds, speed, peak memory, best score and best epoch of a run, if they are known."""
    numbers: dict[str, Any] = {"texts_per_second": result.texts_per_second}
    for name in ("parameters", "seconds", "peak_memory_mb", "best"):
        numbers |= {f"{name}/{key}": value for key, value in vars(getattr(result, name)).items()}
    numbers |= {f"parameters/{name}": count for name, count in result.parameters.by_part.items()}
    if epochs := result.seconds.per_epoch:
        numbers["seconds/epoch"] = median(epochs)
    return {name: number for name, number in numbers.items() if isinstance(number, int | float)}
