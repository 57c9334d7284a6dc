"""The W&B workspace in which the runs of a project are compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import wandb_workspaces.workspaces as ws
import yaml
from wandb_workspaces import expr
from wandb_workspaces.reports.v2.interface import PanelTypes

from src.comparison.runs import FinishedRun
from src.config.schema import Model
from src.errors import UserError
from src.loggers import panels

CONF = Path(__file__).resolve().parents[2] / "conf"


@dataclass(frozen=True)
class Scope:
    """Which runs a workspace is about.

    Args:
        encoders: each gets a panel of its own, with its attentions.
        varied: dotted paths of W&B's config, an axis each where all hyperparameters stand side by side.
        runs: what selects the runs in the project.
    """

    encoders: Sequence[str]
    varied: Sequence[str]
    runs: expr.And

    @classmethod
    def project(cls) -> "Scope":
        """All training runs of a project, whatever they are."""
        encoders = sorted(path.stem for path in (CONF / "model" / "encoder").glob("*.yaml"))
        return cls(encoders, [f"choices.{part}" for part in Model.__annotations__], expr.And(_trained()))

    @classmethod
    def of(cls, runs: Sequence[FinishedRun]) -> "Scope":
        """These runs, where their sweeps are in the project, and what varies among them.

        Raises:
            UserError: if none of them was logged to W&B.
        """
        loggers = [found for run in runs if (found := (run.config.get("logger") or {}).get("wandb"))]
        if not loggers:
            raise UserError(f"{runs[0].folder}: not logged to W&B; run with logger=wandb or logger=[csv,wandb]")
        groups = {held["group"] for held in loggers if held.get("group")}
        names = {held["name"] for held in loggers if held.get("name") and not held.get("group")}
        given = [dict(line.lstrip("+~").split("=", 1) for line in run.overrides if "=" in line) for run in runs]
        keys = [key for key in dict.fromkeys(key for one in given for key in one) if len(_values(given, key)) > 1]
        varied = [f"choices.{key.split('/')[-1]}" if "/" in key else key for key in keys]
        chosen = [
            metric.isin(sorted(wanted))
            for metric, wanted in ((expr.Metric("Group"), groups), (expr.Metric("Name"), names))
            if wanted
        ]
        encoders = list(dict.fromkeys(run.choices["encoder"] for run in runs if "encoder" in run.choices))
        return cls(encoders, varied, expr.And(_trained(), *([expr.Or(*chosen)] if chosen else [])))


def build(scope: Scope, entity: str, project: str, by: str = "variant") -> ws.Workspace:
    """The workspace, nothing of it saved.

    Args:
        scope: the runs.
        entity: a user or a team.
        project: one of theirs.
        by: the dotted path in W&B's config by which bars and lines are grouped.
    """
    return ws.Workspace(
        entity=entity,
        project=project,
        name="Heed",
        sections=[
            _section("Ranking (bars: mean over runs, lines: standard error)", panels.ranking(by)),
            _section("Accuracy of each encoder by its attention", panels.grid(scope.encoders)),
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


def _section(name: str, shown: list[PanelTypes], columns: int = 3) -> ws.Section:
    rows = -(-len(shown) // columns)
    return ws.Section(name=name, panels=shown, is_open=True, layout_settings=ws.SectionLayoutSettings(columns, rows))


def _shared_texts() -> int:
    file = CONF / "callbacks" / "attention.yaml"
    return int(yaml.safe_load(file.read_text(encoding="utf-8"))["attention"]["shared"])


def _trained() -> expr.FilterExpr:
    return expr.Metric("JobType") == "train"


def _values(given: Sequence[dict[str, str]], key: str) -> set[str | None]:
    return {one.get(key) for one in given}
