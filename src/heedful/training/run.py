"""The lifecycle of a run: its folder, seed, signals, loggers and record."""

import logging
import os
import shlex
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import ModelCheckpoint, WeightAveraging

from heedful.base.errors import UserError
from heedful.base.files import lock_folder, remove_parts, write_yaml
from heedful.base.formatting import format_duration, format_now
from heedful.base.lightning import is_main_process
from heedful.base.process import Interrupted, announce, end_with_parent, handle_signals, typed, write_log
from heedful.config.keys import make_paths_absolute
from heedful.config.overrides import quote
from heedful.data.source import Source, source_of
from heedful.kernels.threads import use_threads
from heedful.report.data_section import data_section
from heedful.report.run_report import print_files, print_summary, write_run_report
from heedful.report.terminal import OutputConsole, render_terminal
from heedful.runs import environment
from heedful.runs.checkpoint import Card, read_checkpoint
from heedful.runs.data_summary import summarize_data
from heedful.runs.environment import Launch
from heedful.runs.folder import LAST, require_kept, require_new, run_folder_of, trim_logs
from heedful.runs.result import Best, Parameters, RunResult, Seconds
from heedful.runs.training_state import TrainingState, require_same_training
from heedful.terms.confidence import lowest_error
from heedful.terms.evaluation import evaluate_splits
from heedful.training import restoring
from heedful.training.callbacks.baseline import LinearBaseline
from heedful.training.callbacks.predictions import PredictionWriter
from heedful.training.callbacks.speed import Speed
from heedful.training.callbacks.stop import StopOnSignal
from heedful.training.evaluator import Evaluator
from heedful.training.lit import LitClassifier
from heedful.training.loggers.options import log_options

TIMED = 64  # test texts whose predictions are timed
LOCK_TIMEOUT = 1.0  # seconds; a sweep that records the end of a job holds the lock for a shorter time

log = logging.getLogger(__name__)


class Run:
    """One training or evaluation: its record, and the callbacks of every run.

    If it `resumes`, it continues the training of `cfg.ckpt_path` in the folder of that run.
    """

    def __init__(self, cfg: DictConfig, launch: Launch, resumes: bool = False) -> None:
        self.cfg, self.launch = cfg, launch
        self.config: dict[str, Any] = make_paths_absolute(OmegaConf.to_container(cfg, resolve=True))
        self.folder = Path(cfg.paths.output_dir)
        self.stop = StopOnSignal(self.folder / "checkpoints" / LAST)
        self.speed = Speed()
        self.writer = PredictionWriter(self.folder / "predictions", cfg.extras.get("keep_texts", True))
        self.callbacks: list[pl.Callback] = [self.stop, self.speed, self.writer]
        self.trackers: list[Any] = []  # loggers that, as `Wandb`, also log the record of the run
        self.resumes = resumes
        self.is_started = False  # whether the files of the run may be written
        self.start_time, self.start_cpu = time.perf_counter(), environment.cpu_seconds()
        self.result = RunResult(
            task=cfg.task_name,
            status="failed",
            command=launch.command,
            overrides=launch.overrides,
            seed=cfg.seed,
            choices=launch.choices(self.config),
            started=format_now(),
        )

    def record(self, **values: Any) -> None:
        self.result = replace(self.result, **values)

    def write_config(self) -> None:
        """Write the resolved configuration; from now on, the run has a record."""
        self.is_started = True
        if is_main_process():
            write_yaml(self.folder / "config.yaml", self.config)

    def card(self, data: Source) -> Card:
        """Return the card of a model that this run trains on `data`."""
        return Card.of({**self.config, "choices": dict(self.result.choices)}, data)

    def start(self, trainer: pl.Trainer, module: Evaluator, data: Source, state: TrainingState | None = None) -> None:
        """Record data, parameters, device and versions, remove logged rows after `state`, and log the configuration."""
        ensemble = module.ensemble()
        if state is not None:
            require_same_training(self.cfg, ensemble.members[0].card, state)
            # before the record of the model is made; Lightning loads the weights again
            restoring.load_weights(module, read_checkpoint(state.path)[1]["state_dict"], state.path)
        if is_main_process():
            self.trackers = [logger for logger in trainer.loggers if hasattr(logger, "describe")]
            remove_parts(self.folder)
            trim_logs(self.folder, 0 if state is None else state.step)
            if state is not None:
                for tracker in self.trackers:
                    tracker.continue_run()
                self.write_config()
        if "model" not in self.config:  # the module of a training logs its own options
            log_options(trainer.loggers, self.config)
        counts = {name: sum(p.numel() for p in part.parameters()) for name, part in ensemble.parts.items()}
        trainable = sum(p.numel() for p in module.parameters() if p.requires_grad)
        file = {"data": Path(self.cfg.file).name} if self.cfg.get("file") else {}
        has_vector = ensemble.members[0].model.embedding.tokens_with_vectors()
        trained_texts = [member.card.trained_on(data) for member in ensemble.members]
        self.record(
            choices={**ensemble.choices, **self.result.choices, **file},
            data=summarize_data(data, trained_texts, None if has_vector is None else has_vector.cpu().numpy()),
            parameters=Parameters(sum(counts.values()), trainable, counts),
            device=environment.device_name(trainer.strategy.root_device),
            precision=str(trainer.precision),
            versions=environment.versions(),
            git_commit=environment.git_commit(),
        )
        for tracker in self.trackers:
            tracker.describe(self.result)
        is_shown = trainer.is_global_zero and not (self.launch.is_job or self.launch.is_quiet)
        if is_shown and (section := data_section(self.result.data)):
            OutputConsole().print(render_terminal([section]))
        if module.start:
            write_log(module.start)
            if is_shown:
                announce(module.start)

    def load_best(self, trainer: pl.Trainer, module: LitClassifier) -> None:
        """Load the best weights of the training into the module, and record them; without such, keep the last ones."""
        # the average of the last epoch would replace the weights during the next validation
        trainer.callbacks = [callback for callback in trainer.callbacks if not isinstance(callback, WeightAveraging)]  # type: ignore[attr-defined]
        callback = trainer.checkpoint_callback
        if not isinstance(callback, ModelCheckpoint) or callback.monitor is None:
            return
        path, score = callback.best_model_path, callback.best_model_score
        if not path or score is None:
            log.warning(
                "No best.ckpt was selected, because training ended before %s was measured: the last weights are "
                "used. Train longer, or validate earlier (trainer.check_val_every_n_epoch, val_check_interval)",
                callback.monitor,
            )
            return
        card, content = read_checkpoint(path)
        module.task = card.codec.task
        restoring.load_weights(module, content["state_dict"], path)
        path = os.path.relpath(path, self.folder)
        if callback.monitor != "epoch":  # without validation texts, no epoch is chosen
            self.record(best=Best(path, callback.monitor, score.item(), content["epoch"], callback.mode))
        self.record_costs()  # the epochs
        if note := self.result.open_end:  # with a test, the verdict says it, too
            (write_log if self.cfg.test else log.warning)(note)

    def report(self, trainer: pl.Trainer, module: Evaluator) -> None:
        """Compute and record the final metrics, draw the figures, and print the metrics."""
        if not trainer.is_global_zero:
            return
        ensemble, classified = module.ensemble(), self.writer.predictions
        majority = module.task.majority(ensemble.members[0].card.class_counts)
        callbacks: list[pl.Callback] = trainer.callbacks  # type: ignore[attr-defined]
        linear = next((callback.predictions for callback in callbacks if isinstance(callback, LinearBaseline)), {})
        metrics, classes, baseline = evaluate_splits(classified, linear, majority, module.scores)
        lower = tuple(name for name in module.metrics if module.direction(f"val/{name}") == "min")
        self.record(metrics=metrics, lower_is_better=lower, classes=classes, baseline=baseline)
        branch: Any = ensemble.parts.get("branch")
        if branch is not None:
            self.record(branch_weight=round(branch.weight.item(), 6))
        self.record(
            thresholds=dict(zip(module.task.classes, module.task.applied_thresholds, strict=False)),
            lowest_error=lowest_error(getattr(module.task, "limits", ())),
        )
        self.record_costs()
        predictions = classified.get("test") or classified.get("val")
        if not self.launch.has_page:
            return
        if "test" in classified and len(classified["test"].labels):
            texts = source_of(trainer).table("test", classified["test"].index[:TIMED].tolist())
            self.record(ms_per_text=ensemble.time_texts(texts))
        try:
            figures = write_run_report(self.folder, self.result, predictions)
            for tracker in self.trackers:
                tracker.show(self.result, figures, trainer.global_step)
        except Exception as error:  # a report that cannot be written does not change the status of the run
            log.warning("The report could not be written, which changes no score: %s", error)
        if not self.launch.is_quiet:
            print_summary(self.result, predictions)

    def record_costs(self) -> None:
        """Record the durations until now, the speed and the peak memory."""
        epochs = tuple(seconds for _, seconds in self.speed.epochs)
        self.record(
            seconds=Seconds(
                time.perf_counter() - self.start_time,
                sum(epochs) if epochs else None,
                epochs,
                self.speed.test_seconds,
                environment.cpu_seconds() - self.start_cpu,
            ),
            texts_per_second=self.speed.texts_per_second,
            peak_memory_mb=self.speed.peak_memory or environment.peak_memory(),
            finished=format_now(),
        )

    def end(self) -> None:
        """Write the record, and close the trackers."""
        self.record_costs()
        if self.is_started and is_main_process():
            self.result.save(self.folder)
            is_shown = self.result.metrics and self.launch.has_page and not self.launch.is_quiet
            if is_shown and self.result.status == "completed":
                print_files(self.folder)
        if is_main_process():
            reason = f": {self.result.error}" if self.result.error else ""
            seconds = format_duration(time.perf_counter() - self.start_time)
            write_log(f"{self.result.status.capitalize()} after {seconds}{reason}")
        for tracker in self.trackers:
            try:
                tracker.close(self.result)
            except Exception as reason:  # an unreachable server must not change the status of the run
                log.warning("%s could not be closed: %s", type(tracker).__name__, reason)


@contextmanager
def open_run(cfg: DictConfig, launch: Launch, resumes: bool = False) -> Iterator[Run]:
    """Lock the folder of a run, write its config, set the seed and handle Ctrl-C, SIGTERM and SIGHUP during the block.

    At the end, the record is written with its status. A run that resumes changes nothing before `start` is called.
    """
    if not is_main_process():
        end_with_parent()
    run = Run(cfg, launch, resumes)
    with _locked_folder(run):
        if not run.resumes:
            run.write_config()
        run.record(seed=pl.seed_everything(cfg.seed, workers=True, verbose=False))
        try:
            with _process_options(cfg), handle_signals(run.stop.handle), _kept_folder(run):
                yield run
            run.record(status="completed")
        except Interrupted as error:
            run.record(status="interrupted", error=str(error))
            raise
        except BaseException as error:
            run.record(error=f"{type(error).__name__}: {error}")
            raise
        finally:
            run.end()
            if run.result.status == "interrupted" and is_main_process() and run.stop.checkpoint.exists():
                argument = shlex.quote(f"ckpt_path={quote(str(run.stop.checkpoint))}")
                announce(f"Interrupted. Resume with: {typed('train')} {argument}")


@contextmanager
def _kept_folder(run: Run) -> Iterator[None]:
    """Raise a `UserError` at the end of the block, or instead of an error of a missing file, if the folder is gone."""
    missing = None
    try:
        yield
    except FileNotFoundError as error:
        missing = error
    if run.is_started and is_main_process():
        require_kept(run.folder)
    if missing is not None:
        raise missing


@contextmanager
def _process_options(cfg: DictConfig) -> Iterator[None]:
    """Apply the options `threads` and `extras.ignore_warnings` to this process during the block."""
    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning_fabric")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings(), use_threads(cfg.threads):
        if cfg.extras.ignore_warnings:
            warnings.filterwarnings("ignore", module=r"pytorch_lightning|lightning_fabric|torchmetrics|torch")
            for logger in loggers:
                logger.setLevel(logging.WARNING)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


@contextmanager
def _locked_folder(run: Run) -> Iterator[None]:
    """Create the folder and lock it; a sweep locks the folders of its jobs itself."""
    folder, checkpoint = run.folder, run.cfg.ckpt_path
    folder.mkdir(parents=True, exist_ok=True)
    if run.resumes and run_folder_of(checkpoint).resolve() != folder.resolve():
        raise UserError(f"ckpt_path={checkpoint}: a training resumes in the folder of its own run, not in {folder}")
    if run.launch.is_job or not is_main_process():
        yield
        return
    with lock_folder(folder, LOCK_TIMEOUT) as is_locked:
        if not is_locked:
            raise UserError(
                f"another process is writing to {folder}: wait until it ends, or choose another hydra.run.dir"
            )
        if not run.resumes:
            require_new(folder)
        yield
