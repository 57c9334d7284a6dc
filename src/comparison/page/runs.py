"""Page sections: learning curves and confusion matrices."""

import numpy as np

from src.analysis.metrics import confusion_matrix
from src.comparison.comparison import Comparison
from src.reports.files import read_history, read_or_warn
from src.reports.page.confusion import confusion_table
from src.reports.page.curves import variant_curves
from src.reports.page.document import Section
from src.reports.page.formatting import format_count
from src.reports.page.html import tag


def curves(comparison: Comparison) -> Section | None:
    """A small chart for each variant."""
    variants = []
    for variant in comparison.variants:
        histories = [history for run in variant.runs if (history := read_or_warn(read_history, run.folder))]
        variants.append((variant.name, histories))
    if not any(histories for _, histories in variants):
        return None
    caption = (
        "By epoch, from 0. One line per seed; all charts have the same scale; the best variant is first. The test "
        "scores are those of each run's best checkpoint on validation, which need not be the last."
    )
    return Section("curves", "Curves", caption, variant_curves(variants))


def confusions(comparison: Comparison) -> Section:
    """A table for each variant."""
    tables = []
    for variant in comparison.variants:
        predictions = [run.predictions() for run in variant.runs]
        counts = np.sum([confusion_matrix(run.probabilities, run.labels) for run in predictions], axis=0)
        title = f"{variant.name}, {format_count(len(predictions), 'seed')}"
        tables.append(confusion_table(counts, comparison.class_names, title))
    caption = (
        "Texts by true class (row) and predicted class (column), with their share of the row, summed over "
        "seeds: each text counts once per seed."
    )
    return Section("confusion", "Confusion", caption, tag("div", *tables, class_="tables"))
