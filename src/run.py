"""The lifecycle of a run: its folder, seed, signals, loggers and record."""

import logging
import os
import time
import warnings
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import pytorch_lightning as pl
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import Logger

from src import environment
from src.analysis.data_summary import summarize_data
from src.callbacks.predictions import Predictions
from src.callbacks.pruning import Pruned
from src.callbacks.speed import Speed
from src.callbacks.stop import Interrupted, StopOnSignal
from src.checkpoint import Card, read_checkpoint
from src.config.paths import make_paths_absolute
from src.data.datamodule import TextDataModule
from src.formatting import format_now
from src.lit import LitClassifier
from src.loggers.tracker import Tracker
from src.process.console import OutputConsole
from src.process.startup import announce
from src.reports.data_table import data_table
from src.reports.draw import draw_all
from src.run_folder import RunFolder, is_main_process, trim_logs
from src.run_log import write_end, write_start
from src.run_result import Best, Parameters, RunResult, Seconds
from src.summary import evaluate_splits, print_summary, warn_of_single_class

log = logging.getLogger(__name__)


class Run:
    """Context of one training or evaluation.

    On entry it locks the folder, writes the resolved config, sets the seed and handles Ctrl-C, SIGTERM and SIGHUP. On
    exit it writes the record with the status completed, pruned, interrupted or failed, and closes the trackers. After a
    signal, the process exits with 128 plus the signal's number; a pruned run ends without an exception.

    Files of an earlier run in the folder are removed or replaced only when `attach_loggers` is called; if the new run
    fails before this call, they remain.

    Args:
        cfg: the whole configuration.
    """

    def __init__(self, cfg: DictConfig) -> None:
        self.cfg = cfg
        self.config: dict[str, Any] = make_paths_absolute(OmegaConf.to_container(cfg, resolve=True))
        self.folder = RunFolder(Path(cfg.paths.output_dir))
        self.stop = StopOnSignal(str(self.folder.path / "checkpoints" / "last.ckpt"))
        self.speed = Speed()
        self.trackers: list[Tracker] = []
        self.result = RunResult(
            task=cfg.task_name,
            status="failed",
            command=environment.command_line(),
            overrides=environment.overrides(),
            seed=cfg.seed,
            choices=environment.choices(),
            started=format_now(),
        )
        self._start = time.perf_counter()
        self._lock = ExitStack()

    def __enter__(self) -> "Run":
        """Prepare the run.

        Raises:
            UserError: if another process writes to the folder, or an evaluation would replace a training run.
        """
        self._lock.enter_context(self.folder.lock(bool(self.cfg.get("train"))))
        if is_main_process() and not self.folder.is_reused:
            self.folder.write_config(self.config)
        if self.cfg.extras.ignore_warnings:
            _hide_library_warnings()
        self._record(seed=pl.seed_everything(self.cfg.seed, workers=True, verbose=False))
        self.stop.install()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.stop.restore()
        self._record_ending(error)
        self._write_record()
        if is_main_process():
            write_end(self.result)
        for tracker in self.trackers:
            try:
                tracker.close(self.result)
            except Exception as reason:  # an unreachable server must not change the status of the run
                log.warning("%s could not be closed: %s", type(tracker).__name__, reason)
        self._lock.close()
        if isinstance(error, Interrupted):
            if is_main_process() and Path(self.stop.checkpoint).exists():
                announce(f"Interrupted. Resume with: {environment.resume_command(self.stop.checkpoint)}")
            raise SystemExit(128 + error.signum) from None
        return isinstance(error, Pruned)

    @property
    def callbacks(self) -> list[pl.Callback]:
        """The callbacks of every run: they handle signals, measure the speed and write the predictions."""
        return [self.stop, self.speed, Predictions(self.folder.path / "predictions")]

    def attach_loggers(self, loggers: list[Logger], steps: int | None = None) -> None:
        """Log the configuration to the loggers; loggers that are trackers are closed at the end of the run.

        Before that, the files of an earlier run in the folder are removed, unless this run resumes the earlier run.

        Args:
            steps: number of optimizer steps before the checkpoint from which the run resumes; None if the run does not
                resume. If the checkpoint is in the run's own folder, the logs in this folder are continued.
        """
        self.trackers = [logger for logger in loggers if isinstance(logger, Tracker) and is_main_process()]
        if is_main_process():
            self._replace_files(loggers, steps)
        for logger in loggers:
            logger.log_hyperparams(self.config)

    def card(self, data: TextDataModule) -> Card:
        """Return the card of a model that this run trains on `data`."""
        config = {**self.config, "choices": dict(self.result.choices)}
        return Card(config, data.codec, data.class_counts, data.data_fingerprint)

    def describe(self, data: TextDataModule, module: LitClassifier, trainer: pl.Trainer) -> None:
        """Record the data, parameters, device and versions; before training, print the summary of the data."""
        selected = {group: option for group, option in self.result.choices.items() if option != "None"}
        counts = {
            name: sum(p.numel() for p in component.parameters()) for name, component in module.model.named_children()
        }
        trainable = sum(p.numel() for p in module.parameters() if p.requires_grad)
        has_vector = module.model.embedding.tokens_with_vectors()
        self._record(
            choices={**module.card["config"].get("choices", {}), **selected},
            data=summarize_data(data, None if has_vector is None else has_vector.cpu().numpy()),
            parameters=Parameters(sum(counts.values()), trainable, counts),
            device=environment.device_name(trainer.strategy.root_device),
            precision=str(trainer.precision),
            versions=environment.versions(),
            git_commit=environment.git_commit(),
        )
        for tracker in self.trackers:
            tracker.describe(self.result)
        if is_main_process():
            write_start(self.result)
        if self.cfg.get("train") and trainer.is_global_zero:
            OutputConsole().print(data_table(self.result.data))

    def select_checkpoint(self, trainer: pl.Trainer) -> str | None:
        """Record the best checkpoint, and return its path, so that it is evaluated.

        Without a best checkpoint, return `ckpt_path` if the run does not train; if the run trains, return None, which
        stands for the current weights.
        """
        callback = trainer.checkpoint_callback
        if (
            not isinstance(callback, ModelCheckpoint)
            or not callback.best_model_path
            or callback.best_model_score is None
        ):
            return None if self.cfg.train else self.cfg.ckpt_path
        best = Best(
            checkpoint=os.path.relpath(callback.best_model_path, self.folder.path),
            monitor=callback.monitor,
            value=callback.best_model_score.item(),
            epoch=read_checkpoint(callback.best_model_path, mmap=True)["epoch"],
        )
        self._record(best=best)
        return callback.best_model_path

    def report(self, trainer: pl.Trainer) -> None:
        """Compute and record the final metrics, draw the figures, and print the metrics."""
        if not trainer.is_global_zero:
            return
        module: Any = trainer.lightning_module
        counts = module.card["class_counts"]
        metrics, classes = evaluate_splits(self.folder.path, counts.index(max(counts)), module.metrics)
        self._record(metrics=metrics, classes=classes)
        self._write_record()  # before the figures, in case they fail
        figures = draw_all(self.folder.path)
        for tracker in self.trackers:
            tracker.show(self.result, self.folder.path, figures, trainer.global_step)
        print_summary(self.result, self.folder.path)
        warn_of_single_class(self.folder.path)

    def _replace_files(self, loggers: list[Logger], steps: int | None) -> None:
        """Remove the files of an earlier run or, if this run resumes it, the logged rows after its checkpoint."""
        if steps is not None and self.folder.contains(self.cfg.ckpt_path):
            trim_logs(self.folder.path, steps)
            for logger in loggers:
                if isinstance(logger, Tracker):
                    logger.continue_run()
        else:
            self.folder.remove_run_files()
        self.folder.write_config(self.config)

    def _record(self, **values: Any) -> None:
        self.result = replace(self.result, **values)

    def _record_ending(self, error: BaseException | None) -> None:
        if error is None:
            self._record(status="completed")
        elif isinstance(error, Interrupted):
            self._record(status="interrupted", error=str(error))
        elif isinstance(error, Pruned):
            self._record(status="pruned", error=str(error))
        else:
            self._record(error=f"{type(error).__name__}: {error}")

    def _write_record(self) -> None:
        epochs = tuple(seconds for _, seconds in self.speed.epochs)
        self._record(
            seconds=Seconds(time.perf_counter() - self._start, sum(epochs), epochs, self.speed.test_seconds),
            texts_per_second=self.speed.texts_per_second,
            peak_memory_mb=environment.peak_memory(),
            finished=format_now(),
        )
        self.folder.save_result(self.result)


def _hide_library_warnings() -> None:
    warnings.filterwarnings("ignore", module=r"pytorch_lightning|lightning_fabric|torchmetrics|torch")
    for name in ("pytorch_lightning", "lightning_fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
