"""The sections of a shortlist's report."""

import numpy as np

from heedful.report.section import Section, Table
from heedful.report.verdict import format_number
from heedful.selection.answer import Answer
from heedful.selection.choice import Gain
from heedful.selection.race import FOLDS, Entry
from heedful.terms.measurements import label

NOTE = (
    "Each text is classified by models that were not trained on it. The difference is paired by text; its interval "
    "holds for all differences at once. A model that ended earlier has the score of the cheapest one plus its "
    "difference on the texts that it classified. Seconds are CPU seconds of a training on all folds but one."
)


def sections(answer: Answer) -> list[Section]:
    """Return the leaderboard, the best first, and what became of the other candidates."""
    reference = answer.finalists[0]
    rows = [_row(entry, answer) for entry in answer.entries if entry.fits]
    rows.sort(key=lambda row: row[0], reverse=True)
    head = [
        "model",
        label(answer.metric),
        f"difference from {reference.name}",
        "CPU s a fit",
        "ms a text",
        "MB",
        "folds",
    ]
    table = Table(head, [cells for _, cells in rows], text_columns=frozenset(head[2:3]))
    others = [[entry.name, entry.reason] for entry in answer.entries if entry.end]
    value, *bounds = (format_number(abs(number), answer.metric) for number in answer.score)
    corrected = f"Without the luck of the choice, the score of {answer.chosen.name} is {value} ({' to '.join(bounds)})."
    found = [Section("Leaderboard", [table], f"{NOTE} {corrected}")]
    return [*found, Section("Ended early", [Table(["model", "reason"], others)])] if others else found


def _row(entry: Entry, answer: Answer) -> tuple[float, list[str]]:
    reference, folds = answer.finalists[0], len(entry.fits)
    gain = Gain.of(entry.terms() - reference.terms(folds), max(1, len(answer.finalists) - 1))
    score = float(np.mean(reference.terms())) + gain.value
    if entry is reference:
        difference = "reference"
    else:
        value, low, high = (format_number(number, answer.metric) for number in (gain.value, gain.low, gain.high))
        difference = f"{value} ({low} to {high})"
    costs = [
        f"{entry.mean(name):.2g}" if entry.mean(name) < 10 else f"{entry.mean(name):.0f}"
        for name in ("cpu_seconds", "ms_per_text", "megabytes")
    ]
    return score, [entry.name, format_number(abs(score), answer.metric), difference, *costs, f"{folds} of {FOLDS}"]
