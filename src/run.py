"""The lifecycle of a run: its folder, its record in `result.json`, and its status."""

import json
import logging
import os
import platform
import resource
import shlex
import subprocess
import sys
import time
import warnings
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
    the loggers and writes `result.json` with the status completed, pruned, interrupted or failed. A run that a signal
    interrupts exits with 128 plus the signal's number.

    In the folder of an earlier run, `config.yaml` and `result.json` are replaced only after `describe` is called. If
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
        self.record: dict[str, Any] = {
            "format": 1,
            "task": cfg.task_name,
            "status": "failed",
            "error": None,
            "command": shlex.join(["python", "-m", f"src.{Path(sys.argv[0]).stem}", *sys.argv[1:]]),
            "overrides": _overrides(),
            "seed": cfg.seed,
            "choices": _choices(),
        }
        self._started = time.perf_counter()
        self._replaces = True  # files of an earlier run in the same folder

    def __enter__(self) -> "Run":
        self.record["started"] = _now()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._replaces = not (self.folder / "result.json").exists()
        self._write_config()
        if self.cfg.extras.ignore_warnings:
            warnings.filterwarnings("ignore", module=r"pytorch_lightning|lightning_fabric|torchmetrics|torch")
            for name in ("pytorch_lightning", "lightning_fabric"):
                logging.getLogger(name).setLevel(logging.WARNING)
        self.record["seed"] = pl.seed_everything(self.cfg.seed, workers=True, verbose=False)
        self.stop.install()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.stop.restore()
        if isinstance(error, Interrupted):
            self.record.update(status="interrupted", error=str(error))
        elif isinstance(error, Pruned):
            self.record.update(status="pruned", error=str(error))
        elif error is None:
            self.record["status"] = "completed"
        else:
            self.record["error"] = f"{type(error).__name__}: {error}"
        self._write_record()
        for tracker in self._trackers:
            try:
                tracker.close(self.record["status"], costs(self.record))
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
        """Write result.json; it is also called before the reports, in case they fail."""
        if not (self._is_writer and self._replaces):
            return
        self.record["seconds"] = {
            "total": time.perf_counter() - self._started,
            "fit": sum(seconds for _, seconds in self.speed.epochs),
            "per_epoch": [seconds for _, seconds in self.speed.epochs],
            **self.speed.seconds,
        }
        self.record["texts_per_second"] = self.speed.texts_per_second
        self.record["peak_memory_mb"] = _peak_memory()
        self.record["finished"] = _now()
        text = json.dumps(self.record, indent=2, allow_nan=False)
        (self.folder / "result.json").write_text(text, encoding="utf-8")

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
        selected = {group: choice for group, choice in self.record["choices"].items() if choice != "None"}
        choices = self.record["choices"] = {**module.card["config"].get("choices", {}), **selected}
        variant = " · ".join(choices[part] for part in ("encoder", "attention") if part in choices)
        for tracker in self._trackers:
            tracker.describe({"choices": choices, "variant": variant, "overrides": self.record["overrides"]})
        parts = {name: sum(p.numel() for p in part.parameters()) for name, part in module.model.named_children()}
        self.record["data"] = {
            "fingerprint": data.fingerprint_,
            "class_names": list(data.class_names),
            "vocabulary": len(data.vocabulary),
            **data.sizes,
        }
        self.record["parameters"] = {
            "total": sum(parts.values()),
            "trainable": sum(p.numel() for p in module.parameters() if p.requires_grad),
            "by_part": parts,
        }
        device = trainer.strategy.root_device
        is_cuda = device.type == "cuda"
        self.record["device"] = torch.cuda.get_device_name(device) if is_cuda else platform.processor() or "cpu"
        self.record["precision"] = str(trainer.precision)
        self.record["versions"] = _versions()
        self.record["git_commit"] = _git_commit()

    def report(self, trainer: pl.Trainer) -> None:
        """Compute final metrics, draw figures, and print the metrics."""
        if not trainer.is_global_zero:
            return
        metrics = final_metrics(self.folder)
        self.record["metrics"] = {name: metric._asdict() for name, metric in metrics.items()}
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
        self.record["best"] = {
            "checkpoint": os.path.relpath(callback.best_model_path, self.folder),
            "monitor": callback.monitor,
            "value": callback.best_model_score.item(),
            "epoch": read_checkpoint(callback.best_model_path, mmap=True)["epoch"],
        }
        return callback.best_model_path


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()


def _overrides() -> list[str]:
    from hydra.core.hydra_config import HydraConfig

    return list(HydraConfig.get().overrides.task) if HydraConfig.initialized() else []


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


def _peak_memory() -> dict[str, float | None]:
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    process = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    cuda = torch.cuda.max_memory_allocated() / 2**20 if torch.cuda.is_available() else None
    return {"process": process, "cuda": cuda}
