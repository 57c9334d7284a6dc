"""How long a job will take: as long as a run before it that did the same, or as a few of its steps tell."""

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
from src.config.absolute_paths import anchored
from src.files.plain import require
from src.models.classifier import Classifier
from src.models.loss import Loss
from src.models.types import Batch
from src.sweep.outcome import read

EARLIER, TIMED = "earlier run", "timed"
QUANTILES = (1 / 6, 1 / 2, 5 / 6)  # of the batches by length: those that are timed
OPTIONS = ("seed", "cache_dir", "progress")  # of the data, which cost no time
MEASURED = {
    "status": str,
    "seconds": {"total": float, "fit": float, "per_epoch": [float]},
    "parameters": {"total": int},
}
COSTLY = ("accelerator", "precision", "limit_train_batches", "accumulate_grad_batches")  # of the trainer's


class Estimate(NamedTuple):
    """What a job will cost.

    Args:
        seconds: of the whole job, if it is not stopped early.
        basis: what that was reckoned from.
        parameters: of its model.
    """

    seconds: float
    basis: str
    parameters: int


def estimate(jobs: Sequence[DictConfig], before: Path) -> list[Estimate]:
    """What each job will cost.

    Args:
        jobs: their configurations.
        before: the folder under which earlier runs stand.
    """
    keys = [_key(_plain(cfg)) for cfg in jobs]
    known = _earlier(before, set(keys))
    timed: dict[str, tuple[float, float, int]] = {}
    found = []
    for cfg, key in zip(jobs, keys, strict=True):
        epochs = cfg.trainer.max_epochs or 1
        if key in known:
            epoch, rest, parameters = known[key]
        else:
            if key not in timed:
                timed[key] = _timed(cfg)
            epoch, rest, parameters = timed[key]
        found.append(Estimate(epoch * epochs + rest, EARLIER if key in known else TIMED, parameters))
    return found


def _plain(cfg: DictConfig) -> dict[str, Any]:
    return anchored(OmegaConf.to_container(cfg, resolve=True))


def _key(config: dict[str, Any]) -> str:
    """What a run's speed depends on."""
    data = {name: value for name, value in config["data"].items() if name not in OPTIONS}
    trainer = {name: config["trainer"].get(name) for name in COSTLY}
    return json.dumps([config["model"], config["loss"], data, trainer], sort_keys=True, default=str)


def _earlier(before: Path, wanted: set[str]) -> dict[str, tuple[float, float, int]]:
    """Seconds of an epoch, seconds beside the epochs, and parameters, from the latest run that did the same."""
    found: dict[str, tuple[float, float, int]] = {}
    for folder in sorted(_runs(before), key=lambda folder: folder.stat().st_mtime, reverse=True):
        if len(found) == len(wanted):
            break
        record = read(folder)
        try:
            require(record, MEASURED)
            key = _key(yaml.load((folder / "config.yaml").read_text(encoding="utf-8"), Loader))
        except (OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError, yaml.YAMLError):
            continue  # it measured nothing, or its files are damaged
        epochs = record["seconds"]["per_epoch"]
        if record["status"] != "completed" or not epochs:
            continue
        if key in wanted and key not in found:
            rest = record["seconds"]["total"] - record["seconds"]["fit"]
            found[key] = (sum(epochs) / len(epochs), max(0.0, rest), record["parameters"]["total"])
    return found


def _runs(before: Path) -> Iterator[Path]:
    for pattern in ("*/runs/*/result.json", "*/multiruns/*/*/result.json"):
        yield from (path.parent for path in before.glob(pattern) if (path.parent / "config.yaml").exists())


def _timed(cfg: DictConfig) -> tuple[float, float, int]:
    """The same three, from steps on batches of three lengths; tokenizes the data if no run before has."""
    data = build.datamodule(cfg)
    device = build.trainer(cfg).strategy.root_device
    card = Card(OmegaConf.to_container(cfg, resolve=True), data.codec, data.class_counts)  # type: ignore[arg-type]
    model, loss = build.untrained(cfg, card)
    model.to(device)
    loss.to(device)
    optimizer = build.optimizer(cfg, model)
    batches: Any = data.train_dataloader()
    builder = batches.builder
    plan = sorted(batches.order(0), key=lambda rows: builder.lengths[rows].max())
    chosen = [plan[int(share * len(plan))] for share in QUANTILES]
    step = evaluation = 0.0
    for _ in range(2):  # the first time warms up
        spent = [_seconds(builder(rows), model, loss, optimizer, device) for rows in chosen]
        step, evaluation = (sum(column) / len(chosen) for column in zip(*spent, strict=True))
    held = {split: -(-size // data.batch_size) for split, size in data.sizes.items()}
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return len(plan) * step + held["val"] * evaluation, held["test"] * evaluation, parameters


def _seconds(
    batch: Batch, model: Classifier, loss: Loss, optimizer: torch.optim.Optimizer, device: torch.device
) -> tuple[float, float]:
    """Of a training step, and of an evaluation."""
    tokens, mask, labels = (tensor.to(device) for tensor in (batch.tokens, batch.mask, batch.labels))
    start = time.perf_counter()
    optimizer.zero_grad()

    def closure() -> torch.Tensor:
        value = loss(model(tokens, mask), labels)
        value.backward()
        return value

    optimizer.step(closure).item()  # type: ignore[attr-defined,arg-type]  # a device has done its work only now
    trained = time.perf_counter()
    with torch.inference_mode():
        model(tokens, mask).sum().item()
    return trained - start, time.perf_counter() - trained


Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
