"""Page section: the attention of every variant on the same texts."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from src.records.examples import Example, read_examples
from src.records.files import read_or_warn
from src.records.runs import FinishedRun
from src.records.variants import Variant
from src.reports.page.attention import Word, coloured_words
from src.reports.words import clean_text
from src.terms.comparison import Comparison

MAX_WORDS = 45_000  # maximum number of words over all texts and variants, to limit the size of the page
# maximum number of initially open strips of a text; strips of uniform weights are closed, unless all are uniform
MAX_OPEN = 3
UNIFORM_RANGE = 1e-5  # weights that differ by at most this amount count as uniform; attention.json has six decimals


class RunExamples(NamedTuple):
    """A run of a variant with its example texts."""

    variant: Variant
    run: FinishedRun
    examples: dict[str, Example]  # by name


class Strip(NamedTuple):
    """The attention of one variant on a text."""

    variant: str
    other_seed: int | None  # the seed of the run, if it is not the seed of the section
    prediction: str
    mark: str  # "right", "wrong", or "" without a true class
    words: list[Word]
    is_open: bool


class Text(NamedTuple):
    """A text with a strip for each variant."""

    title: str
    strips: list[Strip]


class SharedTexts(NamedTuple):
    """The content of the section."""

    seed: int  # seed of the runs; a strip with `other_seed` is an exception
    titles: dict[str, str]  # by name of the text
    texts: dict[str, Text]  # by name of the text


def shared_texts(comparison: Comparison) -> SharedTexts | None:
    """Return the texts that the largest number of variants saved, with the variants' attention, best variant first.

    Returns:
        The texts; None if no text was saved by at least two variants, or by the only variant.
    """
    seed = comparison.variants[0].runs[0].seed
    examples_by_run = [_run_examples(variant, seed, comparison.class_names) for variant in comparison.variants]
    titles, texts = {}, {}
    for name in _shared_examples(examples_by_run):
        with_text = [run for run in examples_by_run if name in run.examples]
        first = with_text[0].examples[name]
        titles[name] = f"{_title(first)}: {clean_text(' '.join(first.words[:12]), 60)}"
        varied = [run for run in with_text if float(np.ptp(run.examples[name].weights)) > UNIFORM_RANGE] or with_text
        open_variants = {run.variant.name for run in varied[:MAX_OPEN]}
        strips = [_strip(run, run.examples[name], seed, run.variant.name in open_variants) for run in with_text]
        texts[name] = Text(_title(first), strips)
    return SharedTexts(seed, titles, texts) if texts else None


def _run_examples(variant: Variant, seed: int, class_names: Sequence[str]) -> RunExamples:
    """Return the example texts of the variant's run with this seed, or of its first run if none has this seed."""
    run = next((run for run in variant.runs if run.seed == seed), variant.runs[0])
    examples = read_or_warn(partial(read_examples, class_names=class_names), run.folder) or []
    return RunExamples(variant, run, {example.name: example for example in examples})


def _shared_examples(runs: Sequence[RunExamples]) -> list[str]:
    """Return names for `shared_texts`: the first text, however long, and more texts up to MAX_WORDS words in all."""
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


def _strip(run_examples: RunExamples, example: Example, seed: int, is_open: bool) -> Strip:
    variant, run, _ = run_examples
    is_correct = example.label == example.predicted
    return Strip(
        variant=variant.name,
        other_seed=run.seed if run.seed != seed else None,
        prediction=f"{example.predicted} {example.probabilities.get(example.predicted, 0):.2f}",
        mark="" if example.label is None else "right" if is_correct else "wrong",
        words=coloured_words(example.words, example.weights),
        is_open=is_open,
    )
