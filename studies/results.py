"""The released runs of the study, and the rows of the report's tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import nan
from pathlib import Path
from statistics import median

from src.compare.sections import claim_lines
from src.records.runs import FinishedRun, find_runs
from src.records.variants import Variant, group_runs
from src.terms.comparison import Comparison, compare
from src.terms.intervals import mean_of_terms
from studies.cells import NOT_MEASURED, difference_cells, format_interval, format_mean, preset_cells, score_of
from studies.plan import Plan

TWENTY = ("bidirectional", "unidirectional")  # the sweeps of the main table
ENCODERS, ATTENTIONS = ("rnn", "lstm", "birnn", "bilstm"), ("none", "uniform", "bahdanau", "luong_dot", "luong_general")
OTHER_BASELINES = ATTENTIONS[:3]  # baselines of the sweep `other_attentions`


@dataclass(frozen=True)
class StudyResults:
    """The released runs, unpacked below a folder.

    Args:
        folder: contains a folder for each released sweep, with a folder for each seed.
    """

    plan: Plan
    folder: Path

    def has(self, sweep: str) -> bool:
        """Return whether a sweep is released for at least one seed."""
        return (self.folder / sweep).is_dir()

    def runs(self, *sweeps: str) -> tuple[FinishedRun, ...]:
        """Return the released runs of the sweeps."""
        return tuple(run for name in sweeps for run in self._runs.get(name, ()))

    @cached_property
    def _runs(self) -> dict[str, tuple[FinishedRun, ...]]:
        return {name: find_runs([self.folder / name]).runs for name in self.plan.sweeps if self.has(name)}

    @property
    def has_main_table(self) -> bool:
        """Whether at least one of the main table's sweeps is released."""
        return any(map(self.has, TWENTY))

    def seeds(self, *sweeps: str) -> str:
        """Return the number of seeds per variant, such as "2 to 3 seeds", by default in the main table."""
        counts = sorted(len(variant.runs) for variant in group_runs(self.runs(*sweeps or TWENTY)))
        if counts[0] == counts[-1]:
            return "one seed" if counts[0] == 1 else f"{counts[0]} seeds"
        return f"{counts[0]} to {counts[-1]} seeds"

    @cached_property
    def comparison(self) -> Comparison:
        """The comparison of the twenty variants, with the claims."""
        folders = [self.folder / sweep for sweep in TWENTY if self.has(sweep)]
        return replace(compare(folders), command="make study-verify")

    @cached_property
    def _twenty(self) -> dict[tuple[str, str], Variant]:
        return _by_choice(self.runs(*TWENTY))

    @cached_property
    def _others(self) -> dict[tuple[str, str], Variant]:
        return _by_choice(self.runs("other_attentions"))

    def mean(self, encoder: str, attention: str, metric: str = "acc") -> float:
        """Return the mean score of a variant over seeds, in %; nan if the variant is not released."""
        variant = (self._twenty | self._others).get((encoder, attention))
        return 100 * mean_of_terms([score_of(run, metric) for run in variant.runs]).value if variant else nan

    def accuracy_by_variant(self) -> dict[tuple[str, str], list[float]]:
        """Map each encoder and attention in the main table to the accuracies of its seeds, in %."""
        return {choices: [100 * score_of(run) for run in variant.runs] for choices, variant in self._twenty.items()}

    def accuracies(self, encoder: str, attention: str) -> str:
        """Return the accuracies of the seeds of a variant in the main table, in %, such as "80.1, 79.5 and 81.0"."""
        values = self.accuracy_by_variant().get((encoder, attention), [])
        *first, last = [f"{value:.1f}" for value in values] or [NOT_MEASURED]
        return " and ".join([", ".join(first), last] if first else [last])

    def gain(self, encoder: str, attention: str, baseline: str, metric: str = "acc") -> str:
        """Return the difference between two mean scores, in points, with its sign."""
        return f"{self.mean(encoder, attention, metric) - self.mean(encoder, baseline, metric):+.1f}"

    def score_rows(self, *sweeps: str, metric: str = "acc") -> Iterator[list[str]]:
        """Yield a row for each encoder: the mean score with each attention, ± the half-width of the mean's interval."""
        by_choice = _by_choice(self.runs(*sweeps or TWENTY))
        for encoder in ENCODERS:
            variants = [by_choice.get((encoder, attention)) for attention in ATTENTIONS]
            yield [f"`{encoder}`", *(format_mean(variant, metric) for variant in variants)]

    def difference_rows(self, baseline: str, metric: str = "acc") -> Iterator[list[str]]:
        """Yield the difference from `baseline`, for each encoder and each attention after `baseline` in ATTENTIONS."""
        attentions = ATTENTIONS[ATTENTIONS.index(baseline) + 1 :]
        pairs = [
            (self._twenty[encoder, attention], self._twenty[encoder, baseline])
            for encoder, attention in product(ENCODERS, attentions)
            if {(encoder, attention), (encoder, baseline)} <= self._twenty.keys()
        ]
        for (variant, _), cells in zip(pairs, difference_cells(pairs, metric), strict=True):
            yield [f"`{variant.choices['encoder']}`", f"`{variant.choices['attention']}`", *cells]

    def other_rows(self) -> Iterator[list[str]]:
        """Yield a row for each variant of `other_attentions`: accuracy, AUROC, differences from OTHER_BASELINES."""
        seeds = {run.seed for variant in self._others.values() for run in variant.runs}
        baselines = [_with_seeds(self._twenty["bilstm", attention], seeds) for attention in OTHER_BASELINES]
        pairs = list(product(self._others.values(), baselines))
        cells = iter(difference_cells(pairs))
        for variant in self._others.values():
            differences = [cell for _ in baselines for cell in next(cells)[:2]]  # without the verdict
            name = f"`{variant.choices['attention']}`"
            yield [name, format_mean(variant), format_mean(variant, "auroc"), *differences]

    def cost_rows(self) -> Iterator[list[str]]:
        """Yield a row for each variant: seconds of the fastest and the median epoch, parameters and peak memory."""
        variants = group_runs(self.runs(*TWENTY, "other_attentions"))
        for variant in sorted(variants, key=_row_order):
            runs = variant.runs
            epochs = sorted(epoch for run in runs for epoch in run.result.seconds.per_epoch)
            memory = max((run.result.peak_memory_mb.process or 0.0 for run in runs), default=0.0)
            name = " · ".join(f"`{variant.choices[key]}`" for key in ("encoder", "attention"))
            seconds = f"{epochs[0]:.0f} ({median(epochs):.0f})"
            yield [name, seconds, f"{runs[0].parameters:,}", f"{memory:,.0f}"]

    def preset_rows(self) -> Iterator[list[str]]:
        """Yield a row for each preset: the document's result and `preset_cells`."""
        for name, sweep in self.plan.sweeps.items():
            if sweep.document is not None:
                runs = self.runs(name)
                yield [f"`{name}`", sweep.document.statement, *(preset_cells(runs) if runs else [NOT_MEASURED] * 4)]

    def single_rows(self, sweeps: Sequence[str]) -> Iterator[list[str]]:
        """Yield a row for each of these sweeps of one variant: mean accuracy, accuracies, and seconds of training."""
        for name in sweeps:
            cells = [NOT_MEASURED] * 3
            if runs := self.runs(name):
                accuracies = [score_of(run) for run in runs]
                seconds = [run.result.seconds.fit or 0.0 for run in runs]
                each = ", ".join(f"{100 * value:.2f}" for value in accuracies)
                duration = f"{min(seconds):.0f} to {max(seconds):.0f}"
                cells = [format_interval(mean_of_terms(accuracies), unit=" %"), each, duration]
            yield [f"`{name}`", *cells]

    def claim_rows(self) -> Iterator[list[str]]:
        """Yield a row for each claim: its text, its verdict, and the difference or the reason for the verdict."""
        for claim in self.comparison.claims:
            yield [claim.definition.claim, f"**{claim.verdict}**", claim_lines(claim, percent=True)[0]]

    def has_equal_predictions(self) -> bool:
        """Return whether `luong_concat` and `bahdanau` with a BiLSTM gave the same probabilities, digit for digit."""
        (concat,) = self.runs("luong_concat")
        twin = next(run for run in self._twenty["bilstm", "bahdanau"].runs if run.seed == concat.seed)
        return bool((concat.predictions().probabilities == twin.predictions().probabilities).all())

    def hours(self) -> float:
        """Return the hours of computation, summed over all released runs."""
        return sum(run.result.seconds.total or 0.0 for run in self.runs(*self.plan.sweeps)) / 3600


def _row_order(variant: Variant) -> tuple[int, int]:
    """Return the sort key of a variant: by encoder, then by attention, with attentions of the main table first."""
    attention = variant.choices["attention"]
    number = ATTENTIONS.index(attention) if attention in ATTENTIONS else len(ATTENTIONS)
    return ENCODERS.index(variant.choices["encoder"]), number


def _by_choice(runs: Sequence[FinishedRun]) -> dict[tuple[str, str], Variant]:
    return {(variant.choices["encoder"], variant.choices["attention"]): variant for variant in group_runs(runs)}


def _with_seeds(variant: Variant, seeds: set[int]) -> Variant:
    return replace(variant, runs=tuple(run for run in variant.runs if run.seed in seeds))
