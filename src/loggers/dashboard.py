"""The W&B workspace in which the training runs of a project are compared.

The panels refer to metrics and media by the names in wandb.py and in Lightning.
"""

from pathlib import Path

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from wandb_workspaces import expr
from wandb_workspaces.reports.v2.interface import PanelTypes

from src.config.keys import MODEL_COMPONENTS

ENCODERS = Path(__file__).resolve().parents[2] / "conf" / "model" / "encoder"
RUNS_SHOWN = 100
SCORES = ("acc", "f1_macro", "auroc", "ece")
CURVES = ("train/loss", "val/loss", "train/acc", "val/acc")
COSTS = {  # titles of panels → metrics
    "seconds per epoch": "seconds/epoch",
    "parameters": "parameters/total",
    "peak memory in MB": "peak_memory_mb/process",
}
RESULTS = ("parameters/total", "seconds/epoch", "val/loss", "test/acc")  # the last axes of the parallel coordinates
PICTURES = ("attention_position", "attention_entropy", "attention_lexicon")


def build(entity: str, project: str, by: str = "variant") -> ws.Workspace:
    """Build the workspace without saving it.

    Args:
        entity: a user or a team.
        by: dotted path of the entry of W&B's config that groups bars and lines.
    """
    encoders = sorted(path.stem for path in ENCODERS.glob("*.yaml"))
    sections = {
        "Ranking (bars: mean over runs, lines: standard error)": [
            _bars(f"Test {score}", f"test/{score}", by) for score in SCORES
        ],
        "Accuracy of each encoder by attention mechanism": [
            _bars(encoder, f"of_encoder/{encoder}", "choices.attention") for encoder in encoders
        ],
        "Accuracy against cost": [_accuracy_against(title, metric) for title, metric in COSTS.items()],
        "Hyperparameters": [_all_runs(), wr.ParameterImportancePlot(with_respect_to="test/acc")],
        "Curves": [_lines(name, name, by) for name in CURVES],
        "Gradient norms": [
            _lines(f"Gradient norm: {name}", f"gradients/{name}", by, log_y=True) for name in MODEL_COMPONENTS
        ],
        "Attention": [*map(_picture, PICTURES), wr.WeavePanelSummaryTable(table_name="examples")],
        "Mistakes and calibration": [_picture("confusion"), _picture("reliability")],
    }
    return ws.Workspace(
        entity=entity,
        project=project,
        name="Heed",
        sections=[_section(name, panels) for name, panels in sections.items()],
        settings=ws.WorkspaceSettings(max_runs=RUNS_SHOWN),
        runset_settings=ws.RunsetSettings(
            filters=expr.And(expr.Metric("JobType") == "train"),
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


def _all_runs() -> PanelTypes:
    """Return a parallel coordinates plot of components and results."""
    axes = [wr.Config(f"choices.{name}") for name in MODEL_COMPONENTS] + [wr.SummaryMetric(name) for name in RESULTS]
    columns = [wr.ParallelCoordinatesPlotColumn(metric=axis, display_name=axis.name) for axis in axes]
    return wr.ParallelCoordinatesPlot(title="All runs", columns=columns)


def _picture(name: str) -> PanelTypes:
    title = name.replace("_", ": ").capitalize()
    return wr.MediaBrowser(title=title, media_keys=[f"pictures/{name}"], num_columns=1)
