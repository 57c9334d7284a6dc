"""A metric of the runs' config group `metrics` as a score of the comparison."""

from collections.abc import Sequence
from typing import Any

from omegaconf import OmegaConf

from src.analysis.added_metrics import AddedMetric
from src.comparison.runs import FinishedRun
from src.config.quoting import escape_all_references
from src.errors import UserError


def added_names(runs: Sequence[FinishedRun]) -> list[str]:
    """The metrics of the runs' configurations."""
    return list(dict.fromkeys(str(name) for run in runs for name, node in _group(run).items() if node is not None))


def added_metric(runs: Sequence[FinishedRun], name: str) -> AddedMetric:
    """Create a metric as the runs define it. Their files can name classes of `torchmetrics.classification` only.

    Raises:
        UserError: if the runs define it differently, or it cannot be created.
    """
    from src import build

    nodes = [node for run in runs if (node := _group(run).get(name)) is not None]
    if any(node != nodes[0] for node in nodes):
        raise UserError(f"--metric {name}: the runs define it differently: compare runs with one definition")
    cfg = OmegaConf.create({"metrics": {name: escape_all_references(nodes[0])}})
    return AddedMetric(build.metric(cfg, name, len(runs[0].predictions().class_names)))


def _group(run: FinishedRun) -> dict[str, Any]:
    group = run.config.get("metrics")
    return group if isinstance(group, dict) else {}
