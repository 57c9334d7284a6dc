"""The W&B workspace in which the runs of a project are compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import wandb_workspaces.workspaces as ws
import yaml
from wandb_workspaces import expr
from wandb_workspaces.reports.v2.interface import PanelTypes

from src.comparison.runs import FinishedRun
from src.config.keys import MODEL_COMPONENTS
from src.errors import UserError
from src.loggers import panels

CONF = Path(__file__).resolve().parents[2] / "conf"


@dataclass(frozen=True)
class Scope:
    """The runs that a workspace shows, and the options that it compares.

    Args:
        encoders: names of encoders, each of which gets a panel.
        varied: dotted paths of options in W&B's config, each an axis of the parallel coordinates plot.
        runs: filter that selects the runs of the project.
    """

    encoders: Sequence[str]
    varied: Sequence[str]
    runs: expr.And

    @classmethod
    def project(cls) -> "Scope":
        """Return the scope of all training runs of a project."""
        encoders = sorted(path.stem for path in (CONF / "model" / "encoder").glob("*.yaml"))
        return cls(encoders, [f"choices.{name}" for name in MODEL_COMPONENTS], expr.And(_training_filter()))

    @classmethod
    def of(cls, runs: Sequence[FinishedRun]) -> "Scope":
        """Return the scope that selects these runs, by sweep or by name, with the options that vary among them.

        Raises:
            UserError: if none of the runs was logged to W&B.
        """
        loggers = [logger for run in runs if (logger := (run.config.get("logger") or {}).get("wandb"))]
        if not loggers:
            raise UserError(
                f"no run was logged to W&B (the first run is {runs[0].folder}); start runs with logger=wandb or "
                "logger=[csv,wandb]"
            )
        groups = {logger["group"] for logger in loggers if logger.get("group")}
        names = {logger["name"] for logger in loggers if logger.get("name") and not logger.get("group")}
        overrides = [
            dict(line.lstrip("+~").split("=", 1) for line in run.result.overrides if "=" in line) for run in runs
        ]
        keys = [
            key for key in dict.fromkeys(key for run in overrides for key in run) if len(_values(overrides, key)) > 1
        ]
        varied = [f"choices.{key.split('/')[-1]}" if "/" in key else key for key in keys]
        filters = [
            metric.isin(sorted(values))
            for metric, values in ((expr.Metric("Group"), groups), (expr.Metric("Name"), names))
            if values
        ]
        encoders = list(dict.fromkeys(run.choices["encoder"] for run in runs if "encoder" in run.choices))
        return cls(encoders, varied, expr.And(_training_filter(), *([expr.Or(*filters)] if filters else [])))


def build(scope: Scope, entity: str, project: str, by: str = "variant") -> ws.Workspace:
    """Build the workspace without saving it.

    Args:
        entity: a user or a team.
        by: dotted path of the entry of W&B's config that groups bars and lines.
    """
    return ws.Workspace(
        entity=entity,
        project=project,
        name="Heed",
        sections=[
            _section("Ranking (bars: mean over runs, lines: standard error)", panels.ranking(by)),
            _section("Accuracy of each encoder by attention mechanism", panels.grid(scope.encoders)),
            _section("Accuracy against cost", panels.cost()),
            _section("Hyperparameters", panels.hyperparameters(scope.varied), columns=1),
            _section("Curves", panels.curves(by)),
            _section("Gradient norms", panels.gradients(by)),
            _section("Attention", panels.attention(_shared_texts())),
            _section("Mistakes and calibration", panels.mistakes()),
        ],
        settings=ws.WorkspaceSettings(max_runs=panels.RUNS_SHOWN),
        runset_settings=ws.RunsetSettings(
            filters=scope.runs,
            order=[expr.Ordering(expr.Summary("test/acc"), ascending=False)],
            pinned_columns=[f"summary:{name}" for name in ("test/acc", "test/acc_low", "test/acc_high", "test/n")],
        ),
    )


def _section(name: str, panel_list: list[PanelTypes], columns: int = 3) -> ws.Section:
    rows = -(-len(panel_list) // columns)
    return ws.Section(
        name=name, panels=panel_list, is_open=True, layout_settings=ws.SectionLayoutSettings(columns, rows)
    )


def _shared_texts() -> int:
    file = CONF / "callbacks" / "attention.yaml"
    return int(yaml.safe_load(file.read_text(encoding="utf-8"))["attention"]["shared"])


def _training_filter() -> expr.FilterExpr:
    return expr.Metric("JobType") == "train"


def _values(overrides: Sequence[dict[str, str]], key: str) -> set[str | None]:
    return {run.get(key) for run in overrides}
