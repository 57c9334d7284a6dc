"""Weights & Biases: `logger=wandb`."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import wandb
from pytorch_lightning.loggers import WandbLogger
from wandb.sdk.wandb_run import Run

from src.errors import UserError
from src.loggers.tracker import Report, Tracker
from src.reports.files import Example
from src.reports.page.html import tag
from src.reports.page.strips import strip
from src.reports.words import clean_text, top_words

STAGED = "_detect_and_apply_job_inputs"  # of W&B's run, where it has one
EXIT_CODES = {"completed": 0, "pruned": 0, "failed": 1, "interrupted": 255}  # W&B shows finished, failed, killed
PARTS = ("embedding", "position", "encoder", "attention", "pooling")  # of which each run bears a tag
STYLE = """
:root { color-scheme: light dark }
body { margin: 0; font: 15px/1.9 system-ui, sans-serif }
.strip { margin: .3rem; overflow-wrap: anywhere }
.strip span { padding: .12em .25em; border-radius: .2em; background: rgb(37 110 190 / calc(var(--w) * .62)) }
"""


class Wandb(Tracker, WandbLogger):
    """Lightning's W&B logger, with the run's tables, pictures and page, and with its end.

    Args:
        offline: keep the run in its folder, from where `wandb sync` uploads it. WANDB_MODE in the environment, where
            there is one, decides instead.
        log_model: upload checkpoints; only online.
        options: the other options of Lightning's logger and of `wandb.init`.

    Raises:
        UserError: the run is online, but no account is known.
        ValueError: if checkpoints are to be uploaded from an offline run.
    """

    def __init__(self, offline: bool = True, log_model: bool | Literal["all"] = False, **options: Any) -> None:
        mode = os.environ.get("WANDB_MODE") or ("offline" if offline else "online")
        if log_model and mode != "online":
            raise ValueError(f"log_model={log_model} needs an online run: offline=false")
        if mode == "online" and not wandb.login(prompt=False, verify=False):
            raise UserError(
                f"{_asked_by(offline)} needs a W&B account, and none is known here: run `wandb login` once, set "
                "WANDB_API_KEY, or keep the run in its folder with WANDB_MODE=offline"
            )
        # Lightning's own `offline` would be left in the environment, for the next job of a sweep to find
        super().__init__(mode=mode, log_model=log_model, **options)
        self._wandb_init.pop("anonymous")  # Lightning passes it always, and W&B warns of it always

    @property
    def experiment(self) -> Any:
        """The W&B run; the first call begins it.

        Raises:
            UserError: if W&B cannot begin it.
        """
        try:
            with _without_launch():
                return super().experiment
        except wandb.errors.Error as error:
            raise UserError(f"W&B did not begin a run: {error}; WANDB_MODE=offline keeps it in its folder") from error

    def describe(self, facts: Mapping[str, Any]) -> None:
        run, choices = self.experiment, facts["choices"]
        run.config.update(dict(facts), allow_val_change=True)
        parts = [choices[part] for part in PARTS if choices.get(part, "none") != "none"]
        run.tags = tuple(dict.fromkeys([*(run.tags or ()), *parts]))

    def show(self, report: Report) -> None:
        run = self.experiment
        run.summary.update(report.numbers())
        encoder = run.config["choices"].get("encoder")
        if encoder and "test/acc" in report.metrics:
            # a panel shows all runs that have its metric, so that of one encoder needs a metric of its own
            run.summary[f"of_encoder/{encoder}"] = report.metrics["test/acc"].value
        media: dict[str, Any] = {f"pictures/{name}": wandb.Image(str(path)) for name, path in report.pictures.items()}
        media |= {f"pages/{name}": wandb.Html(str(path), inject=False) for name, path in report.pages.items()}
        if report.predictions:
            _, probabilities, labels, names, *_ = report.predictions
            predicted = probabilities.argmax(1).tolist()
            media["confusion"] = wandb.plot.confusion_matrix(y_true=labels.tolist(), preds=predicted, class_names=names)
        if report.examples:
            rows = [_row(example) for example in report.examples]
            media["examples"] = wandb.Table(columns=list(rows[0]), data=[list(row.values()) for row in rows])
        with _staged_in(self.save_dir):
            run.log(media | {"trainer/global_step": report.step})

    def close(self, status: str, numbers: Mapping[str, float]) -> None:
        self.experiment.summary.update({**numbers, "status": status})
        self.experiment.finish(exit_code=EXIT_CODES[status])


@contextmanager
def _staged_in(folder: str | None) -> Iterator[None]:
    """Have W&B keep the HTML of tables in the run's folder until it is uploaded, not in the user's home."""
    before = os.environ.get("WANDB_DATA_DIR")
    os.environ["WANDB_DATA_DIR"] = before or os.path.abspath(os.path.join(folder or ".", "wandb", "data"))
    try:
        yield
    finally:
        if before is None:
            del os.environ["WANDB_DATA_DIR"]


def _asked_by(offline: bool) -> str:
    return "logger.wandb.offline=false" if not offline else "WANDB_MODE=online"


def _row(example: Example) -> dict[str, Any]:
    """An example as a row of a table: its text is a strip of HTML in which a word's colour is its weight."""
    html = f"<!doctype html>{tag('meta', charset='utf-8')}<style>{STYLE}</style>{strip(example.words, example.weights)}"
    top = top_words(example.words, example.weights)
    return {
        "split": example.split,
        "row": example.index,
        "label": example.label,
        "predicted": example.predicted,
        "right": None if example.label is None else example.label == example.predicted,
        "probability": example.probabilities[example.predicted],
        "text": wandb.Html(html, inject=False, data_is_not_path=True),
        "most attended": ", ".join(f"{clean_text(word)} {weight:.3f}" for _, word, weight in top),
    }


@contextmanager
def _without_launch() -> Iterator[None]:
    """Keep W&B from importing its Launch, a second of CPU, to see whether a script staged inputs for it.

    Only one that has imported it itself can have.
    """
    kept = vars(Run).get(STAGED)
    if kept is None or "wandb.sdk.launch" in sys.modules:
        yield
        return
    setattr(Run, STAGED, lambda run: None)
    try:
        yield
    finally:
        setattr(Run, STAGED, kept)
