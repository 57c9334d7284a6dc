"""Write docs/results.md, and the page and the figure in docs/results, from the released records.

`python -m studies.report --check` computes everything again and compares it with the report and the page. It does not
compare the figure, which depends on the version of matplotlib.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import nan
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from src.comparison.comparison import Comparison, compare
from src.comparison.formatting import format_p_value
from src.comparison.measurements import measure
from src.comparison.page import render
from src.comparison.rows import difference_verdict
from src.comparison.runs import FinishedRun, find_runs
from src.comparison.scores import scores_by_text
from src.comparison.statistics import Interval, holm, mean_over_seeds
from src.comparison.two_level_bootstrap import Difference, Sample, draw_samples, estimate_difference
from src.comparison.variants import Variant, group_runs
from src.process.exits import exit_with_message
from src.reports.figures.style import save_figure
from studies.figure import draw_accuracies
from studies.plan import RESULTS, ROOT, Plan, load_plan, release_file
from studies.release import unpack_release

REPORT = ROOT / "docs" / "results.md"
PAGE, FIGURE = "comparison.html", "accuracy.png"
NOT_MEASURED = "not measured"
TWENTY = ("bidirectional", "unidirectional")  # the sweeps of the main table
ENCODERS, ATTENTIONS = ("rnn", "lstm", "birnn", "bilstm"), ("none", "uniform", "bahdanau", "luong_dot", "luong_general")
OTHER_BASELINES = ATTENTIONS[:3]  # baselines of the sweep `other_attentions`


class DifferenceRow(NamedTuple):
    """The difference between two variants, with p after Holm's adjustment and a verdict."""

    variant: Variant
    baseline: Variant
    difference: Difference
    p_adjusted: float | None

    @property
    def verdict(self) -> str:
        """better, worse or not significant; exploratory with fewer than five seeds."""
        seeds = min(len(self.variant.runs), len(self.baseline.runs))
        return difference_verdict(self.difference.value, self.p_adjusted, seeds)

    @property
    def cells(self) -> list[str]:
        """Difference in points with its interval, p, and the verdict."""
        return [format_points(self.difference.interval), format_p_value(self.p_adjusted), self.verdict]


@dataclass(frozen=True)
class StudyResults:
    """The released runs, unpacked below a folder.

    Args:
        folder: contains a folder for each released sweep, in which each seed has a folder.
    """

    plan: Plan
    folder: Path

    def has(self, sweep: str) -> bool:
        """Return whether a sweep is released for at least one seed."""
        return (self.folder / sweep).is_dir()

    def runs(self, *sweeps: str) -> tuple[FinishedRun, ...]:
        """Return the released runs of the sweeps, with all seeds."""
        return tuple(run for name in sweeps for run in self._runs.get(name, ()))

    @cached_property
    def _runs(self) -> dict[str, tuple[FinishedRun, ...]]:
        return {name: find_runs([self.folder / name]).runs for name in self.plan.sweeps if self.has(name)}

    @property
    def has_main_table(self) -> bool:
        """Whether a part of the main table is released."""
        return bool(self._folders(TWENTY))

    def seeds(self, *sweeps: str) -> str:
        """Return the number of seeds per variant, such as "2 to 3 seeds"; default: that of the main table's sweeps."""
        counts = sorted(len(variant.runs) for variant in group_runs(self.runs(*sweeps or TWENTY)))
        if counts[0] == counts[-1]:
            return "one seed" if counts[0] == 1 else f"{counts[0]} seeds"
        return f"{counts[0]} to {counts[-1]} seeds"

    @cached_property
    def comparison(self) -> Comparison:
        """The comparison of the twenty variants, with the claims."""
        return replace(compare(self._folders(TWENTY)), command="make study-verify")

    @cached_property
    def _twenty(self) -> dict[tuple[str, str], Variant]:
        return _by_choice(group_runs(self.runs(*TWENTY)))

    @cached_property
    def _others(self) -> dict[tuple[str, str], Variant]:
        return _by_choice(group_runs(self.runs("other_attentions")))

    def mean(self, encoder: str, attention: str, metric: str = "acc") -> float:
        """Return the mean score of a variant over its seeds, in %; nan if the variant is not released."""
        variant = (self._twenty | self._others).get((encoder, attention))
        return 100 * mean_over_seeds([_score(run, metric) for run in variant.runs]).value if variant else nan

    def accuracy_by_variant(self) -> dict[tuple[str, str], list[float]]:
        """Return the accuracies in %, in the order of the seeds, of each encoder and attention in the main table."""
        return {
            choices: [100 * _score(run) for run in sorted(variant.runs, key=lambda run: run.seed)]
            for choices, variant in self._twenty.items()
        }

    def accuracies(self, encoder: str, attention: str) -> str:
        """Return the accuracies of a variant in the main table as text, in %, in the order of the seeds."""
        values = self.accuracy_by_variant().get((encoder, attention), [])
        *first, last = [f"{value:.1f}" for value in values] or [NOT_MEASURED]
        return " and ".join([", ".join(first), last] if first else [last])

    def gain(self, encoder: str, attention: str, baseline: str, metric: str = "acc") -> str:
        """Return the difference between two mean scores, in points, with its sign."""
        return f"{self.mean(encoder, attention, metric) - self.mean(encoder, baseline, metric):+.1f}"

    def score_rows(self, *sweeps: str, metric: str = "acc") -> Iterator[list[str]]:
        """Yield a row for each encoder: the mean score with each attention ± the half-width of its interval."""
        by_choice = _by_choice(group_runs(self.runs(*sweeps or TWENTY)))
        for encoder in ENCODERS:
            variants = [by_choice.get((encoder, attention)) for attention in ATTENTIONS]
            yield [f"`{encoder}`", *(format_mean(variant, metric) for variant in variants)]

    def difference_rows(self, baseline: str, metric: str = "acc") -> Iterator[list[str]]:
        """Yield the difference from `baseline` for each encoder and each attention listed after it in ATTENTIONS."""
        attentions = ATTENTIONS[ATTENTIONS.index(baseline) + 1 :]
        pairs = [
            (self._twenty[encoder, attention], self._twenty[encoder, baseline])
            for encoder, attention in product(ENCODERS, attentions)
            if {(encoder, attention), (encoder, baseline)} <= self._twenty.keys()
        ]
        for row in compare_pairs(pairs, metric):
            yield [f"`{row.variant.choices['encoder']}`", f"`{row.variant.choices['attention']}`", *row.cells]

    def other_rows(self) -> Iterator[list[str]]:
        """Yield a row for each other attention, with a BiLSTM: accuracy, AUROC, and differences from baselines."""
        seeds = {run.seed for variant in self._others.values() for run in variant.runs}
        baselines = [_with_seeds(self._twenty["bilstm", attention], seeds) for attention in OTHER_BASELINES]
        rows = compare_pairs([(variant, baseline) for variant in self._others.values() for baseline in baselines])
        for first in range(0, len(rows), len(baselines)):
            variant = rows[first].variant
            differences = [cell for row in rows[first : first + len(baselines)] for cell in row.cells[:2]]
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
        """Yield a row for each preset: the document's result, Heed's accuracy, test texts, epochs and parameters."""
        for name, sweep in self.plan.sweeps.items():
            if sweep.document is None:
                continue
            runs = self.runs(name)
            cells = [NOT_MEASURED] * 4 if not runs else self._preset_cells(runs)
            yield [f"`{name}`", sweep.document.statement, *cells]

    def single_rows(self, sweeps: Sequence[str]) -> Iterator[list[str]]:
        """Yield a row for each sweep, which has one variant: mean accuracy, accuracies, and seconds of training."""
        for name in sweeps:
            runs = self.runs(name)
            if not runs:
                yield [f"`{name}`", *[NOT_MEASURED] * 3]
                continue
            accuracies = [_score(run) for run in runs]
            seconds = [run.result.seconds.fit or 0.0 for run in runs]
            each = ", ".join(f"{100 * value:.2f}" for value in accuracies)
            duration = f"{min(seconds):.0f} to {max(seconds):.0f}"
            yield [f"`{name}`", format_interval(mean_over_seeds(accuracies)), each, duration]

    def claim_rows(self) -> Iterator[list[str]]:
        """Yield a row for each claim, with its verdict."""
        for claim in self.comparison.claims:
            yield [claim.text, f"**{claim.verdict}**", claim.numbers or claim.evidence[0]]

    def has_equal_predictions(self) -> bool:
        """Return whether `luong_concat` and `bahdanau` with a BiLSTM gave the same probabilities, digit for digit."""
        (concat,) = self.runs("luong_concat")
        twin = next(run for run in self._twenty["bilstm", "bahdanau"].runs if run.seed == concat.seed)
        return bool((concat.predictions().probabilities == twin.predictions().probabilities).all())

    def hours(self) -> float:
        """Return the hours of computation, summed over all released runs."""
        runs = [run for name in self.plan.sweeps for run in self.runs(name)]
        return sum(run.result.seconds.total or 0.0 for run in runs) / 3600

    def _folders(self, sweeps: Sequence[str]) -> list[Path]:
        return [self.folder / sweep for sweep in sweeps if self.has(sweep)]

    def _preset_cells(self, runs: Sequence[FinishedRun]) -> list[str]:
        accuracies = [_score(run) for run in runs]
        score, epochs = runs[0].result.metrics["test/acc"], len(runs[0].result.seconds.per_epoch)
        single = Interval(accuracies[0], score.low, score.high)
        interval = mean_over_seeds(accuracies) if len(runs) > 1 else single
        best = runs[0].result.best.epoch
        trained = f"{epochs}, {'not known' if best is None else best + 1}"
        return [format_interval(interval), f"{score.n:,}", trained, f"{runs[0].result.parameters.trainable:,}"]


def compare_pairs(pairs: Sequence[tuple[Variant, Variant]], metric: str = "acc") -> list[DifferenceRow]:
    """Return the difference in a metric for each pair of variants, on the same texts, with p adjusted for all pairs."""
    variants = list({id(variant): variant for pair in pairs for variant in pair}.values())
    measurements = measure(variants, [metric], metric, [metric])
    drawn = draw_samples(
        [measurement.by_text[metric] for measurement in measurements],
        seeds=[measurement.seeds for measurement in measurements],
    )
    samples: Mapping[int, Sample] = {id(variant): sample for variant, sample in zip(variants, drawn, strict=True)}
    differences = [estimate_difference([(1, samples[id(a)]), (-1, samples[id(b)])]) for a, b in pairs]
    adjusted = holm([1.0 if difference.p_value is None else difference.p_value for difference in differences])
    return [
        DifferenceRow(first, second, difference, p)
        for (first, second), difference, p in zip(pairs, differences, adjusted, strict=True)
    ]


def format_mean(variant: Variant | None, metric: str = "acc") -> str:
    """Format the mean of a metric over seeds ± the half-width of its 95 % interval, in %."""
    if variant is None:
        return NOT_MEASURED
    mean, low, _ = mean_over_seeds([_score(run, metric) for run in variant.runs])
    return f"{100 * mean:.1f}" + ("" if low is None else f" ± {100 * (mean - low):.1f}")


def format_interval(interval: Interval) -> str:
    """Format a share in % with its interval, such as "81.3 % (80.8 to 81.8)"."""
    value, low, high = interval
    bounds = "" if low is None or high is None else f" ({100 * low:.1f} to {100 * high:.1f})"
    return f"{100 * value:.1f} %{bounds}"


def format_points(interval: Interval) -> str:
    """Format a difference between shares in points with its interval, such as "+1.2 (-0.3 to +2.7)"."""
    value, low, high = interval
    bounds = "" if low is None or high is None else f" ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"{100 * value:+.1f}{bounds}"


def render_report(results: StudyResults) -> str:
    """Fill the template `studies/results.md.j2`."""
    loader = FileSystemLoader(ROOT / "studies")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["row"] = lambda cells: f"| {' | '.join(cells)} |"
    return environment.get_template("results.md.j2").render(study=results)


def write_report(check: bool = False, results: Path = RESULTS, report: Path = REPORT) -> list[Path]:
    """Write the report, the page of the comparison and the figure; return the paths of report and page if changed.

    Args:
        check: write nothing, and return the paths of the files that disagree with the records.
        results: folder of the released records, the page and the figure.
        report: path of the report.
    """
    plan = load_plan()
    with TemporaryDirectory() as folder:
        for name, sweep in plan.sweeps.items():
            for file in (release_file(name, seed, results) for seed in sweep.seeds):
                if file.exists():
                    unpack_release(file, Path(folder) / name / file.stem)
        study = StudyResults(plan, Path(folder))
        contents = {report: render_report(study)}
        if study.has_main_table:
            contents[results / PAGE] = render(study.comparison)
            if not check:
                save_figure(draw_accuracies(study.accuracy_by_variant(), ENCODERS, ATTENTIONS), results / FIGURE)
    changed = [path for path, text in contents.items() if not _has_content(path, text)]
    for path in [] if check else changed:
        path.write_text(contents[path], encoding="utf-8")
    return changed


def main(arguments: Sequence[str] | None = None) -> None:
    """Write or check the report."""
    parser = argparse.ArgumentParser("python -m studies.report", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the files with the records; write nothing")
    options = parser.parse_args(arguments)
    with exit_with_message("standard output"):
        changed = write_report(options.check)
        if options.check and changed:
            sys.exit("\n".join(f"{path} differs from the released records" for path in changed))
        print("The report agrees with the released records" if not changed else f"Wrote {', '.join(map(str, changed))}")


def _score(run: FinishedRun, metric: str = "acc") -> float:
    predictions = run.predictions()
    return float(scores_by_text(predictions.probabilities, predictions.labels, [metric])[metric].mean())


def _row_order(variant: Variant) -> tuple[int, int]:
    """Return the sort key of a variant, by encoder, then by attention; those of the main table come first."""
    attention = variant.choices["attention"]
    number = ATTENTIONS.index(attention) if attention in ATTENTIONS else len(ATTENTIONS)
    return ENCODERS.index(variant.choices["encoder"]), number


def _by_choice(variants: Sequence[Variant]) -> dict[tuple[str, str], Variant]:
    return {(variant.choices["encoder"], variant.choices["attention"]): variant for variant in variants}


def _with_seeds(variant: Variant, seeds: set[int]) -> Variant:
    return Variant(variant.name, variant.differs, tuple(run for run in variant.runs if run.seed in seeds))


def _has_content(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    main()
