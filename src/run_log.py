"""Write the events of a run to its log file, such as train.log, without the tables that the terminal shows."""

import logging
import os

from omegaconf import DictConfig, OmegaConf

from src.formatting import format_duration
from src.run_result import RunResult

log = logging.getLogger(__name__)


def write_log(line: str) -> None:
    """Write a line to the log file, if there is one, but not to the terminal, which shows tables instead."""
    record = log.makeRecord(log.name, logging.INFO, __file__, 0, line, (), None)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.FileHandler):
            handler.handle(record)


def log_config(cfg: DictConfig) -> None:
    """Log the resolved configuration if `extras.print_config` is set, in only one process of a distributed run."""
    if OmegaConf.select(cfg, "extras.print_config") and os.environ.get("LOCAL_RANK", "0") == "0":
        log.info("Configuration:\n%s", OmegaConf.to_yaml(cfg, resolve=True))


def write_end(result: RunResult) -> None:
    """Write the status, the selected epoch and the final metrics with their intervals to the log file.

    If the test split was evaluated, only its metrics are written.
    """
    seconds = "" if result.seconds.total is None else f" after {format_duration(result.seconds.total)}"
    facts = [f"{result.status.capitalize()}{seconds}" + (f": {result.error}" if result.error else "")]
    best = result.best
    if best.epoch is not None and best.value is not None:
        facts.append(f"best epoch {best.epoch + 1} ({best.monitor} {best.value:.4g})")
    tested = {name: score for name, score in result.metrics.items() if name.startswith("test/")} or result.metrics
    facts += [f"{name} {_score(score.value, score.low, score.high)}" for name, score in tested.items()]
    write_log("; ".join(facts))


def _score(value: float | None, low: float | None, high: float | None) -> str:
    interval = "" if low is None or high is None else f" ({low:.3f} to {high:.3f})"
    return "–" if value is None else f"{value:.3f}{interval}"
