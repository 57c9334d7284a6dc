"""The W&B workspace in which the training runs of a project are compared.

The panels refer to metrics and media by the names in wandb.py and in Lightning.
"""

from pathlib import Path
from typing import Any

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from wandb_workspaces import expr

from src.config.keys import MODEL_COMPONENTS

ENCODERS = Path(__file__).resolve().parents[2] / "conf" / "model" / "encoder"
RUNS_SHOWN = 100
SCORES = ("acc", "f1_macro", "auroc", "ece")
CURVES = ("train/loss", "val/loss", "train/acc", "val/acc")
COSTS = ("seconds/epoch", "parameters/total", "peak_memory_mb/process")
RESULTS = ("parameters/total", "seconds/epoch", "val/loss", "test/acc")  # the last axes of the parallel coordinates
PICTURES = ("attention_position", "attention_entropy")


def build(entity: str, project: str, by: str = "variant") -> ws.Workspace:
    """Build the workspace without saving it.

    Args:
        entity: a user or a team.
        by: dotted path of the entry of W&B's config that groups bars and lines.
    """
    accuracy = wr.SummaryMetric("test/acc")
    axes = [wr.Config(f"choices.{name}") for name in MODEL_COMPONENTS] + [wr.SummaryMetric(name) for name in RESULTS]
    sections = {
        "Ranking (bars: mean over runs, lines: standard error)": [_bars(f"test/{score}", by) for score in SCORES],
        "Accuracy of each encoder by attention mechanism": [
            _bars(f"of_encoder/{path.stem}", "choices.attention") for path in sorted(ENCODERS.glob("*.yaml"))
        ],
        "Accuracy against cost": [
            wr.ScatterPlot(title=f"test/acc by {cost}", x=wr.SummaryMetric(cost), y=accuracy, log_x=True)
            for cost in COSTS
        ],
        "Hyperparameters": [
            wr.ParallelCoordinatesPlot(
                title="All runs",
                columns=[wr.ParallelCoordinatesPlotColumn(metric=axis, display_name=axis.name) for axis in axes],
            ),
            wr.ParameterImportancePlot(with_respect_to="test/acc"),
        ],
        "Curves": [_lines(name, by) for name in CURVES],
        "Gradient norms": [_lines(f"gradients/{name}", by, log_y=True) for name in MODEL_COMPONENTS],
        "Attention": [*map(_picture, PICTURES), wr.WeavePanelSummaryTable(table_name="examples")],
        "Mistakes and calibration": [_picture("confusion"), _picture("reliability")],
    }
    return ws.Workspace(
        entity=entity,
        project=project,
        name="Heed",
        sections=[
            ws.Section(name=name, panels=panels, is_open=True, layout_settings=ws.SectionLayoutSettings(rows=4))
            for name, panels in sections.items()
        ],
        settings=ws.WorkspaceSettings(max_runs=RUNS_SHOWN),
        runset_settings=ws.RunsetSettings(
            filters=expr.And(expr.Metric("JobType") == "train"),
            order=[expr.Ordering(expr.Summary("test/acc"), ascending=False)],
            pinned_columns=[f"summary:{name}" for name in ("test/acc", "test/acc_low", "test/acc_high", "test/n")],
        ),
    )


def _bars(metric: str, by: str) -> Any:
    """Return a chart of means with standard errors."""
    grouping: Any = {"groupby": wr.Config(by), "groupby_aggfunc": "mean", "groupby_rangefunc": "stderr"}
    shown: Any = {"max_runs_to_show": RUNS_SHOWN, "max_bars_to_show": RUNS_SHOWN}
    return wr.BarPlot(title=metric, metrics=[metric], **grouping, **shown)


def _lines(metric: str, by: str, log_y: bool = False) -> Any:
    """Return a chart of a metric by step."""
    grouping: Any = {"groupby": wr.Config(by), "groupby_aggfunc": "mean", "groupby_rangefunc": "minmax"}
    axes: Any = {"x": "trainer/global_step", "y": [metric], "log_y": log_y}
    return wr.LinePlot(title=metric, **axes, **grouping, max_runs_to_show=RUNS_SHOWN)


def _picture(name: str) -> Any:
    return wr.MediaBrowser(title=name, media_keys=[f"pictures/{name}"], num_columns=1)
