"""The same texts under every variant."""

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

WORDS = 45_000  # shown at most, over all texts and variants: what keeps the page small and quick
OPEN = 3  # strips that are open at first, of those that are not even; of the others, the bars are seen
EVEN = 1e-5  # weights that differ by less are even: attention.json rounds to a tenth of that


class Reader(NamedTuple):
    """One run of a variant, with the texts that it kept."""

    variant: Variant
    run: FinishedRun
    examples: dict[str, Example]  # by name


def reviews(comparison: Comparison) -> Section | None:
    """The texts that most variants kept; a strip for each variant, best first."""
    seed = comparison.variants[0].runs[0].seed
    readers = [_reader(variant, seed, comparison.class_names) for variant in comparison.variants]
    names = _shared(readers)
    if not names:
        return None
    titles, shown = {}, {}
    for name in names:
        kept = [reader for reader in readers if name in reader.examples]
        titles[name] = (
            f"{_title(kept[0].examples[name])}: {clean_text(' '.join(kept[0].examples[name].words[:12]), 60)}"
        )
        telling = [reader for reader in kept if float(np.ptp(reader.examples[name].weights)) > EVEN] or kept
        opened = {reader.variant.name for reader in telling[:OPEN]}
        strips = [_strip(reader, reader.examples[name], seed, reader.variant.name in opened) for reader in kept]
        listed = tag("ol", *(tag("li", one) for one in strips), class_="strips")
        shown[name] = join(tag("h3", _title(kept[0].examples[name])), listed)
    steps = [tag("button", text, type="button", data_step=by) for text, by in (("Previous", -1), ("Next", 1))]
    tools = tag("div", picker("review", "Text", titles), *steps, class_="pickers needs-script")
    caption = (
        f"{format_count(len(names), 'text')} as seed {seed} of each variant "
        f"read {'it' if len(names) == 1 else 'them'}, the "
        f"best variant first. The bar is the whole text in small. {CAPTION}"
    )
    body = join(tools if len(names) > 1 else None, weight_readout(), panes("review", shown))
    return Section("reviews", "The same texts under every variant", caption, body)


def _reader(variant: Variant, seed: int, class_names: Sequence[str]) -> Reader:
    """The variant's run of that seed, or its first."""
    run = next((run for run in variant.runs if run.seed == seed), variant.runs[0])
    examples = read_or_warn(partial(read_examples, class_names=class_names), run.folder) or []
    return Reader(variant, run, {one.name: one for one in examples})


def _shared(readers: Sequence[Reader]) -> list[str]:
    """Texts that as many variants kept as kept any, and more than one did; as many as the page holds."""
    variants = Counter(name for reader in readers for name in reader.examples)
    most = max(variants.values(), default=0)
    if most < min(2, len(readers)):
        return []
    names: list[str] = []
    words = 0
    for name in (name for name, kept in variants.items() if kept == most):
        words += sum(len(reader.examples[name].words) for reader in readers if name in reader.examples)
        if names and words > WORDS:
            break
        names.append(name)
    return names


def _title(example: Example) -> str:
    return f"{example.split} {example.index}" + ("" if example.label is None else f", {example.label}")


def _strip(reader: Reader, example: Example, seed: int, is_open: bool) -> Html:
    right = None if example.label is None else example.label == example.predicted
    mark = {None: "", True: "right", False: "wrong"}[right]
    said = f"{example.predicted} {example.probabilities.get(example.predicted, 0):.2f}"
    other = tag("small", f"seed {reader.run.seed}") if reader.run.seed != seed else None
    size = f"{format_count(len(example.words), 'word')} by weight"
    summary = tag(
        "summary",
        tag("span", reader.variant.name, other, class_="name"),
        tag("span", said, tag("small", mark) if mark else None, class_=f"predicted {mark}"),
        tag("canvas", class_="bars needs-script", role="img", aria_label=size),
    )
    return tag("details", summary, strip(example.words, example.weights), open=is_open)
