"""The texts of a comparison's page: which variants are right, those on which the variants differ first."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heedful.records.variants import Variant, pool_folds
from heedful.report.run_texts import MAX_TEXTS, describe_text
from heedful.report.section import Section, Texts
from heedful.report.slices import slice_columns
from heedful.report.verdict import LINEAR_MODEL
from heedful.runs.run_files import Predictions, PredictionTable, read_table
from heedful.terms.comparison import Comparison
from heedful.terms.measurements import linear_predictions

MAX_VARIANTS = 8  # with more, the answers to a text are not legible
PRESETS = ("only the first right", "only the second right", "both wrong", "both right", "no seed of any model right")
NOTE = (
    "A text is right if most seeds are right. Below a text: the most frequent answer of each variant, and how many of "
    "its seeds are right. Texts on which variants differ come first."
)


class _Answers(NamedTuple):
    """The predictions of the S seeds of a model for n texts."""

    name: str
    predictions: list[Predictions]

    @property
    def right(self) -> np.ndarray:
        """The number of seeds that are right, n."""
        return np.sum([of_run.is_correct for of_run in self.predictions], axis=0)

    def most(self, texts: Sequence[int]) -> list[str]:
        """Return the most frequent answer of the seeds to some texts."""
        by_seed = [of_run.task.decode(of_run.predicted[texts]) for of_run in self.predictions]
        return [Counter(answers).most_common(1)[0][0] for answers in zip(*by_seed, strict=True)]


def shown_variants(comparison: Comparison) -> list[Variant]:
    """Return the variants whose answers the page shows: the best, and last the baseline."""
    others = [variant for variant in comparison.variants if variant is not comparison.baseline.variant]
    return [*others[: MAX_VARIANTS - 1], comparison.baseline.variant]


def texts_section(comparison: Comparison) -> Section | None:
    """Return the texts and the answers of the variants; None if answers are numbers or no text was kept."""
    variants = shown_variants(comparison)
    answers = [_Answers(variant.name, _by_seed(variant)) for variant in variants]
    first = answers[0].predictions[0]
    table = _read_tables(comparison.baseline.variant)
    if not first.task.has_classes or table is None or not any(table.texts):
        return None
    if linear := linear_predictions(comparison.baseline.variant, first.index):
        answers.append(_Answers(LINEAR_MODEL, linear[:1]))
    if len(answers) < 2:
        return None
    right, seeds = np.stack([model.right for model in answers]), np.array([[len(m.predictions)] for m in answers])
    of_most = 2 * right > seeds
    differ, is_hard = of_most.any(0) & ~of_most.all(0), ~right.any(0)
    kinds = [of_most[0] & ~of_most[-1], of_most[-1] & ~of_most[0], differ, is_hard, ~of_most.any(0)]
    ranks = np.select(kinds, range(5), 5)
    shown = np.argsort(ranks, kind="stable")[:MAX_TEXTS].tolist()
    names = dict[str, int]()

    def number(label: str) -> int:
        return names.setdefault(label, len(names))

    true, given = first.task.decode(first.labels[shown]), [model.most(shown) for model in answers]
    columns = slice_columns(table.origin)
    rows = [
        describe_text(table, columns, i)
        | {"y": number(true[place]), "v": [[int(right[m, i]), number(given[m][place])] for m in range(len(answers))]}
        for place, i in enumerate(shown)
    ]
    letters = [*"ABCDEFGH"[: len(variants)], *(["L"] if linear else [])]
    models = [(a, model.name, len(model.predictions)) for a, model in zip(letters, answers, strict=True)]
    presets = [(key, name, -1) for key, name in zip(("a", "b", "none", "both", "hard"), PRESETS, strict=True)]
    listed = [(name, values.most_common()) for name, values in columns.items()]
    texts = Texts(rows, len(first.labels), list(names), presets, columns=listed, variants=models)
    return Section("Texts: one right, the other wrong", [texts], NOTE)


def count_hard(comparison: Comparison) -> int | None:
    """Return the number of texts that no seed of any variant predicts right; None if answers are numbers."""
    hits = [row.hits for row in comparison.rows if row.hits is not None]
    return int((~np.any(np.concatenate(hits), axis=0)).sum()) if hits else None


def _by_seed(variant: Variant) -> list[Predictions]:
    return [pool_folds([run.predictions() for run in runs])[0] for runs in variant.runs_by_seed.values()]


def _read_tables(variant: Variant) -> PredictionTable | None:
    """Return the origin and the texts of all folds; None if a fold lacks them."""
    runs = next(iter(variant.runs_by_seed.values()))
    tables = [table for run in runs if (table := read_table(run.folder, run.predictions())) is not None]
    if len(tables) < len(runs) or any(table.origin.keys() != tables[0].origin.keys() for table in tables):
        return None
    origin = {name: [cell for table in tables for cell in table.origin[name]] for name in tables[0].origin}
    return PredictionTable(origin, [], [text for table in tables for text in table.texts])
