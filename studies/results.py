"""The released runs of the study, and the rows of the report's tables; scores and differences are in %."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from statistics import mean, median

from heedful.compare.page import render_page
from heedful.compare.sections import sections
from heedful.faithfulness.measurement import measurable_variants
from heedful.records.runs import FinishedRun, find_runs
from heedful.records.variants import Variant, group_runs
from heedful.report.figures.style import COLOURS, GREY
from heedful.report.numbers import format_p_value, format_with_bounds, format_with_margin
from heedful.runs.faithfulness_record import ATTENTION, ATTENTION_GRADIENT, LEAVE_ONE_OUT, RANDOM
from heedful.terms.comparison import Comparison, compare, judge_differences
from heedful.terms.intervals import Interval, mean_of_terms
from heedful.terms.measurements import measure
from studies.claims import Claim, claim_lines, claims_section, judge_study
from studies.faithfulness.script import summarize_records
from studies.figures import Bar
from studies.plan import Plan

TWENTY = ("bidirectional", "unidirectional")  # the sweeps of the main table
GPU = "twenty_variants_gpu"
EQUAL = 1.0  # points of accuracy: two variants are equal if the whole interval of their difference is within them
ENCODERS, ATTENTIONS = ("rnn", "lstm", "birnn", "bilstm"), ("none", "uniform", "bahdanau", "luong_dot", "luong_general")
COMPONENTS = ("components", "cnn", "normalizers", "task_scaling", "hierarchical")  # sweeps on each data set
SHOWN_RANKINGS = (ATTENTION, ATTENTION_GRADIENT, LEAVE_ONE_OUT, RANDOM)  # of the new components
OTHER_BASELINES = ATTENTIONS[:3]  # baselines of the sweep `other_attentions`


@dataclass(frozen=True)
class StudyResults:
    """The released runs, unpacked below a folder.

    Args:
        folder: contains a folder for each released sweep, with a folder for each seed.
    """

    plan: Plan
    folder: Path

    def runs(self, *sweeps: str) -> tuple[FinishedRun, ...]:
        """Return the released runs of the sweeps."""
        return tuple(run for name in sweeps for run in self._runs[name])

    @cached_property
    def _runs(self) -> dict[str, tuple[FinishedRun, ...]]:
        return {name: find_runs([self.folder / name]).runs for name in self.plan.sweeps}

    def seeds(self, sweep: str = TWENTY[0]) -> str:
        """Return the number of seeds of a sweep, such as "3 seeds", by default that of the main table."""
        return f"{len(self.plan.sweeps[sweep].seeds)} seeds"

    @cached_property
    def comparison(self) -> Comparison:
        """The comparison of the twenty variants."""
        folders = [self.folder / sweep for sweep in TWENTY]
        return compare(folders, command="make study-verify")

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claims about the twenty variants."""
        return judge_study("twenty_variants", [self.folder / sweep for sweep in TWENTY])

    def page(self) -> str:
        """Return the page of the comparison, with the claims."""
        return render_page(self.comparison, [claims_section(self.claims), *sections(self.comparison)])

    @cached_property
    def _twenty(self) -> dict[tuple[str, str], Variant]:
        by_choice = _by_choice(self.runs(*TWENTY))
        return {choice: by_choice[choice] for choice in product(ENCODERS, ATTENTIONS)}

    @cached_property
    def _others(self) -> dict[tuple[str, str], Variant]:
        return _by_choice(self.runs("other_attentions"))

    def mean(self, encoder: str, attention: str, metric: str = "acc") -> float:
        """Return the mean score of a variant over seeds."""
        return mean(_scores((self._twenty | self._others)[encoder, attention].runs, metric))

    def gain(self, encoder: str, attention: str, baseline: str, metric: str = "acc") -> str:
        """Return the difference between two mean scores, with its sign."""
        return f"{self.mean(encoder, attention, metric) - self.mean(encoder, baseline, metric):+.1f}"

    def lead(self, encoder: str, other: str, attention: str) -> str:
        """Return the difference in mean accuracy between two encoders with the same attention, with its sign."""
        return f"{self.mean(encoder, attention) - self.mean(other, attention):+.1f}"

    def accuracies(self, encoder: str, attention: str) -> str:
        """Return the accuracies of the seeds of a variant in the main table, such as "80.1, 79.5 and 81.0"."""
        *first, last = (f"{value:.1f}" for value in _scores(self._twenty[encoder, attention].runs))
        return f"{', '.join(first)} and {last}"

    def bars(self) -> list[Bar]:
        """Return the mean accuracy of each variant in the main table, with its interval over seeds."""
        colours = dict(zip(ATTENTIONS, (GREY, *COLOURS), strict=False))
        return [
            Bar(" · ".join(choice), mean_of_terms(_scores(variant.runs)), colours[choice[1]])
            for choice, variant in self._twenty.items()
        ]

    def score_rows(self, *sweeps: str, metric: str = "acc") -> Iterator[list[str]]:
        """Yield a row for each encoder: the mean score with each attention, ± the half-width of the mean's interval."""
        by_choice = _by_choice(self.runs(*sweeps or TWENTY))
        for encoder in ENCODERS:
            yield [f"`{encoder}`", *(_format_mean(by_choice[encoder, name], metric) for name in ATTENTIONS)]

    def difference_rows(self, baseline: str, metric: str = "acc") -> Iterator[list[str]]:
        """Yield the difference from `baseline`, for each encoder and each attention after `baseline` in ATTENTIONS."""
        attentions = ATTENTIONS[ATTENTIONS.index(baseline) + 1 :]
        pairs = [
            (self._twenty[encoder, attention], self._twenty[encoder, baseline])
            for encoder, attention in product(ENCODERS, attentions)
        ]
        for (variant, _), cells in zip(pairs, _difference_cells(pairs, metric), strict=True):
            yield [f"`{variant.choices['encoder']}`", f"`{variant.choices['attention']}`", *cells]

    def other_rows(self) -> Iterator[list[str]]:
        """Yield a row for each variant of `other_attentions`: accuracy, AUROC, differences from OTHER_BASELINES."""
        seeds = {run.seed for variant in self._others.values() for run in variant.runs}
        baselines = []
        for attention in OTHER_BASELINES:
            variant = self._twenty["bilstm", attention]
            baselines.append(replace(variant, runs=tuple(run for run in variant.runs if run.seed in seeds)))
        cells = iter(_difference_cells(list(product(self._others.values(), baselines))))
        for variant in self._others.values():
            differences = [cell for _ in baselines for cell in next(cells)[:2]]  # without the verdict
            name = f"`{variant.choices['attention']}`"
            yield [name, _format_mean(variant), _format_mean(variant, "auroc"), *differences]

    def cost_rows(self) -> Iterator[list[str]]:
        """Yield a row for each variant: seconds of the fastest and the median epoch, parameters and peak memory."""
        for (encoder, attention), variant in (self._twenty | self._others).items():
            epochs = [epoch for run in variant.runs for epoch in run.result.seconds.per_epoch]
            memory = max(run.result.peak_memory_mb.process or 0.0 for run in variant.runs)
            seconds = f"{min(epochs):.0f} ({median(epochs):.0f})"
            yield [f"`{encoder}` · `{attention}`", seconds, f"{variant.runs[0].parameters:,}", f"{memory:,.0f}"]

    def preset_rows(self) -> Iterator[list[str]]:
        """Yield a row for each preset: the document's result, the accuracy, texts, epochs and trained parameters."""
        for name, sweep in self.plan.sweeps.items():
            if sweep.document is not None:
                (run,) = self.runs(name)
                result, score = run.result, run.result.metrics["test/acc"]
                bounds = Interval(_scores([run])[0], *(100 * (bound or 0.0) for bound in (score.low, score.high)))
                best = "not known" if result.best.epoch is None else result.best.epoch + 1
                epochs = f"{len(result.seconds.per_epoch)}, {best}"
                cells = [_format_accuracy(bounds), f"{score.n:,}", epochs, f"{result.parameters.trainable:,}"]
                yield [f"`{name}`", sweep.document, *cells]

    def gpu_rows(self) -> Iterator[list[str]]:
        """Yield a row for each variant on the GPU: accuracy, difference from the CPU's runs, seconds an epoch."""
        by_choice = _by_choice(self.runs(GPU))
        pairs = {
            choice: (replace(variant, name=f"{variant.name} · GPU"), self._twenty[choice])
            for choice in product(ENCODERS, ATTENTIONS)
            if (variant := by_choice.get(choice)) is not None
        }
        measured = measure([variant for pair in pairs.values() for variant in pair], ["acc"])
        samples = {item.variant.name: item.samples["acc"] for item in measured}
        judged = judge_differences([(samples[first.name], samples[second.name]) for first, second in pairs.values()])
        for (encoder, attention), (difference, p_value, _) in zip(pairs, judged, strict=True):
            variant = by_choice[encoder, attention]
            epochs = [epoch for run in variant.runs for epoch in run.result.seconds.per_epoch]
            cells = [_format_mean(variant), format_with_bounds(difference, 1, 100), format_p_value(p_value)]
            yield [f"`{encoder}`", f"`{attention}`", *cells, _equivalence(difference), f"{median(epochs):.1f}"]

    def concat_equals_bahdanau(self) -> bool:
        """Return whether `luong_concat` and `bahdanau` gave the same probabilities on the GPU, in all runs."""
        by_choice = _by_choice(self.runs(GPU))
        probabilities = [
            {run.seed: run.predictions().probabilities for run in by_choice[encoder, attention].runs}
            for encoder in ENCODERS
            for attention in ("luong_concat", "bahdanau")
        ]
        pairs = zip(probabilities[::2], probabilities[1::2], strict=True)
        return all(bool((first[seed] == second[seed]).all()) for first, second in pairs for seed in first)

    def single_rows(self, sweeps: Sequence[str]) -> Iterator[list[str]]:
        """Yield a row for each of these sweeps of one variant: mean accuracy, accuracies, and seconds of training."""
        for name in sweeps:
            accuracies, seconds = _scores(self.runs(name)), [run.result.seconds.fit or 0.0 for run in self.runs(name)]
            each = ", ".join(f"{value:.2f}" for value in accuracies)
            duration = f"{min(seconds):.0f} to {max(seconds):.0f}"
            yield [f"`{name}`", _format_accuracy(mean_of_terms(accuracies)), each, duration]

    def claim_rows(self, study: str = "", folders: Sequence[Path] = ()) -> Iterator[list[str]]:
        """Yield a row for each claim: its text, its verdict, and the difference and the reason for the verdict.

        Args:
            study: name of the study file; by default, the claims are those about the twenty variants.
            folders: with the runs by which the claims are judged.
        """
        for claim in judge_study(study, folders) if study else self.claims:
            evidence = dict.fromkeys([claim_lines(claim, percent=True)[0], claim.reason])
            yield [claim.definition.claim, f"**{claim.verdict}**", "; ".join(filter(None, evidence))]

    def component_folders(self, data: str) -> list[Path]:
        """Return the folders of the sweeps of new components on a data set; none if some of them did not run."""
        sweeps = [f"{name}_{data}" for name in COMPONENTS]
        return [self.folder / sweep for sweep in sweeps] if self._runs.keys() >= set(sweeps) else []

    def normalizer_folders(self, data: str) -> list[Path]:
        """Return the folder of the runs whose faithfulness was measured; none if it was not."""
        folder = self.folder / "faithfulness" / f"normalizers_{data}"
        return [folder] if folder.exists() else []

    def component_rows(self, folders: Sequence[Path]) -> Iterator[list[str]]:
        """Yield a row for each variant, best first: accuracy, difference from the baseline, p, verdict, parameters."""
        for row in compare(folders, baseline="bilstm uniform softmax").rows:
            difference = "" if row.difference is None else format_with_bounds(row.difference, 1, 100)
            p_value = "" if row.p_adjusted is None else format_p_value(row.p_adjusted)
            parameters = f"{row.variant.runs[0].parameters:,}"
            yield [_name(row.variant), _format_mean(row.variant), difference, p_value, row.verdict, parameters]

    def faithfulness_rows(self, folders: Sequence[Path]) -> Iterator[list[str]]:
        """Yield a row for each variant: the normalized comprehensiveness of SHOWN_RANKINGS."""
        for summary in summarize_records(measurable_variants(folders)[0]):
            estimates = [summary.measures[ranking, "normalized_comprehensiveness"] for ranking in SHOWN_RANKINGS]
            yield [_name(summary.variant), *(format_with_margin(estimate.interval) for estimate in estimates)]

    def has_equal_predictions(self) -> bool:
        """Return whether `luong_concat` and `bahdanau` with a BiLSTM gave the same probabilities, digit for digit."""
        (concat,) = self.runs("luong_concat")
        twin = next(run for run in self._twenty["bilstm", "bahdanau"].runs if run.seed == concat.seed)
        return bool((concat.predictions().probabilities == twin.predictions().probabilities).all())

    def hours(self) -> float:
        """Return the hours of computation, summed over all released runs."""
        return sum(run.result.seconds.total or 0.0 for run in self.runs(*self.plan.sweeps)) / 3600


def _equivalence(difference: Interval) -> str:
    """Return what the interval of a difference says about equality within EQUAL points."""
    _, low, high, _ = difference
    if low is None or high is None:
        return "unknown"
    if max(-low, high) < EQUAL / 100:
        return "equal within one point"
    return "different" if low > 0 or high < 0 else "undecided"


def _name(variant: Variant) -> str:
    return " · ".join(f"`{value}`" for value in variant.differs.values() if value != "none")


def _by_choice(runs: Sequence[FinishedRun]) -> dict[tuple[str, str], Variant]:
    return {(variant.choices["encoder"], variant.choices["attention"]): variant for variant in group_runs(runs)}


def _scores(runs: Sequence[FinishedRun], metric: str = "acc") -> list[float]:
    """Return a score of each run."""
    terms = [run.predictions().terms(metric) for run in runs]
    return [100 * float(by_text.mean()) for by_text in terms if by_text is not None]


def _difference_cells(pairs: Sequence[tuple[Variant, Variant]], metric: str = "acc") -> list[list[str]]:
    """For each pair, return the difference with its interval, p after Holm's adjustment for all pairs, and the verdict.

    Different variants must have different names.
    """
    variants = list({variant.name: variant for pair in pairs for variant in pair}.values())
    samples = {item.variant.name: item.samples[metric] for item in measure(variants, [metric])}
    return [
        [format_with_bounds(difference, 1, 100), format_p_value(p_value), verdict]
        for difference, p_value, verdict in judge_differences([(samples[a.name], samples[b.name]) for a, b in pairs])
    ]


def _format_mean(variant: Variant, metric: str = "acc") -> str:
    """Format the mean of a score over seeds ± the half-width of its interval."""
    return format_with_margin(mean_of_terms(_scores(variant.runs, metric)), 1)


def _format_accuracy(interval: Interval) -> str:
    """Format an accuracy as "81.3 % (80.8 to 81.8)"."""
    value, low, high, _ = interval
    return f"{value:.1f} % ({low:.1f} to {high:.1f})"
