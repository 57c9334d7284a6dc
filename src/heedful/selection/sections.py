"""The sections of a shortlist's report."""

from collections.abc import Sequence

from heedful.base.formatting import capitalize
from heedful.report.numbers import UNKNOWN
from heedful.report.section import Content, Dot, Dots, Section, Table, axis_ends
from heedful.report.verdict import format_number, is_share
from heedful.selection.answer import Answer, format_gain
from heedful.selection.choice import Gain
from heedful.selection.entries import FOLDS, Curve, Entry
from heedful.terms.measurements import label

OF_FOLDS = "Each text is classified by models that were not trained on it. Seconds are those of all folds but one."
OF_SEEDS = (
    "All scores are of a test split, which the race has not read: the validation texts chose the candidates that were "
    "trained with several seeds, of whose scores this is the mean."
)
NOTE = (
    "The difference is paired by text; its interval holds for all differences at once. A model that ended earlier has "
    "the score of the cheapest one plus its difference on the texts that it classified. Seconds are CPU seconds of a "
    "training."
)
ENDED_NOTE = "A model that is no cheaper than the best so far ends if it is unlikely to be shown to be better."
CURVE_NOTE = (
    "The same {:,} test texts after trainings with one seed on parts of the training texts, with as many steps. The "
    "change is paired by text, with its 95 % interval; it says what twice the labels brought."
)


def chart(answer: Answer) -> Section:
    """Return the scores with the intervals of their differences from the cheapest model, the best first."""
    reference, in_percent = answer.finalists[0], is_share(answer.metric)
    base, dots = answer.base, []
    gains = [(entry, _gain(entry, answer)) for entry in answer.entries if entry.predictions]
    for entry, gain in sorted(gains, key=lambda pair: pair[1].value, reverse=True):
        value = answer.shown(base + gain.value)
        low, high = sorted(answer.shown(base + end) for end in (gain.low, gain.high))
        text = f"{format_number(value, answer.metric)}{' %' if in_percent else ''}"
        dots.append(
            Dot(_name(entry), value, low, high, answer.shown(base), text, "best" if entry is answer.chosen else "grey")
        )
    numbers = [x for dot in dots for x in (dot.value, dot.low, dot.high) if x is not None]
    title = f"{label(answer.metric)}, with the difference from {reference.name} (dashed) and its interval (line)"
    return Section("", [Dots(dots, capitalize(title), axis_ends(numbers, in_percent), in_percent)])


def sections(answer: Answer, again: Sequence[Content] = ()) -> list[Section]:
    """Return the leaderboard, the best first, what became of the other candidates, and what to do next."""
    reference, unit = answer.finalists[0], "seeds" if answer.chosen.screened else "folds"
    rows = [_row(entry, answer) for entry in answer.entries if entry.predictions]
    if majority := answer.majority():
        terms = reference.terms(answer.most)
        hits = majority[1][: len(terms)]
        gain = float((hits - terms).mean())
        cells = (format_number(number, answer.metric) for number in (answer.base + gain, gain))
        rows.append((answer.base + gain, [f"always {majority[0]}", *cells, *"––––"]))
    rows.sort(key=lambda row: row[0], reverse=True)
    from_reference = f"difference from {reference.name}"
    head = ["model", label(answer.metric), from_reference, "CPU s a fit", "ms a text", "MB", unit]
    table = Table(head, [cells for _, cells in rows], text_columns=frozenset([from_reference]))
    value, *bounds = (format_number(answer.shown(number), answer.metric) for number in answer.score)
    corrected = f"Without the luck of the choice, the score of {answer.chosen.name} is {value} ({' to '.join(bounds)})."
    note = f"{OF_SEEDS if answer.chosen.screened else OF_FOLDS} {NOTE} {corrected}"
    found = [Section("Leaderboard", [table], note)]
    if answer.curve is not None:
        note = CURVE_NOTE.format(len(answer.curve.terms[-1]))
        found.append(Section(f"More labels for {answer.chosen.name}", [_curve(answer.curve, answer)], note))
    ended = [[entry.name, entry.reason] for entry in answer.entries if entry.end]
    ended += [[name, f"the package {package} is not installed"] for name, package in answer.lacking.items()]
    if ended:
        found.append(Section("Not in the choice", [Table(["model", "reason"], ended)], ENDED_NOTE))
    if again:
        found.append(Section("What comes next", again))
    return found


def _row(entry: Entry, answer: Answer) -> tuple[float, list[str]]:
    gain = _gain(entry, answer)
    score = answer.base + gain.value
    costs = [
        UNKNOWN
        if not entry.fits
        else f"{entry.median(name):.2g}"
        if entry.median(name) < 10
        else f"{entry.median(name):.0f}"
        for name in ("cpu_seconds", "ms_per_text", "megabytes")
    ]
    fits = min(len(entry.predictions), answer.most)
    count = str(fits) if entry.screened else f"{fits} of {FOLDS}"
    difference = "reference" if entry is answer.finalists[0] else format_gain(gain, answer.metric)
    return score, [_name(entry), format_number(answer.shown(score), answer.metric), difference, *costs, count]


def _name(entry: Entry) -> str:
    return entry.name + (" (not checked)" if entry.end == "unchecked" else "")


def _gain(entry: Entry, answer: Answer) -> Gain:
    """Return the difference of a candidate from the cheapest one, on the texts that it classified."""
    known = answer.folds if entry in answer.finalists else len(entry.predictions)
    gains = entry.terms(known) - answer.finalists[0].terms(known)
    return Gain.of(gains, max(1, len(answer.finalists) - 1))


def _curve(curve: Curve, answer: Answer) -> Table:
    rows, metric = [], answer.metric
    for number, (texts, terms) in enumerate(zip(curve.texts, curve.terms, strict=True)):
        change = "–"
        if number:
            change = format_gain(Gain.of(terms - curve.terms[number - 1]), metric)
        share = f"{100 * texts / curve.texts[-1]:.0f} %"
        rows.append([share, f"{texts:,}", format_number(answer.shown(float(terms.mean())), metric), change])
    return Table(["of the training texts", "texts", label(metric), "twice the labels"], rows)
