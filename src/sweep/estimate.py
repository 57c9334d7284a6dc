"""Estimate the duration of a job from the latest completed run with the same settings."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from omegaconf import DictConfig, OmegaConf

from src.config.keys import COLLECTIONS, RELATED_TO_DURATION, UNRELATED_TO_DURATION, is_within, options_in
from src.config.paths import make_paths_absolute
from src.files import YAML_LOADER
from src.run_result import RESULT_FILE, RunResult
from src.sweep.outcome import load_or_warn


class Duration(NamedTuple):
    """The measured duration of a run.

    Args:
        epoch: mean seconds of an epoch, including its validation.
        rest: seconds outside the epochs: startup, data, evaluation and reports.
    """

    epoch: float
    rest: float

    @classmethod
    def of(cls, result: RunResult) -> "Duration | None":
        """Return the duration of a run; None if it did not complete, did not train or lacks its total time."""
        seconds, data = result.seconds, result.data
        count = len(seconds.per_epoch)
        if result.status != "completed" or not count or seconds.total is None:
            return None
        per_text = (seconds.test or 0.0) / max(data.test or 0, 1)  # seconds of evaluation per text
        validation = per_text * (data.val or 0)
        epoch = sum(seconds.per_epoch) / count + validation
        return cls(epoch, max(0.0, seconds.total - count * epoch))

    def total(self, epochs: int) -> float:
        """Return the seconds that a run of this many epochs takes."""
        return self.rest + self.epoch * epochs


def estimate_seconds(configs: Sequence[DictConfig], outputs: Path) -> list[float | None]:
    """Estimate how many seconds each job takes without early stopping.

    An estimate is None if no completed run has the settings of the job, or the job's number of epochs is not limited.

    Args:
        outputs: folder that contains the earlier runs.
    """
    plain = [make_paths_absolute(OmegaConf.to_container(cfg, resolve=True)) for cfg in configs]
    keys = [_settings_key(config) for config in plain]
    durations = _measured_durations(outputs, set(keys))
    estimates: list[float | None] = []
    for config, key in zip(plain, keys, strict=True):
        epochs = config["trainer"].get("max_epochs")
        is_limited = epochs is not None and epochs >= 0
        estimates.append(durations[key].total(epochs) if key in durations and is_limited else None)
    return estimates


def _settings_key(config: dict[str, Any]) -> str:
    """Return, as text, the settings that affect the duration of an epoch and of the reports."""
    options = options_in(config, UNRELATED_TO_DURATION)
    settings = {path: value for path, value in options.items() if is_within(path, RELATED_TO_DURATION)}
    settings |= {group: sorted(config[group] or ()) for group in COLLECTIONS}
    return json.dumps(settings, sort_keys=True, default=str)


def _measured_durations(outputs: Path, keys: set[str]) -> dict[str, Duration]:
    """Return the duration of the latest completed run for each key that has such a run."""
    durations: dict[str, Duration] = {}
    for folder in sorted(_run_folders(outputs), key=lambda folder: folder.stat().st_mtime, reverse=True):
        if len(durations) == len(keys):
            break
        duration = Duration.of(load_or_warn(folder))
        if duration is None:
            continue
        try:
            key = _settings_key(yaml.load((folder / "config.yaml").read_text(encoding="utf-8"), YAML_LOADER))
        except (OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError, yaml.YAMLError):
            continue  # the configuration is missing or damaged
        if key in keys:
            durations.setdefault(key, duration)
    return durations


def _run_folders(outputs: Path) -> Iterator[Path]:
    for pattern in (f"*/runs/*/{RESULT_FILE}", f"*/multiruns/*/*/{RESULT_FILE}"):
        yield from (path.parent for path in outputs.glob(pattern) if (path.parent / "config.yaml").exists())
