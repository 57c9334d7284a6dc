"""The page of a comparison: which variant to take, what it costs, and on which texts the variants differ."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from heedful.base.formatting import capitalize, format_count, format_names
from heedful.compare.sections import COST_HEAD, MAX_ROWS, cost_cells, factors, fair_estimate
from heedful.compare.texts import count_hard, texts_section
from heedful.compare.verdict import Advice, advise, findings, has_linear, remarks, with_few_seeds
from heedful.records.runs import summarize_excluded
from heedful.report.advice import train_command, use_commands
from heedful.report.html import render_html
from heedful.report.numbers import UNKNOWN, format_compact, format_with_bounds
from heedful.report.section import Columns, Command, Content, Dot, Dots, Group, Lines, Section, Table, axis_ends
from heedful.report.verdict import LINEAR_MODEL, describe_score, format_score, is_share
from heedful.tasks.stored import scores_of
from heedful.terms.comparison import Comparison, Row
from heedful.terms.intervals import MIN_SEEDS
from heedful.terms.measurements import label

Number = TypeVar("Number", int, str)
MIN_MODELS = 3  # that are wrong about a text whose label is then doubtful
TONES = {"better": "", "worse": "bad"}


def render_page(comparison: Comparison, parts: Sequence[Section]) -> str:
    """Render the page; `parts` are the sections with all numbers."""
    advice, rows = advise(comparison), comparison.rows
    title = advice.answer or (rows[0].variant.name if len(rows) == 1 else _subject(comparison))
    sentences = [capitalize(advice.cost), *findings(comparison), *remarks(comparison)]
    if advice.row is not None:
        metric = comparison.metric
        score = describe_score(metric, advice.row.metrics[metric].value, comparison.texts, scores_of(comparison.table))
        title += f": {score}"
    verdict = "".join(f"{sentence}. " for sentence in sentences if sentence).strip()
    runs = sum(len(variant.runs) for variant in comparison.variants)
    kicker = " · ".join((_subject(comparison), format_count(runs, "run"), format_count(comparison.texts, "test text")))
    return render_html(title, verdict, _facts(comparison), [*page_sections(comparison, advice), *parts], kicker)


def page_sections(comparison: Comparison, advice: Advice) -> list[Section]:
    """Return what the page shows beside the sections with all numbers."""
    texts = texts_section(comparison)
    return [_head(comparison, advice), *([texts] if texts else [])]


def _subject(comparison: Comparison) -> str:
    varying = " × ".join(factors(comparison))
    return format_count(len(comparison.variants), "variant") + (f" of {varying}" if varying else "")


def _head(comparison: Comparison, advice: Advice) -> Section:
    kept = [*comparison.rows[:MAX_ROWS], comparison.baseline, *([advice.row] if advice.row else [])]
    names = {row.variant.name for row in kept}
    first, others = (
        [row for row in comparison.rows if (row.variant.name in names) == is_first] for is_first in (True, False)
    )
    short = Lines(list(_in_short(comparison)), is_open=True)
    beside = Group("In short", [short, _costs(comparison, first), *_next(comparison, advice)])
    content: list[Content] = [Columns([_dots(comparison, first, advice), beside])]
    if others:
        title = f"The other {format_count(len(others), 'variant')}"
        content.append(Group(title, [_dots(comparison, others, advice)], is_open=False))
    return Section("", content)


def _costs(comparison: Comparison, rows: Sequence[Row]) -> Table:
    """Return the costs that are known of a variant."""
    cells = [cost_cells(row.cost) for row in rows]
    known = [i for i in range(len(COST_HEAD)) if any(line[i] != UNKNOWN for line in cells)]
    lines = [[row.variant.name, *(line[i] for i in known)] for row, line in zip(rows, cells, strict=True)]
    return Table(["variant", *(COST_HEAD[i] for i in known)], lines)


def _dots(comparison: Comparison, rows: Sequence[Row], advice: Advice) -> Dots:
    """Return the scores, with the intervals of their differences from the linear model or else the baseline."""
    metric, is_single = comparison.metric, len(comparison.rows) == 1
    is_linear = has_linear(comparison) and comparison.trained == comparison.variants
    in_percent = is_share(metric)
    base = comparison.baseline.metrics[metric].value
    dots = []
    for row in rows:
        difference, verdict = (row.gain, row.gain_verdict) if is_linear else (row.difference, row.verdict)
        mark = (None if is_single else base) if not is_linear else None if row.linear is None else row.linear.value
        mean, low, high = row.metrics[metric].value, None, None
        text = format_score(mean, metric)
        if difference is not None and mark is not None:
            text += f" {format_with_bounds(difference, 1, 100) if in_percent else format_with_bounds(difference, 3)}"
            if difference.low is not None and difference.high is not None:
                low, high = mark + difference.low, mark + difference.high
        rings = row.by_seed if len(row.by_seed) > 1 else ()
        tone = "best" if row is advice.row else TONES.get(str(verdict), "grey")
        dots.append(Dot(row.variant.name, mean, low, high, mark, text, tone, rings))
    if (linear := comparison.baseline.linear) is not None:
        text = format_score(linear.value, metric)
        dots.append(Dot(LINEAR_MODEL, linear.value, mark=linear.value, text=text, tone="grey"))
    numbers = [x for d in dots for x in (d.value, d.low, d.high, d.mark, *d.rings) if x is not None]
    reference = f"the {LINEAR_MODEL}" if is_linear else comparison.baseline.variant.name
    title = f"{capitalize(label(metric))}: mean (dot) and seeds (rings)"
    if is_linear or not is_single:
        title += f", with the difference from {reference} (dashed) and its 95 % interval over seeds and texts (line). "
        title += "Filled: shown to be better, square: worse, hollow: neither (after the adjustment for all variants)"
    return Dots(dots, title, axis_ends(numbers, in_percent), in_percent)


def _in_short(comparison: Comparison) -> Iterator[str]:
    """Yield what a reader should know of all variants."""
    rows, metric = comparison.rows, comparison.metric
    if len(rows) > 1:
        score = rows[0].metrics[metric].value
        words = describe_score(metric, score, comparison.texts, scores_of(comparison.table))
        yield f"Best mean: {rows[0].variant.name}, {words}"
    if estimate := fair_estimate(comparison):
        yield estimate
    used = [(row.cost.use, row) for row in rows if row.cost.use is not None]
    if len(used) > 1:
        cost, row = min(used, key=lambda pair: pair[0])
        yield f"Cheapest to use: {row.variant.name}, {format_compact(cost)} ms a text"
        worth = [row.variant.name for i, (cost, row) in enumerate(used) if all(cost < other for other, _ in used[:i])]
        if len(worth) < len(used):
            yield f"No other variant is both better and cheaper to use than {format_names(worth)}"
    if sum(len(row.variant.seeds) for row in rows) >= MIN_MODELS and (hard := count_hard(comparison)):
        of_all = f"{hard:,} of {comparison.texts:,} texts"
        yield f"Wrong with every seed of every variant: {of_all}; look at their labels first"
    if comparison.excluded:
        total = len(comparison.excluded) + sum(len(variant.runs) for variant in comparison.variants)
        yield summarize_excluded(comparison.excluded, total)[0]


def _next(comparison: Comparison, advice: Advice) -> Iterator[Content]:
    """Yield the command that uses the variant to take, and one that trains missing seeds."""
    early = with_few_seeds(comparison.rows)
    if advice.row is not None:
        run = advice.row.variant.runs[0]
        yield from use_commands(run.folder, run.config.get("data") or {})[1:2]
    if early:
        variant = early[0].variant
        more = f", and likewise {format_count(len(early) - 1, 'other variant')}" if len(early) > 1 else ""
        change = f"-m seed={','.join(map(str, range(1, MIN_SEEDS + 1)))}"
        if comparison.folds > 1:
            change += f" data.fold={','.join(map(str, range(comparison.folds)))}"
        title = f"Train {MIN_SEEDS} seeds of {variant.name}{more}"
        command = train_command(variant.runs[0].result, change)
        yield Command(title, command) if command else Lines([f"{title}: {change}"], is_open=True)


def _facts(comparison: Comparison) -> dict[str, str]:
    """Return facts about the runs, such as data, seeds, machines and dates, by heading."""
    runs = [run for variant in comparison.trained for run in variant.runs]
    results = [run.result for run in runs]
    ranked = f", ranked by {label(comparison.metric)}" if len(comparison.rows) > 1 else ""
    return {
        "Runs": f"{len(runs)}{ranked} on {format_count(comparison.texts, 'test text')}",
        "Data": _listed(result.choices.get("data", "unknown") for result in results),
        "Texts": ", ".join(f"{size:,} {split}" for split, size in results[0].data.sizes.items()),
        "Classes": ", ".join(comparison.class_names),
        "Seeds": _listed(str(seed) for seed in sorted({run.seed for run in runs})),
        "Folds": str(comparison.folds) if comparison.folds > 1 else "",
        "Epochs": _range(len(result.seconds.per_epoch) for result in results),
        "Machine": _listed(f"{result.device or 'unknown'}, {result.precision or ''}" for result in results),
        "Date": _range(run.started[:10] for run in runs),
        "Commit": ", ".join(sorted({result.git_commit[:10] for result in results if result.git_commit})),
        "Command": comparison.command,
    }


def _range(values: Iterable[Number]) -> str:
    ordered = sorted(set(values))
    return str(ordered[0]) if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


def _listed(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))
