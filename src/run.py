"""The lifecycle of a run: its folder, seed, signals, loggers and record."""

import json
import logging
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import pytorch_lightning as pl
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only

from src import build, environment
from src.callbacks.predictions import Predictions
from src.callbacks.pruning import Pruned
from src.callbacks.speed import Speed
from src.callbacks.stop import Interrupted, StopOnSignal
from src.checkpoint import Card, read_checkpoint
from src.config.paths import make_paths_absolute
from src.console import OutputConsole
from src.data.data_summary import summarize_data
from src.data.datamodule import TextDataModule
from src.errors import UserError
from src.files import lock_folder, write_text
from src.formatting import format_now
from src.lit import LitClassifier
from src.loggers.tracker import Tracker
from src.process import announce, handle_signals
from src.report.data_section import data_section
from src.report.run import write_report
from src.report.terminal import render_terminal
from src.run_folder import require_new, run_folder_of, trim_logs
from src.run_log import write_end
from src.run_result import RESULT_FILE, Best, Parameters, RunResult, Seconds
from src.summary import evaluate_splits, print_summary, warn_of_single_class
from src.training_state import TrainingState, read_training_state, require_same_data, require_same_options

LOCK_TIMEOUT = 1.0  # seconds; a process that only reads the status of a run holds the lock for a shorter time

log = logging.getLogger(__name__)


class Run:
    """Context of one training or evaluation.

    On entry it locks the folder, writes the resolved config, sets the seed and handles Ctrl-C, SIGTERM and SIGHUP. On
    exit it writes the record with the status completed, pruned, interrupted or failed, and closes the trackers. After a
    signal, the process exits with 128 plus the signal's number; a pruned run ends without an exception.

    A folder holds one run. A run that resumes changes nothing in it before `start` is called.

    Args:
        cfg: the whole configuration.
    """

    def __init__(self, cfg: DictConfig) -> None:
        self.cfg = cfg
        self.config: dict[str, Any] = make_paths_absolute(OmegaConf.to_container(cfg, resolve=True))
        self.folder = Path(cfg.paths.output_dir)
        self.stop = StopOnSignal(self.folder / "checkpoints" / "last.ckpt")
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
        self._resumes = bool(cfg.get("train")) and cfg.ckpt_path is not None
        self._is_started = False  # whether the files of the run may be written
        self._start = time.perf_counter()
        self._lock, self._signals = ExitStack(), ExitStack()

    def __enter__(self) -> "Run":
        """Prepare the run."""
        self._lock.enter_context(self._locked_folder())
        if not self._resumes:
            self._write_config()
        if self.cfg.extras.ignore_warnings:
            _hide_library_warnings()
        self._record(seed=pl.seed_everything(self.cfg.seed, workers=True, verbose=False))
        self._signals.enter_context(handle_signals(self.stop.handle))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._signals.close()
        self._record_ending(error)
        self._write_record()
        if _is_main_process():
            write_end(self.result)
        for tracker in self.trackers:
            try:
                tracker.close(self.result)
            except Exception as reason:  # an unreachable server must not change the status of the run
                log.warning("%s could not be closed: %s", type(tracker).__name__, reason)
        self._lock.close()
        if isinstance(error, Interrupted):
            if _is_main_process() and self.stop.checkpoint.exists():
                announce(f"Interrupted. Resume with: {environment.resume_command(self.stop.checkpoint)}")
            raise SystemExit(128 + error.signum) from None
        return isinstance(error, Pruned)

    @property
    def callbacks(self) -> list[pl.Callback]:
        """The callbacks of every run: they handle signals, measure the speed and write the predictions."""
        return [self.stop, self.speed, Predictions(self.folder / "predictions")]

    def card(self, data: TextDataModule) -> Card:
        """Return the card of a model that this run trains on `data`."""
        config = json.loads(json.dumps({**self.config, "choices": dict(self.result.choices)}))  # keys become strings
        return Card(config=config, codec=data.codec, class_counts=data.class_counts, fingerprint=data.data_fingerprint)

    def earlier_training(self) -> TrainingState | None:
        """Read the state from which the run resumes; None if it starts anew."""
        if not self._resumes:
            return None
        state = read_training_state(self.cfg.ckpt_path)
        require_same_options(self.cfg, self.config, state)
        return state

    def start(self, loggers: list[Logger], card: Card, state: TrainingState | None = None) -> None:
        """Log the configuration to the loggers; loggers that are trackers are closed at the end of the run.

        Args:
            card: the card of the model.
            state: the state from which the run resumes. The rows that were logged after it are removed.
        """
        if state is not None:
            require_same_data(card, state)
        if _is_main_process():
            self.trackers = [logger for logger in loggers if isinstance(logger, Tracker)]
            if state is not None:
                trim_logs(self.folder, state.steps)
                for tracker in self.trackers:
                    tracker.continue_run()
                self._write_config()
        for logger in loggers:
            logger.log_hyperparams(self.config)

    def describe(self, data: TextDataModule, module: LitClassifier, trainer: pl.Trainer) -> None:
        """Record the data, parameters, device and versions; before training, print the summary of the data."""
        selected = {group: option for group, option in self.result.choices.items() if option != "None"}
        counts = {
            name: sum(p.numel() for p in component.parameters()) for name, component in module.model.named_children()
        }
        trainable = sum(p.numel() for p in module.parameters() if p.requires_grad)
        has_vector = module.model.embedding.tokens_with_vectors()
        self._record(
            choices={**module.card.choices, **selected},
            data=summarize_data(data, None if has_vector is None else has_vector.cpu().numpy()),
            parameters=Parameters(sum(counts.values()), trainable, counts),
            device=environment.device_name(trainer.strategy.root_device),
            precision=str(trainer.precision),
            versions=environment.versions(),
            git_commit=environment.git_commit(),
        )
        for tracker in self.trackers:
            tracker.describe(self.result)
        if self.cfg.get("train") and trainer.is_global_zero and (section := data_section(self.result.data)):
            OutputConsole().print(render_terminal([section]))

    def load_best(self, trainer: pl.Trainer, module: LitClassifier) -> None:
        """Load the best weights of the training into the module, and record them; without such, keep the last ones."""
        callback = trainer.checkpoint_callback
        if not isinstance(callback, ModelCheckpoint) or callback.monitor is None:
            return
        if not callback.best_model_path or callback.best_model_score is None:
            log.warning(
                "No best.ckpt was selected, because training ended before %s was measured: the last weights are "
                "tested. Train longer, or validate earlier (trainer.check_val_every_n_epoch, val_check_interval)",
                callback.monitor,
            )
            return
        path = callback.best_model_path
        _, content = read_checkpoint(path)
        build.load_weights(module, content["state_dict"], path)
        self._record(
            best=Best(
                checkpoint=os.path.relpath(path, self.folder),
                monitor=callback.monitor,
                value=callback.best_model_score.item(),
                epoch=content["epoch"],
            )
        )

    def report(self, trainer: pl.Trainer) -> None:
        """Compute and record the final metrics, draw the figures, and print the metrics."""
        if not trainer.is_global_zero:
            return
        module: Any = trainer.lightning_module
        counts = module.card.class_counts
        metrics, classes, baseline = evaluate_splits(self.folder, counts.index(max(counts)), module.metrics)
        self._record(metrics=metrics, classes=classes, baseline=baseline)
        self._write_record()
        try:
            figures = write_report(self.folder)
            for tracker in self.trackers:
                tracker.show(self.result, self.folder, figures, trainer.global_step)
        except Exception as error:  # a report that cannot be written does not change the status of the run
            log.warning("The report could not be written, but the scores are in %s: %s", RESULT_FILE, error)
        print_summary(self.result, self.folder)
        warn_of_single_class(self.folder)

    @contextmanager
    def _locked_folder(self) -> Iterator[None]:
        """Create the folder and lock it; a sweep locks the folders of its jobs itself."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._resumes and run_folder_of(self.cfg.ckpt_path).resolve() != self.folder.resolve():
            raise UserError(
                f"ckpt_path={self.cfg.ckpt_path}: a training resumes in the folder of its own run, not in {self.folder}"
            )
        is_job = HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN
        if is_job or not _is_main_process():
            yield
            return
        with lock_folder(self.folder, LOCK_TIMEOUT) as is_locked:
            if not is_locked:
                raise UserError(
                    f"another process is writing to {self.folder}: wait until it ends, or choose another hydra.run.dir"
                )
            if not self._resumes:
                require_new(self.folder)
            yield

    def _write_config(self) -> None:
        self._is_started = True
        if _is_main_process():
            write_text(self.folder / "config.yaml", OmegaConf.to_yaml(self.config))

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
            peak_memory_mb=self.speed.peak_memory or environment.peak_memory(),
            finished=format_now(),
        )
        if self._is_started and _is_main_process():
            self.result.save(self.folder)


def _is_main_process() -> bool:
    """Return whether this process writes files; exactly one process of a distributed run writes files."""
    return getattr(rank_zero_only, "rank", 0) == 0


def _hide_library_warnings() -> None:
    warnings.filterwarnings("ignore", module=r"pytorch_lightning|lightning_fabric|torchmetrics|torch")
    for name in ("pytorch_lightning", "lightning_fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
