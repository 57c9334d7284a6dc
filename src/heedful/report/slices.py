"""How good a model is on groups of texts: those with the same value in a kept column."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from heedful.report.section import Dot, Dots, Section
from heedful.report.words import clean_text
from heedful.runs.run_files import Predictions
from heedful.tasks.score_intervals import join_groups
from heedful.terms.evaluation import proportion
from heedful.terms.intervals import LEVEL, Sample, estimate, holm, mean_of_terms

MAX_VALUES = 12  # of a column; a column with more names texts, not groups
MIN_TEXTS = 5  # of a group that is tested
PLACE = 2  # columns of the origin before the kept ones


def slice_columns(origin: Mapping[str, Sequence[str]]) -> dict[str, Counter[str]]:
    """Return the kept columns that divide the texts into a few groups, with the number of texts of each value."""
    counts = {name: Counter(cells) for name, cells in list(origin.items())[PLACE:]}
    return {name: found for name, found in counts.items() if 2 <= len(found) <= min(MAX_VALUES, found.total() // 2)}


def slices_section(predictions: Predictions, score: str, origin: Mapping[str, Sequence[str]]) -> Section | None:
    """Return the score of each group beside that of all texts, and whether a group differs from the others."""
    terms, groups, n = predictions.terms(score), predictions.groups, len(predictions.labels)
    columns = slice_columns(origin)
    if terms is None or not columns:
        return None
    is_share = predictions.task.scores[score].is_share
    dots, tests = [], []
    for name, values in columns.items():
        for value, size in values.most_common():
            inside = np.array([cell == value for cell in origin[name]])
            inner, units = terms[inside], None if groups is None else groups[inside]
            of = proportion(inner, units) if is_share else mean_of_terms(join_groups(inner, units))
            gap = inner.mean() - terms[~inside].mean()
            # how the difference changes with the share of each text
            of_inside = inside * (terms - inner.mean()) * (n / inside.sum())
            of_outside = ~inside * (terms - terms[~inside].mean()) * (n / (~inside).sum())
            sample = Sample((gap + of_inside - of_outside)[None], groups=groups)
            tests.append(estimate([(1, sample)]).p_value if size >= MIN_TEXTS else None)
            text, label = f" of {size:,}", f"{clean_text(name)}: {clean_text(value)}"
            dots.append(
                (Dot(label, float(inner.mean()), of.low, of.high, float(terms.mean()), choice=(name, value)), text)
            )
    adjusted = holm(tests)
    different = [dot.label for (dot, _), p in zip(dots, adjusted, strict=True) if p is not None and p < LEVEL]
    note = f"Different from the others (Holm, 5 % for all groups together): {', '.join(different)}."
    if not different:
        note = "No group differs from the others by more than chance (Holm, 5 % for all groups together)."
    bounds = [end for dot, _ in dots for end in (dot.low, dot.high, dot.value) if end is not None]
    low, high = (min(bounds), 1.0) if is_share else (0.0, max(bounds))
    chart = Dots([], "", (float(np.floor(10 * low) / 10) if is_share else low, high), is_share, ("group", "all texts"))
    tones = {label: "bad" for label in different}
    rows = [d._replace(text=f"{chart.format(d.value)}{text}", tone=tones.get(d.label, "")) for d, text in dots]
    title = f"{predictions.task.scores[score].label.capitalize()} by the kept columns; dashed: all texts. "
    title += "A group shows its texts. Small groups have wide intervals."
    return Section("Groups of texts", [Dots(rows, title, chart.ends, is_share, chart.heads)], note)
