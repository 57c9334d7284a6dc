"""The sections of a comparison."""

import numpy as np

from heedful.base.formatting import capitalize, format_names
from heedful.records.cost import Cost
from heedful.records.runs import summarize_excluded
from heedful.records.statistics import FAITHFULNESS, SECONDS
from heedful.records.variants import Variant
from heedful.report.numbers import UNKNOWN, format_compact, format_known, format_p_value, format_with_margin
from heedful.report.section import Group, Heat, Lines, Section, Strip, Table
from heedful.report.verdict import LINEAR_MODEL, format_score, format_sizes
from heedful.report.words import STRIP_NOTE, branch_title, clean_text, example_words
from heedful.runs.examples import Example, read_examples
from heedful.runs.run_files import read_or_warn
from heedful.tasks.stored import find_score
from heedful.terms.comparison import Comparison, Row
from heedful.terms.intervals import MIN_SEEDS
from heedful.terms.measurements import label, untested

SCORES = (
    "Mean over seeds on these {texts:,} test texts ± the half-width of the 95 % interval for the mean over all "
    "possible seeds (Student's t).{lower} ensemble: {metric} of the {predicted} averaged over seeds."
)
DIFFERENCES = (
    "Difference from the baseline ± the half-width of its 95 % interval over seeds and texts (Student's t). The "
    "interval and the first p are unadjusted; the second p is adjusted (Holm) for all differences of the "
    "table, and decides the verdict. Exploratory: fewer than {min_seeds} seeds. The difference of several seeds from a "
    "single one has no p, because the variation of that variant is unknown."
)
FOLDS = (
    "Cross-validation: {folds} folds per seed. Each text is predicted by the run whose test split contains it, and a "
    "score is computed over the texts of all folds. The intervals of differences account for the overlap of the "
    "training sets (Nadeau and Bengio 2003)."
)
OVER_TEXTS = (
    " Over texts: the same difference, with the variance over the texts of all folds × 1.5 in place of that over "
    "folds. It sees smaller differences, with 2 to 5 % false positives in simulations instead of 1 to 3 %."
)
LINEAR = (
    "The linear model of a run is logistic regression on the TF-IDF features of words and bigrams, fitted to the "
    "same training split. Difference: of the variant from it ± the half-width of the "
    "95 % interval over seeds and texts. The second p is adjusted (Holm) for all differences of the table, and decides "
    "the verdict."
)
COST = (
    "Seconds of training: of the processor (of the clock, if a run does not know them), from start to end. "
    "Milliseconds: of the processor, for a text in a batch of 32. Both are medians over runs. Seconds per epoch: "
    "without validation; median over epochs, then mean over seeds. Memory: the maximum over runs of the memory of the "
    "CUDA device or, without one, of the process."
)
FAITHFULNESS_NOTE = (
    "From the records of the command `faithfulness`, mean over seeds ± the half-width of the 95 % interval "
    "(Student's t). Normalized comprehensiveness: 0 is the lowest and 1 the highest value that a ranking can reach."
)
COST_HEAD = ("training, s", "ms a text", "parameters")
MAX_ROWS = 12  # variants that a page shows at once; the others are folded
MAX_CLASSES = 12  # maximum number of classes in the table of recalls
MAX_TEXTS = 10  # maximum number of texts with the attention of each variant, to limit the size of the page
MAX_OPEN = 3  # maximum number of initially open strips of a text
DEFAULT_FACTORS = ("encoder", "attention")  # rows and columns of the grid, if the variants differ in both
MIN_FILLED = 0.5  # minimum share of the grid's cells that must contain a variant


def sections(comparison: Comparison) -> list[Section]:
    """Return the sections that have content; the best variant is first."""
    parts = [
        _scores(comparison),
        _differences(comparison),
        _linear(comparison),
        _grid(comparison),
        _cost(comparison),
        _faithfulness(comparison),
        _shared_texts(comparison),
        _recalls(comparison),
        _excluded(comparison),
    ]
    return [part for part in parts if part.content]


def factors(comparison: Comparison) -> dict[str, list[str]]:
    """Map each component and option in which the variants differ to its values, in the order of the runs."""
    variants = sorted(comparison.trained, key=lambda variant: variant.runs[0].started)
    names = dict.fromkeys(name for variant in variants for name in variant.differs)
    values = {name: list(dict.fromkeys(_value(variant, name) for variant in variants)) for name in names}
    return {name: levels for name, levels in values.items() if len(levels) > 1}


def _value(variant: Variant, factor: str) -> str:
    return variant.differs.get(factor, UNKNOWN)


def _scores(comparison: Comparison) -> Section:
    metric = comparison.metric
    names = list(dict.fromkeys((metric, *comparison.table)))
    rows = []
    for row in comparison.rows:
        name = f"{row.variant.name} (baseline)" if row.verdict == "baseline" else row.variant.name
        scores = [format_with_margin(row.metrics.get(name)) for name in names]
        rows.append([name, str(len(row.variant.seeds)), *scores, format_known(row.ensemble)])
    table = Table(["variant", "seeds", *map(label, names), "ensemble"], rows)
    lower = [score.label for name in names if (score := find_score(name)) and score.lower_is_better]
    note = SCORES.format(
        texts=comparison.texts,
        metric=label(metric),
        lower=f" For {format_names(lower)}, lower is better." if lower else "",
        predicted="probabilities" if comparison.class_names else "predictions",
    )
    note += f" {FOLDS.format(folds=comparison.folds)}" if comparison.folds > 1 else ""
    named = [f"{of.name} ({branch})" for of in comparison.variants if (branch := of.runs[0].result.branch)]
    if estimate := fair_estimate(comparison):
        note += f" {estimate}."
    note += f" Models with a branch: {', '.join(named)}." if named else ""
    note += "".join(f" {variant.name}: {variant.outside}." for variant in comparison.variants if variant.outside)
    return Section("Scores", [table], note, is_folded=True)


def fair_estimate(comparison: Comparison) -> str:
    """Return by how much the best variant looks too good because it is the best; "" if this is next to nothing."""
    metric, best, excess = comparison.metric, comparison.rows[0], comparison.excess
    if excess <= 0.001 * abs(best.metrics[metric].value):
        return ""
    true = best.metrics[metric].value + (excess if comparison.lower_is_better else -excess)
    return (
        f"The best of {len(comparison.rows)} variants looks too good, here by about {format_sizes([excess], metric)}: "
        f"of {best.variant.name}, {format_score(true, metric)} is a fairer estimate"
    )


def _differences(comparison: Comparison) -> Section:
    rows, has_folds = [], comparison.folds > 1
    for row in comparison.rows:
        if row.difference is not None:
            p_values = map(format_p_value, (row.difference.p_value, row.p_adjusted))
            cells = [format_with_margin(row.difference, 4, "+"), *p_values]
            if has_folds:
                p_value = row.over_texts and row.over_texts.p_value
                cells += [format_with_margin(row.over_texts, 4, "+"), format_p_value(p_value)]
            rows.append([row.variant.name, *cells, row.verdict])
    note = DIFFERENCES.format(min_seeds=MIN_SEEDS) + _untested(comparison) + (OVER_TEXTS if has_folds else "")
    over_texts = ["over texts", "p, over texts"] if has_folds else []
    table = Table(["variant", "difference", "p", "p, Holm", *over_texts, "verdict"], rows)
    title = f"Differences in {label(comparison.metric)} from {comparison.baseline.variant.name}"
    return Section(title, [table] if rows else [], note, is_folded=True)


def _linear(comparison: Comparison) -> Section:
    """Return the difference of each variant from the linear model of its runs."""
    rows = [
        [
            row.variant.name,
            format_with_margin(row.metrics[comparison.metric]),
            format_with_margin(row.linear),
            format_with_margin(row.gain, 4, "+"),
            *map(format_p_value, (row.gain.p_value, row.gain_p_adjusted)),
            str(row.gain_verdict),
        ]
        for row in comparison.rows
        if row.gain is not None
    ]
    name = label(comparison.metric)
    note = (LINEAR if comparison.class_names else LINEAR.replace("logistic", "ridge")) + _untested(comparison)
    table = Table(["variant", name, LINEAR_MODEL, "difference", "p", "p, Holm", "verdict"], rows)
    title = f"Differences in {name} from the {LINEAR_MODEL}"
    return Section(title, [table] if rows else [], note, is_folded=True)


def _untested(comparison: Comparison) -> str:
    """Return a sentence that says why the differences have no intervals; "" if they have."""
    reason = untested(comparison.metric, comparison.rare_classes)
    return f" {capitalize(reason)}." if reason else ""


def _grid(comparison: Comparison) -> Section:
    """Return tables with one factor in the rows and another in the columns, for each combination of other factors."""
    varying, metric = factors(comparison), comparison.metric
    if len(varying) < 2:
        return Section("Grid", [])
    first, second = DEFAULT_FACTORS if set(DEFAULT_FACTORS) <= set(varying) else tuple(varying)[:2]
    others = [name for name in varying if name not in (first, second)]
    by_others: dict[str, dict[tuple[str, str], Row]] = {}
    rows = [row for row in comparison.rows if not row.variant.outside]
    for row in rows:
        values = ", ".join(_value(row.variant, name) for name in others)
        by_others.setdefault(values, {})[_value(row.variant, first), _value(row.variant, second)] = row
    if len(rows) < MIN_FILLED * len(varying[first]) * len(varying[second]) * len(by_others):
        return Section("Grid", [])
    scores = [row.metrics[metric].value for row in rows]
    worst, best = (max(scores), min(scores)) if comparison.lower_is_better else (min(scores), max(scores))

    def cell(row: Row | None) -> str | Heat:
        if row is None:
            return UNKNOWN
        depth = (row.metrics[metric].value - worst) / (best - worst) if best != worst else 0.5
        return Heat(format_with_margin(row.metrics[metric]), depth)

    tables = [
        Table(
            [f"{first} \\ {second}", *varying[second]],
            [[name, *(cell(rows.get((name, column))) for column in varying[second])] for name in varying[first]],
            title,
        )
        for title, rows in by_others.items()
    ]
    title, note = f"{capitalize(label(metric))} by {first} and {second}", "A deeper colour marks a better score."
    return Section(title, tables, note, is_folded=True)


def cost_cells(cost: Cost) -> list[str]:
    """Return the cells below COST_HEAD."""
    times = (UNKNOWN if value is None else format_compact(value) for value in (cost.training, cost.use))
    return [*times, format_known(cost.parameters, "{:,}")]


def _cost(comparison: Comparison) -> Section:
    rows = []
    for row in comparison.rows:
        seconds, memory = row.metrics.get(SECONDS), format_known(row.peak_memory_mb, "{:,.0f}")
        rows.append([row.variant.name, *cost_cells(row.cost), format_with_margin(seconds, 2), memory])
    head = ["variant", *COST_HEAD, "seconds per epoch", "peak memory, MB"]
    return Section("Cost", [Table(head, rows)], COST, is_folded=True)


def _faithfulness(comparison: Comparison) -> Section:
    rows = [
        [row.variant.name, format_with_margin(row.metrics[FAITHFULNESS])]
        for row in comparison.rows
        if FAITHFULNESS in row.metrics
    ]
    table = Table(["variant", label(FAITHFULNESS)], rows)
    return Section("Faithfulness", [table] if rows else [], FAITHFULNESS_NOTE, is_folded=True)


def _shared_texts(comparison: Comparison) -> Section:
    """Return the texts that the largest number of variants saved, with the variants' attention, best variant first."""
    seed = comparison.variants[0].runs[0].seed
    runs = {v.name: next((run for run in v.runs if run.seed == seed), v.runs[0]) for v in comparison.variants}
    by_text: dict[tuple[str, int, str], list[tuple[str, Example]]] = {}
    for variant, run in runs.items():
        other_seed = "" if run.seed == seed else f", seed {run.seed}"
        for example in read_or_warn(read_examples, run.folder) or []:
            # the runs may have been given others
            start = "".join(example.words)[:40] if example.split == "text" else ""
            by_text.setdefault((example.split, example.index, start), []).append((f"{variant}{other_seed}", example))
    most = max(map(len, by_text.values()), default=0)
    shared = [examples for examples in by_text.values() if len(examples) == most >= min(2, len(runs))]
    groups: list[Group] = []
    for examples in shared[:MAX_TEXTS]:
        _, first = examples[0]
        strips = []
        for number, (variant, example) in enumerate(examples):
            prediction = example.prediction
            if example.label is not None and example.has_classes:
                prediction += " (right)" if example.label == example.predicted else " (wrong)"
            if example.branch is not None:
                prediction += f"; {branch_title(example.branch.weight)}"
            words = example_words(example)
            strips.append(Strip(f"{variant}: {prediction}", words, is_open=number < MAX_OPEN))
        true = "" if first.label is None else f", {first.label}"
        words_of_title = clean_text(" ".join(first.words[:12]), 60)
        groups.append(Group(f"{first.split} {first.index}{true}: {words_of_title}", strips, is_open=not groups))
    note = f"The attention of each variant, trained with seed {seed}. {STRIP_NOTE}"
    return Section("Attention on the same texts", groups, note, is_folded=True)


def _recalls(comparison: Comparison) -> Section:
    """Return the share of each class's texts that a variant classifies correctly, over all its runs."""
    rows = []
    if not (classes := comparison.class_names[:MAX_CLASSES]):
        return Section("Recall by class", [])
    for row in comparison.rows:
        if row.class_counts is not None:
            hits, _, true = row.class_counts[:, :MAX_CLASSES]
            shown = zip((hits / np.maximum(true, 1)).tolist(), true.tolist(), strict=True)
            cells = (Heat(f"{recall:.3f}", recall) if texts else UNKNOWN for recall, texts in shown)
            rows.append([row.variant.name, *cells])
    more = len(comparison.class_names) - len(classes)
    note = "The share of the texts of each class that are classified correctly, over all seeds."
    note += f" Classes that are not shown: {more:,}." if more else ""
    table = Table(["variant", *(clean_text(name) for name in classes)], rows)
    return Section("Recall by class", [table], note, is_folded=len(rows) > MAX_ROWS)


def _excluded(comparison: Comparison) -> Section:
    excluded = comparison.excluded
    if not excluded:
        return Section("Not compared", [])
    total = len(excluded) + sum(len(variant.runs) for variant in comparison.variants)
    rows = [[str(run.folder), run.status, run.error.strip()] for run in excluded]
    folders = Group("Folders", [Table(["folder", "status", "reason"], rows)], is_open=False)
    return Section("Not compared", [Lines(summarize_excluded(excluded, total)), folders], is_folded=True)
