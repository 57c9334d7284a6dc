"""Build a W&B workspace that compares the runs of a project: `python wandb_workspace.py --save ENTITY/PROJECT`.

The panels refer to metrics and media by the names in src/heedful/training/loggers/wandb.py and in Lightning.
"""

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from pydantic import TypeAdapter

from heedful.base.errors import UserError
from heedful.base.optional_packages import require_extra
from heedful.base.process import exit_with_message
from heedful.config.keys import CONF, MODEL_COMPONENTS

DESCRIPTION = """\
Builds a W&B workspace: a ranking with error bars, the attention mechanisms of each encoder, accuracy against cost,
parallel coordinates of the components, curves, gradient norms and attention weights. Prints it as JSON, or saves it
with a W&B account. See docs/wandb.md."""
BY = (
    "option by which runs are grouped and averaged in bars and lines, such as optimizer.lr or choices.pooling; "
    "default: encoder and attention"
)
RUNS_SHOWN = 100


def main(argv: Sequence[str] | None = None) -> None:
    """Build the workspace, then print it, or save it as a new view of its project and print its URL."""
    with exit_with_message("standard output"):
        parser = argparse.ArgumentParser("wandb_workspace.py", description=DESCRIPTION)
        parser.add_argument("--by", default="variant", metavar="OPTION", help=BY)
        parser.add_argument("--save", metavar="ENTITY/PROJECT", help="save the workspace in this project")
        args = parser.parse_args(argv)
        entity, _, project = (args.save or "entity/project").partition("/")
        if not (entity and project):
            parser.error(f"--save={args.save} must name an entity and a project, such as --save my-team/heedful")
        require_extra("wandb_workspaces", by="wandb_workspace.py", extra="dashboard")
        workspace = build(entity, project, args.by)
        if not args.save:
            print(TypeAdapter(type(workspace)).dump_json(workspace, exclude_none=True, indent=2).decode())
            return
        if not import_module("wandb").login(prompt=False, verify=False):
            raise UserError("--save needs a W&B account: run `wandb login`, or set WANDB_API_KEY")
        workspace.save()
        print(f"Saved: {workspace.url}")


def build(entity: str, project: str, by: str = "variant") -> Any:
    """Build the workspace without saving it.

    Args:
        entity: a user or a team.
        by: dotted path of the entry of W&B's config that groups bars and lines.
    """
    wr: Any = import_module("wandb_workspaces.reports.v2")
    ws: Any = import_module("wandb_workspaces.workspaces")
    expr: Any = import_module("wandb_workspaces.expr")

    def bars(metric: str, by: str = by) -> Any:
        """Return a chart of means with standard errors."""
        shown = {"max_runs_to_show": RUNS_SHOWN, "max_bars_to_show": RUNS_SHOWN}
        grouping = {"groupby": wr.Config(by), "groupby_aggfunc": "mean", "groupby_rangefunc": "stderr"}
        return wr.BarPlot(title=metric, metrics=[metric], **grouping, **shown)

    def lines(metric: str, log_y: bool = False) -> Any:
        """Return a chart of a metric by step."""
        axes = {"x": "trainer/global_step", "y": [metric], "log_y": log_y}
        grouping = {"groupby": wr.Config(by), "groupby_aggfunc": "mean", "groupby_rangefunc": "minmax"}
        return wr.LinePlot(title=metric, **axes, **grouping, max_runs_to_show=RUNS_SHOWN)

    def picture(name: str) -> Any:
        return wr.MediaBrowser(title=name, media_keys=[f"pictures/{name}"], num_columns=1)

    def cost(name: str) -> Any:
        x, y = wr.SummaryMetric(name), wr.SummaryMetric("test/acc")
        return wr.ScatterPlot(title=f"test/acc by {name}", x=x, y=y, log_x=True)

    results = ("parameters/total", "seconds/epoch", "val/loss", "test/acc")
    axes = [wr.Config(f"choices.{name}") for name in MODEL_COMPONENTS] + [wr.SummaryMetric(name) for name in results]
    columns = [wr.ParallelCoordinatesPlotColumn(metric=axis, display_name=axis.name) for axis in axes]
    encoders = sorted(path.stem for path in (CONF / "model" / "encoder").glob("*.yaml"))
    sections = {
        "Ranking (bars: mean over runs, lines: standard error)": [
            bars(f"test/{score}") for score in ("acc", "f1_macro", "auroc", "ece")
        ],
        "Accuracy of each encoder by attention mechanism": [
            bars(f"of_encoder/{encoder}", "choices.attention") for encoder in encoders
        ],
        "Accuracy against cost": [*map(cost, ("seconds/epoch", "parameters/total", "peak_memory_mb/process"))],
        "Hyperparameters": [
            wr.ParallelCoordinatesPlot(title="All runs", columns=columns),
            wr.ParameterImportancePlot(with_respect_to="test/acc"),
        ],
        "Curves": [*map(lines, ("train/loss", "val/loss", "train/acc", "val/acc"))],
        "Gradient norms": [lines(f"gradients/{name}", log_y=True) for name in MODEL_COMPONENTS],
        "Attention": [*map(picture, ("attention_position", "attention_entropy"))],
        "Mistakes and calibration": [*map(picture, ("confusion", "reliability"))],
    }
    layout = ws.SectionLayoutSettings(rows=4)
    return ws.Workspace(
        entity=entity,
        project=project,
        name="Heedful",
        sections=[
            ws.Section(name=name, panels=panels, is_open=True, layout_settings=layout)
            for name, panels in sections.items()
        ],
        settings=ws.WorkspaceSettings(max_runs=RUNS_SHOWN),
        runset_settings=ws.RunsetSettings(
            filters=expr.And(expr.Metric("JobType") == "train"),
            order=[expr.Ordering(expr.Summary("test/acc"), ascending=False)],
            pinned_columns=[f"summary:{name}" for name in ("test/acc", "test/acc_low", "test/acc_high", "test/n")],
        ),
    )


if __name__ == "__main__":
    main()
