"""The panels of the W&B workspace. They refer to metrics and media by their names in wandb.py and Lightning."""

from collections.abc import Sequence

import wandb_workspaces.reports.v2 as wr
from wandb_workspaces.reports.v2.interface import PanelTypes

from src.config.keys import MODEL_COMPONENTS

SCORES = ("acc", "f1_macro", "auroc", "ece")
STEP = "trainer/global_step"
RUNS_SHOWN = 100


def ranking(by: str) -> list[PanelTypes]:
    """Build bar charts of mean test scores with standard errors."""
    return [_bars(f"Test {score}", f"test/{score}", by) for score in SCORES]


def grid(encoders: Sequence[str]) -> list[PanelTypes]:
    """Build a bar chart for each encoder: its test accuracy with each attention mechanism."""
    return [_bars(encoder, f"of_encoder/{encoder}", "choices.attention") for encoder in encoders]


def _bars(title: str, metric: str, by: str) -> PanelTypes:
    return wr.BarPlot(
        title=title,
        metrics=[metric],
        groupby=wr.Config(by),
        groupby_aggfunc="mean",
        groupby_rangefunc="stderr",
        max_runs_to_show=RUNS_SHOWN,
        max_bars_to_show=RUNS_SHOWN,
    )


def cost() -> list[PanelTypes]:
    """Build scatter plots of test accuracy against cost."""
    costs = {
        "seconds per epoch": "seconds/epoch",
        "parameters": "parameters/total",
        "peak memory in MB": "peak_memory_mb/process",
    }
    return [
        wr.ScatterPlot(
            title=f"Test accuracy by {label}", x=wr.SummaryMetric(name), y=wr.SummaryMetric("test/acc"), log_x=True
        )
        for label, name in costs.items()
    ]


def hyperparameters(varied: Sequence[str]) -> list[PanelTypes]:
    """Build a parallel coordinates plot of options and results, and a chart of parameter importance."""
    results = ("parameters/total", "seconds/epoch", "val/loss", "test/acc")
    axes = [wr.Config(name) for name in varied] + [wr.SummaryMetric(name) for name in results]
    columns = [wr.ParallelCoordinatesPlotColumn(metric=axis, display_name=axis.name) for axis in axes]
    return [
        wr.ParallelCoordinatesPlot(title="All runs", columns=columns),
        wr.ParameterImportancePlot(with_respect_to="test/acc"),
    ]


def curves(by: str) -> list[PanelTypes]:
    """Build line charts of loss and accuracy by step."""
    return [_lines(name, name, by) for name in ("train/loss", "val/loss", "train/acc", "val/acc")]


def gradients(by: str) -> list[PanelTypes]:
    """Build line charts of each component's gradient norm by step."""
    return [_lines(f"Gradient norm: {name}", f"gradients/{name}", by, log_y=True) for name in MODEL_COMPONENTS]


def _lines(title: str, metric: str, by: str, log_y: bool = False) -> PanelTypes:
    return wr.LinePlot(
        title=title,
        x=STEP,
        y=[metric],
        log_y=log_y,
        groupby=wr.Config(by),
        groupby_aggfunc="mean",
        groupby_rangefunc="minmax",
        max_runs_to_show=RUNS_SHOWN,
    )


def attention(texts: int) -> list[PanelTypes]:
    """Build panels of the attention weights in texts, of attention statistics, and of the table of examples.

    Args:
        texts: number of texts that all runs share.
    """
    kinds = {"Texts coloured by weight": "strip", "Token × token": "heatmap", "Token × token by head": "heads"}
    numbers = range(1, texts + 1)
    panels = [
        wr.MediaBrowser(title=title, media_keys=[f"pictures/{kind}_{number}" for number in numbers], num_columns=1)
        for title, kind in kinds.items()
    ]
    statistics = [_media(f"attention_{name}") for name in ("position", "entropy", "lexicon")]
    return [*panels, *statistics, wr.WeavePanelSummaryTable(table_name="examples")]


def mistakes() -> list[PanelTypes]:
    """Build panels of the confusion matrix and of calibration."""
    fields = {name: name for name in ("Actual", "Predicted", "nPredictions")}
    table = {"summaryTable": {"tableKey": "confusion_table"}}
    chart = wr.CustomChart(query=table, chart_name="wandb/confusion_matrix/v1", chart_fields=fields)
    return [_media("confusion"), chart, _media("reliability")]


def _media(name: str) -> PanelTypes:
    title = name.replace("_", ": ").capitalize()
    return wr.MediaBrowser(title=title, media_keys=[f"pictures/{name}"], num_columns=1)
