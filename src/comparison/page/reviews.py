"""Page section: the attention of every variant on the same texts."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from src.comparison.comparison import Comparison
from src.comparison.runs import FinishedRun
from src.comparison.variants import Variant
from src.reports.files import Example, read_examples, read_or_warn
from src.reports.page.document import Section
from src.reports.page.formatting import format_count
from src.reports.page.html import Html, join, tag
from src.reports.page.selector import panes, picker
from src.reports.page.strips import CAPTION, strip, weight_readout
from src.reports.words import clean_text

MAX_WORDS = 45_000  # over all texts and variants; limits the size of the page
MAX_OPEN = 3  # strips that are open initially; those of uniform weights stay closed
UNIFORM_RANGE = 1e-5  # weights within this range are uniform; attention.json rounds to a tenth of it


class RunExamples(NamedTuple):
    """One run of a variant, with its example texts."""

    variant: Variant
    run: FinishedRun
    examples: dict[str, Example]  # by name


def reviews(comparison: Comparison) -> Section | None:
    """The texts that most variants saved; a strip for each variant, best first."""
    seed = comparison.variants[0].runs[0].seed
    examples_by_run = [_run_examples(variant, seed, comparison.class_names) for variant in comparison.variants]
    names = _shared_examples(examples_by_run)
    if not names:
        return None
    titles, strips_by_name = {}, {}
    for name in names:
        with_text = [run for run in examples_by_run if name in run.examples]
        first = with_text[0].examples[name]
        titles[name] = f"{_title(first)}: {clean_text(' '.join(first.words[:12]), 60)}"
        varied = [run for run in with_text if float(np.ptp(run.examples[name].weights)) > UNIFORM_RANGE] or with_text
        opened = {run.variant.name for run in varied[:MAX_OPEN]}
        strips = [_strip(run, run.examples[name], seed, run.variant.name in opened) for run in with_text]
        strip_list = tag("ol", *(tag("li", item) for item in strips), class_="strips")
        strips_by_name[name] = join(tag("h3", _title(first)), strip_list)
    steps = [tag("button", text, type="button", data_step=by) for text, by in (("Previous", -1), ("Next", 1))]
    tools = tag("div", picker("review", "Text", titles), *steps, class_="pickers needs-script")
    caption = (
        f"The attention of seed {seed} of each variant on {format_count(len(names), 'text')}, the best variant first. "
        f"The bar shows the weights over the whole text. {CAPTION}"
    )
    body = join(tools if len(names) > 1 else None, weight_readout(), panes("review", strips_by_name))
    return Section("reviews", "Attention on the same texts", caption, body)


def _run_examples(variant: Variant, seed: int, class_names: Sequence[str]) -> RunExamples:
    """The variant's run of that seed, or its first."""
    run = next((run for run in variant.runs if run.seed == seed), variant.runs[0])
    examples = read_or_warn(partial(read_examples, class_names=class_names), run.folder) or []
    return RunExamples(variant, run, {example.name: example for example in examples})


def _shared_examples(runs: Sequence[RunExamples]) -> list[str]:
    """Names of the texts that the most variants, and at least two, saved, up to MAX_WORDS words."""
    variants = Counter(name for run in runs for name in run.examples)
    most = max(variants.values(), default=0)
    if most < min(2, len(runs)):
        return []
    names: list[str] = []
    words = 0
    for name in (name for name, number in variants.items() if number == most):
        words += sum(len(run.examples[name].words) for run in runs if name in run.examples)
        if names and words > MAX_WORDS:
            break
        names.append(name)
    return names


def _title(example: Example) -> str:
    return f"{example.split} {example.index}" + ("" if example.label is None else f", {example.label}")


def _strip(run_examples: RunExamples, example: Example, seed: int, is_open: bool) -> Html:
    is_correct = None if example.label is None else example.label == example.predicted
    mark = {None: "", True: "right", False: "wrong"}[is_correct]
    prediction = f"{example.predicted} {example.probabilities.get(example.predicted, 0):.2f}"
    other_seed = tag("small", f"seed {run_examples.run.seed}") if run_examples.run.seed != seed else None
    description = f"{format_count(len(example.words), 'word')} by weight"
    summary = tag(
        "summary",
        tag("span", run_examples.variant.name, other_seed, class_="name"),
        tag("span", prediction, tag("small", mark) if mark else None, class_=f"predicted {mark}"),
        tag("canvas", class_="bars needs-script", role="img", aria_label=description),
    )
    return tag("details", summary, strip(example.words, example.weights), open=is_open)
