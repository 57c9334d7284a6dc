"""Loss and accuracy by epoch for training and validation."""

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from src.reports.figures.style import COLOURS, GREY, name_axes, new_figure
from src.reports.files import History

PANELS = (("loss", "Loss", "loss"), ("acc", "Accuracy", "accuracy"))
SPLITS = (("train", "training", COLOURS[0], "o"), ("val", "validation", COLOURS[1], "s"))


def draw_curves(history: History, best_epoch: int | None = None) -> Figure:
    """Draw loss and accuracy side by side; epochs count from 0, as in the log and the checkpoints."""
    figure = new_figure(10, 4)
    epochs = {epoch for by_epoch in history.values() for epoch in by_epoch}
    for axes, (score, title, label) in zip(figure.subplots(1, 2), PANELS, strict=True):
        for split, name, colour, marker in SPLITS:
            by_epoch = sorted(history.get(f"{split}/{score}", {}).items())
            if by_epoch:
                x, y = zip(*by_epoch, strict=True)
                size = 5 if len(x) <= 20 else 2.5
                axes.plot(x, y, color=colour, marker=marker, markersize=size, label=name)
        if best_epoch is not None:
            axes.axvline(best_epoch, color=GREY, linestyle=":", label=f"best epoch: {best_epoch}")
        name_axes(axes, f"{title} by epoch", "epoch (from 0)", label)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set_xlim(min(epochs) - 0.5, max(epochs) + 0.5)
        if axes.lines:
            axes.legend(fontsize=8, frameon=False)
    return figure
