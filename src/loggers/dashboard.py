"""The W&B workspace in which the runs of a project are compared.

The panels refer to metrics and media by the names in wandb.py and in Lightning.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from wandb_workspaces import expr
from wandb_workspaces.reports.v2.interface import PanelTypes

from src.config.keys import MODEL_COMPONENTS
from src.errors import UserError
from src.records.runs import FinishedRun

CONF = Path(__file__).resolve().parents[2] / "conf"
RUNS_SHOWN = 100
SCORES = ("acc", "f1_macro", "auroc", "ece")
CURVES = ("train/loss", "val/loss", "train/acc", "val/acc")
COSTS = {  # titles of panels → metrics
    "seconds per epoch": "seconds/epoch",
    "parameters": "parameters/total",
    "peak memory in MB": "peak_memory_mb/process",
}
RESULTS = ("parameters/total", "seconds/epoch", "val/loss", "test/acc")  # the last axes of the parallel coordinates
CONFUSION_FIELDS = ("Actual", "Predicted", "nPredictions")
TRAINING = expr.Metric("JobType") == "train"


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
        return cls(encoders, [f"choices.{name}" for name in MODEL_COMPONENTS], expr.And(TRAINING))

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
        sweeps = sorted({logger["group"] for logger in loggers if logger.get("group")})
        names = sorted({logger["name"] for logger in loggers if logger.get("name") and not logger.get("group")})
        filters = [expr.Metric(key).isin(values) for key, values in (("Group", sweeps), ("Name", names)) if values]
        encoders = list(dict.fromkeys(run.choices["encoder"] for run in runs if "encoder" in run.choices))
        return cls(encoders, _varied_options(runs), expr.And(TRAINING, *([expr.Or(*filters)] if filters else [])))


def build(scope: Scope, entity: str, project: str, by: str = "variant") -> ws.Workspace:
    """Build the workspace without saving it.

    Args:
        entity: a user or a team.
        by: dotted path of the entry of W&B's config that groups bars and lines.
    """
    sections = {
        "Ranking (bars: mean over runs, lines: standard error)": [
            _bars(f"Test {score}", f"test/{score}", by) for score in SCORES
        ],
        "Accuracy of each encoder by attention mechanism": [
            _bars(encoder, f"of_encoder/{encoder}", "choices.attention") for encoder in scope.encoders
        ],
        "Accuracy against cost": [_accuracy_against(title, metric) for title, metric in COSTS.items()],
        "Hyperparameters": [_all_runs(scope.varied), wr.ParameterImportancePlot(with_respect_to="test/acc")],
        "Curves": [_lines(name, name, by) for name in CURVES],
        "Gradient norms": [
            _lines(f"Gradient norm: {name}", f"gradients/{name}", by, log_y=True) for name in MODEL_COMPONENTS
        ],
        "Attention": _attention(),
        "Mistakes and calibration": [_picture("confusion"), _confusion_chart(), _picture("reliability")],
    }
    return ws.Workspace(
        entity=entity,
        project=project,
        name="Heed",
        sections=[_section(name, panels) for name, panels in sections.items()],
        settings=ws.WorkspaceSettings(max_runs=RUNS_SHOWN),
        runset_settings=ws.RunsetSettings(
            filters=scope.runs,
            order=[expr.Ordering(expr.Summary("test/acc"), ascending=False)],
            pinned_columns=[f"summary:{name}" for name in ("test/acc", "test/acc_low", "test/acc_high", "test/n")],
        ),
    )


def _section(name: str, panels: list[PanelTypes]) -> ws.Section:
    columns = 1 if name == "Hyperparameters" else 3
    layout = ws.SectionLayoutSettings(columns, rows=-(-len(panels) // columns))
    return ws.Section(name=name, panels=panels, is_open=True, layout_settings=layout)


def _bars(title: str, metric: str, by: str) -> PanelTypes:
    """Return a chart of means with standard errors."""
    return wr.BarPlot(
        title=title,
        metrics=[metric],
        groupby=wr.Config(by),
        groupby_aggfunc="mean",
        groupby_rangefunc="stderr",
        max_runs_to_show=RUNS_SHOWN,
        max_bars_to_show=RUNS_SHOWN,
    )


def _lines(title: str, metric: str, by: str, log_y: bool = False) -> PanelTypes:
    """Return a chart of a metric by step."""
    return wr.LinePlot(
        title=title,
        x="trainer/global_step",
        y=[metric],
        log_y=log_y,
        groupby=wr.Config(by),
        groupby_aggfunc="mean",
        groupby_rangefunc="minmax",
        max_runs_to_show=RUNS_SHOWN,
    )


def _accuracy_against(title: str, metric: str) -> PanelTypes:
    x, y = wr.SummaryMetric(metric), wr.SummaryMetric("test/acc")
    return wr.ScatterPlot(title=f"Test accuracy by {title}", x=x, y=y, log_x=True)


def _all_runs(varied: Sequence[str]) -> PanelTypes:
    """Return a parallel coordinates plot of options and results."""
    axes = [wr.Config(name) for name in varied] + [wr.SummaryMetric(name) for name in RESULTS]
    columns = [wr.ParallelCoordinatesPlotColumn(metric=axis, display_name=axis.name) for axis in axes]
    return wr.ParallelCoordinatesPlot(title="All runs", columns=columns)


def _attention() -> list[PanelTypes]:
    """Return panels of attention statistics, and of the example texts."""
    statistics = [_picture(f"attention_{name}") for name in ("position", "entropy", "lexicon")]
    return [*statistics, wr.WeavePanelSummaryTable(table_name="examples")]


def _picture(name: str) -> PanelTypes:
    title = name.replace("_", ": ").capitalize()
    return wr.MediaBrowser(title=title, media_keys=[f"pictures/{name}"], num_columns=1)


def _confusion_chart() -> PanelTypes:
    return wr.CustomChart(
        query={"summaryTable": {"tableKey": "confusion_table"}},
        chart_name="wandb/confusion_matrix/v1",
        chart_fields={name: name for name in CONFUSION_FIELDS},
    )


def _varied_options(runs: Sequence[FinishedRun]) -> list[str]:
    """Return the paths in W&B's config of the overrides whose values differ between the runs."""
    overrides = [dict(line.lstrip("+~").split("=", 1) for line in run.result.overrides if "=" in line) for run in runs]
    keys = dict.fromkeys(key for run in overrides for key in run)
    varied = [key for key in keys if len({run.get(key) for run in overrides}) > 1]
    return [f"choices.{key.split('/')[-1]}" if "/" in key else key for key in varied]
