"""Estimates the duration of a job from an earlier run with the same settings, or from a few timed steps."""

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import yaml
from omegaconf import DictConfig, OmegaConf

from src import build
from src.checkpoint import Card
from src.config.absolute_paths import make_paths_absolute
from src.files.plain import require
from src.models.classifier import Classifier
from src.models.loss import Loss
from src.models.types import Batch
from src.sweep.outcome import read_record_or_empty

EARLIER, TIMED = "earlier run", "timed"
QUANTILES = (1 / 6, 1 / 2, 5 / 6)  # of the batches sorted by length; one batch is timed at each
FREE_OPTIONS = ("seed", "cache_dir", "progress")  # options of data that do not change the speed
MEASURED = {
    "status": str,
    "seconds": {"total": float, "fit": float, "per_epoch": [float]},
    "parameters": {"total": int},
}
TRAINER_OPTIONS = ("accelerator", "precision", "limit_train_batches", "accumulate_grad_batches")  # change the speed


class Estimate(NamedTuple):
    """The estimated cost of a job.

    Args:
        seconds: duration of the whole job without early stopping.
        basis: EARLIER or TIMED, the source of the estimate.
        parameters: number of parameters of the model.
    """

    seconds: float
    basis: str
    parameters: int


def estimate(configs: Sequence[DictConfig], outputs: Path) -> list[Estimate]:
    """Estimate the cost of each job.

    Args:
        configs: the configuration of each job.
        outputs: the folder that contains earlier runs.
    """
    keys = [_key(_plain(cfg)) for cfg in configs]
    measured = _measured_costs(outputs, set(keys))
    timed: dict[str, tuple[float, float, int]] = {}
    estimates = []
    for cfg, key in zip(configs, keys, strict=True):
        epochs = cfg.trainer.max_epochs or 1
        if key in measured:
            epoch, rest, parameters = measured[key]
        else:
            if key not in timed:
                timed[key] = _time_steps(cfg)
            epoch, rest, parameters = timed[key]
        estimates.append(Estimate(epoch * epochs + rest, EARLIER if key in measured else TIMED, parameters))
    return estimates


def _plain(cfg: DictConfig) -> dict[str, Any]:
    return make_paths_absolute(OmegaConf.to_container(cfg, resolve=True))


def _key(config: dict[str, Any]) -> str:
    """Return a key that is equal for runs of the same speed."""
    data = {name: value for name, value in config["data"].items() if name not in FREE_OPTIONS}
    trainer = {name: config["trainer"].get(name) for name in TRAINER_OPTIONS}
    return json.dumps([config["model"], config["loss"], data, trainer], sort_keys=True, default=str)


def _measured_costs(outputs: Path, keys: set[str]) -> dict[str, tuple[float, float, int]]:
    """Read seconds per epoch, seconds outside the epochs and parameters from the latest completed run of each key."""
    costs: dict[str, tuple[float, float, int]] = {}
    for folder in sorted(_run_folders(outputs), key=lambda folder: folder.stat().st_mtime, reverse=True):
        if len(costs) == len(keys):
            break
        record = read_record_or_empty(folder)
        try:
            require(record, MEASURED)
            key = _key(yaml.load((folder / "config.yaml").read_text(encoding="utf-8"), Loader))
        except (OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError, yaml.YAMLError):
            continue  # nothing was measured, or files are damaged
        epochs = record["seconds"]["per_epoch"]
        if record["status"] != "completed" or not epochs:
            continue
        if key in keys and key not in costs:
            rest = record["seconds"]["total"] - record["seconds"]["fit"]
            costs[key] = (sum(epochs) / len(epochs), max(0.0, rest), record["parameters"]["total"])
    return costs


def _run_folders(outputs: Path) -> Iterator[Path]:
    for pattern in ("*/runs/*/result.json", "*/multiruns/*/*/result.json"):
        yield from (path.parent for path in outputs.glob(pattern) if (path.parent / "config.yaml").exists())


def _time_steps(cfg: DictConfig) -> tuple[float, float, int]:
    """Measure the same three values with steps on batches of three lengths.

    The data is tokenized if it is not in the cache.
    """
    data = build.datamodule(cfg)
    device = build.trainer(cfg).strategy.root_device
    card = Card(OmegaConf.to_container(cfg, resolve=True), data.codec, data.class_counts)  # type: ignore[arg-type]
    model, loss = build.untrained_model(cfg, card)
    model.to(device)
    loss.to(device)
    optimizer = build.optimizer(cfg, model)
    batches: Any = data.train_dataloader()
    make_batch = batches.builder
    plan = sorted(batches.order(0), key=lambda rows: make_batch.lengths[rows].max())
    sample = [plan[int(quantile * len(plan))] for quantile in QUANTILES]
    step = evaluation = 0.0
    for _ in range(2):  # the first round is a warm-up
        seconds = [_time_step(make_batch(rows), model, loss, optimizer, device) for rows in sample]
        step, evaluation = (sum(column) / len(sample) for column in zip(*seconds, strict=True))
    batch_counts = {split: -(-size // data.batch_size) for split, size in data.sizes.items()}
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return len(plan) * step + batch_counts["val"] * evaluation, batch_counts["test"] * evaluation, parameters


def _time_step(
    batch: Batch, model: Classifier, loss: Loss, optimizer: torch.optim.Optimizer, device: torch.device
) -> tuple[float, float]:
    """Return the seconds of a training step and of an evaluation."""
    tokens, mask, labels = (tensor.to(device) for tensor in (batch.tokens, batch.mask, batch.labels))
    start = time.perf_counter()
    optimizer.zero_grad()

    def closure() -> torch.Tensor:
        value = loss(model(tokens, mask), labels)
        value.backward()
        return value

    optimizer.step(closure).item()  # type: ignore[attr-defined,arg-type]  # item() waits for the device
    trained = time.perf_counter()
    with torch.inference_mode():
        model(tokens, mask).sum().item()
    return trained - start, time.perf_counter() - trained


Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
