"""The lifecycle of a run: its folder, its record, and its status."""

import logging
import os
import platform
import resource
import shlex
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from datetime import datetime, timezone
from importlib.metadata import distributions, version
from pathlib import Path
from types import TracebackType
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only

from src.callbacks.pruning import Pruned
from src.callbacks.speed import Speed
from src.callbacks.stop import Interrupted, StopOnSignal
from src.checkpoint import read_checkpoint
from src.config.absolute_paths import make_paths_absolute
from src.data.datamodule import TextDataModule
from src.lit import LitClassifier
from src.loggers.tracker import Report, Tracker, costs
from src.process.startup import announce
from src.reports.draw import draw_all
from src.run_result import Best, Data, Parameters, PeakMemory, RunResult, Score, Seconds, exists
from src.summary import final_metrics, print_summary

log = logging.getLogger(__name__)
PACKAGES = (
    "torch",
    "pytorch-lightning",
    "torchmetrics",
    "hydra-core",
    "tokenizers",
    "datasets",
    "wandb",
    "numpy",
)


class Run:
    """Context of one training run.

    On entry it writes the resolved config, sets the seed and handles Ctrl-C, SIGTERM and SIGHUP. On exit it closes
    the loggers and writes the record with the status completed, pruned, interrupted or failed. A run that a signal
    interrupts exits with 128 plus the signal's number.

    In the folder of an earlier run, `config.yaml` and the record are replaced only after `describe` is called. If
    the new run fails before, the files of the earlier run remain.

    Args:
        cfg: the whole configuration.
    """

    def __init__(self, cfg: DictConfig) -> None:
        self.cfg = cfg
        self.folder = Path(cfg.paths.output_dir)
        self.config: dict[str, Any] = make_paths_absolute(OmegaConf.to_container(cfg, resolve=True))
        self.stop = StopOnSignal(str(self.folder / "checkpoints" / "last.ckpt"))
        self.speed = Speed()
        self.loggers: list[Logger] = []
        self.result = RunResult(
            task=cfg.task_name,
            status="failed",
            command=shlex.join(["python", "-m", f"src.{Path(sys.argv[0]).stem}", *sys.argv[1:]]),
            overrides=_overrides(),
            seed=cfg.seed,
            choices=_choices(),
        )
        self._started = time.perf_counter()
        self._replaces = True  # files of an earlier run in the same folder

    def __enter__(self) -> "Run":
        self.folder.mkdir(parents=True, exist_ok=True)
        self._replaces = not exists(self.folder)
        self._write_config()
        if self.cfg.extras.ignore_warnings:
            warnings.filterwarnings("ignore", module=r"pytorch_lightning|lightning_fabric|torchmetrics|torch")
            for name in ("pytorch_lightning", "lightning_fabric"):
                logging.getLogger(name).setLevel(logging.WARNING)
        seed = pl.seed_everything(self.cfg.seed, workers=True, verbose=False)
        self.result = replace(self.result, started=_now(), seed=seed)
        self.stop.install()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.stop.restore()
        if isinstance(error, Interrupted):
            self.result = replace(self.result, status="interrupted", error=str(error))
        elif isinstance(error, Pruned):
            self.result = replace(self.result, status="pruned", error=str(error))
        elif error is None:
            self.result = replace(self.result, status="completed")
        else:
            self.result = replace(self.result, error=f"{type(error).__name__}: {error}")
        self._write_record()
        for tracker in self._trackers:
            try:
                tracker.close(self.result.status, costs(self.result))
            except Exception as failure:  # an unreachable server must not change the status of the run
                log.warning("%s could not be closed: %s", type(tracker).__name__, failure)
        if isinstance(error, Interrupted):
            if self._is_writer and Path(self.stop.checkpoint).exists():
                announce(f"Interrupted. Resume with: ckpt_path={self.stop.checkpoint}")
            raise SystemExit(128 + error.signum) from None
        return isinstance(error, Pruned)

    @property
    def _is_writer(self) -> bool:
        """Whether this process writes files; false for all but one process of a distributed run."""
        return getattr(rank_zero_only, "rank", 0) == 0

    def _write_record(self) -> None:
        """Write the record; it is also called before the reports, in case they fail."""
        if not (self._is_writer and self._replaces):
            return
        epochs = tuple(seconds for _, seconds in self.speed.epochs)
        self.result = replace(
            self.result,
            seconds=Seconds(time.perf_counter() - self._started, sum(epochs), epochs, self.speed.seconds.get("test")),
            texts_per_second=self.speed.texts_per_second,
            peak_memory_mb=_peak_memory(),
            finished=_now(),
        )
        self.result.save(self.folder)

    def _write_config(self) -> None:
        if self._is_writer and self._replaces:
            (self.folder / "config.yaml").write_text(OmegaConf.to_yaml(self.config), encoding="utf-8")

    @property
    def _trackers(self) -> list[Tracker]:
        return [logger for logger in self.loggers if isinstance(logger, Tracker)] if self._is_writer else []

    def attach_loggers(self, loggers: list[Logger]) -> None:
        """Log the configuration to the loggers, which are closed with the status of the run."""
        self.loggers = loggers
        for logger in loggers:
            logger.log_hyperparams(self.config)

    def describe(self, data: TextDataModule, module: LitClassifier, trainer: pl.Trainer) -> None:
        """Record data, parameters, device and versions, and replace the files of an earlier run."""
        self._replaces = True
        self._write_config()
        selected = {group: choice for group, choice in self.result.choices.items() if choice != "None"}
        choices = {**module.card["config"].get("choices", {}), **selected}
        variant = " · ".join(choices[part] for part in ("encoder", "attention") if part in choices)
        for tracker in self._trackers:
            tracker.describe({"choices": choices, "variant": variant, "overrides": list(self.result.overrides)})
        parts = {name: sum(p.numel() for p in part.parameters()) for name, part in module.model.named_children()}
        trainable = sum(p.numel() for p in module.parameters() if p.requires_grad)
        device = trainer.strategy.root_device
        is_cuda = device.type == "cuda"
        self.result = replace(
            self.result,
            choices=choices,
            data=Data(data.fingerprint_, tuple(data.class_names), len(data.vocabulary), **data.sizes),
            parameters=Parameters(sum(parts.values()), trainable, parts),
            device=torch.cuda.get_device_name(device) if is_cuda else platform.processor() or "cpu",
            precision=str(trainer.precision),
            versions=_versions(),
            git_commit=_git_commit(),
        )

    def report(self, trainer: pl.Trainer) -> None:
        """Compute final metrics, draw figures, and print the metrics."""
        if not trainer.is_global_zero:
            return
        metrics = final_metrics(self.folder)
        self.result = replace(self.result, metrics={name: Score(*metric) for name, metric in metrics.items()})
        self._write_record()
        figures = draw_all(self.folder)
        report = Report.of(self.folder, metrics, figures, trainer.global_step)
        for tracker in self._trackers:
            tracker.show(report)
        print_summary(metrics, self.folder)

    def select_checkpoint(self, trainer: pl.Trainer) -> str | None:
        """Select the checkpoint to evaluate: the best one, or `ckpt_path` if nothing was trained."""
        callback = trainer.checkpoint_callback
        if (
            not isinstance(callback, ModelCheckpoint)
            or not callback.best_model_path
            or callback.best_model_score is None
        ):
            return self.cfg.ckpt_path if not self.cfg.train else None
        best = Best(
            checkpoint=os.path.relpath(callback.best_model_path, self.folder),
            monitor=callback.monitor,
            value=callback.best_model_score.item(),
            epoch=read_checkpoint(callback.best_model_path, mmap=True)["epoch"],
        )
        self.result = replace(self.result, best=best)
        return callback.best_model_path


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()


def _overrides() -> tuple[str, ...]:
    from hydra.core.hydra_config import HydraConfig

    return tuple(HydraConfig.get().overrides.task) if HydraConfig.initialized() else ()


def _choices() -> dict[str, str]:
    """The choice of each config group, by the last word of the group."""
    from hydra.core.hydra_config import HydraConfig

    if not HydraConfig.initialized():
        return {}
    choices = HydraConfig.get().runtime.choices
    return {key.split("/")[-1]: str(value) for key, value in choices.items() if not key.startswith("hydra")}


def _versions() -> dict[str, str]:
    installed = {distribution.metadata["Name"].lower() for distribution in distributions()}
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES if name in installed},
    }


def _git_commit() -> str | None:
    here = Path(__file__).parent
    result = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False)
    return result.stdout.strip() or None


def _peak_memory() -> PeakMemory:
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    process = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    cuda = torch.cuda.max_memory_allocated() / 2**20 if torch.cuda.is_available() else None
    return PeakMemory(process, cuda)
