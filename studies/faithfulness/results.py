"""The results of the faithfulness study for a data set, from unpacked records: the page, the CSV table and cells."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from matplotlib.figure import Figure

from heedful.faithfulness.measurement import Report, measurable_variants
from heedful.faithfulness.sections import render_csv, sections
from heedful.faithfulness.summary import Estimate, VariantSummary
from heedful.faithfulness.verdict import faithfulness_verdict
from heedful.records.variants import Variant
from heedful.report.markdown import render_markdown
from heedful.report.numbers import format_with_bounds, format_with_margin
from heedful.report.section import Dots, Section
from heedful.runs.faithfulness_record import ATTENTION, RANKINGS, UNIFORM
from heedful.terms.intervals import LEVEL, Interval, estimate
from heedful.terms.measurements import measure
from studies.claims import Claim, claims_section, judge_study
from studies.faithfulness import (
    adversary,
    agreement,
    erasure,
    flips,
    guides,
    plausibility,
    polarity,
    seeds,
    weights,
)
from studies.faithfulness.ranking_claims import judge_rankings
from studies.faithfulness.script import Estimates, estimates_of, record_file, section, summarize_records
from studies.figures import Bar, draw_intervals

SCRIPTS = {  # name of the record → title and headings
    "agreement": ("Agreement of attention with other rankings", agreement.HEADINGS),
    "flips": ("Class flips", flips.HEADINGS),
    "plausibility": ("Agreement with human rationales", plausibility.HEADINGS),
    "erasure": ("Other kinds of erasure", erasure.HEADINGS),
    "polarity": ("Polarity violations", polarity.HEADINGS),
    "weights": ("Predictions with other attention weights", weights.HEADINGS),
    "guides": ("Accuracy of guides", guides.HEADINGS),
    "adversary": ("Adversaries", adversary.HEADINGS),
}
ACCURACY = {"accuracy": "accuracy", "accuracy_difference": "minus uniform attention"}
ORDER = ("luong_general", "luong_dot", "bahdanau", "multi_head", "learned_query", "uniform")  # of rows in the report


@dataclass(frozen=True)
class DataSetResults:
    """The results of the runs below a folder, without those of scripts that have not measured the runs."""

    folder: Path

    @cached_property
    def report(self) -> Report:
        """The results of `src.faithfulness`; the summaries also have the measures of the scripts."""
        summaries = []
        for summary in self._measured:
            measures = dict(summary.measures)
            for _, _, estimates in self.tables:
                measures |= estimates[summary.variant.name]
            summaries.append(replace(summary, measures=measures))
        return Report(summaries, len(summaries[0].records[0].arrays["rows"]), (), "make study-verify")

    @cached_property
    def _measured(self) -> list[VariantSummary]:
        return summarize_records(measurable_variants([self.folder])[0])

    @cached_property
    def _seeds(self) -> tuple[dict[str, Estimates], tuple[Claim, ...]]:
        return seeds.estimate_seeds(self._measured)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of the study `faithfulness`, which compare variants."""
        return judge_study("faithfulness", [self.folder])

    @cached_property
    def tables(self) -> list[tuple[str, Mapping[str, str], Mapping[str, Estimates]]]:
        """The title, headings and estimates by variant of each table of measures outside `src.faithfulness`."""
        variants, found = [summary.variant for summary in self._measured], []
        for name, (title, headings) in SCRIPTS.items():
            if (variants[0].runs[0].folder / record_file(name)).exists():
                summaries = summarize_records(variants, record_file(name), list(headings))
                found.append((title, headings, estimates_of(summaries)))
        accuracies = _estimate_accuracies(variants)
        return [*found, ("Agreement between seeds", seeds.HEADINGS, self._seeds[0]), ("Accuracy", ACCURACY, accuracies)]

    def sections(self) -> list[Section]:
        """Return the sections of the page."""
        return [
            *self._main_sections,
            *(section(title, estimates, headings) for title, headings, estimates in self.tables),
            replace(claims_section(self._seeds[1]), title="Claim about seeds"),
            replace(claims_section(self.claims), title="Claims about variants"),
        ]

    def files(self, name: str) -> dict[str, str]:
        """Return the content of the page and of the CSV table by file name."""
        verdict = faithfulness_verdict(self.report.summaries)
        page = render_markdown(f"Faithfulness: {name}", verdict, self.sections())
        return {f"{name}.md": page, f"{name}.csv": render_csv(self.report)}

    def figures(self) -> list[Figure]:
        """Return the chart of the variants; none if the normalized comprehensiveness was not measured."""
        charts = [dots for part in self._main_sections for dots in part.content if isinstance(dots, Dots)]
        bars = [[Bar(d.label, Interval(d.value or 0.0, d.low, d.high)) for d in dots.rows] for dots in charts]
        return [draw_intervals(each, dots.title, "") for each, dots in zip(bars, charts, strict=True)]

    @cached_property
    def _main_sections(self) -> list[Section]:
        claims = judge_rankings(self.report.summaries)
        return [*sections(self.report), *([claims_section(claims)] if claims else [])]

    @property
    def variants(self) -> list[str]:
        return [summary.variant.name for summary in self.report.summaries]

    def __getitem__(self, key: tuple[str, ...]) -> Estimate:
        """Return the estimate for a variant and a measure, and for a ranking, which is attention if it is omitted."""
        variant, measure, *ranking = key
        return self._estimates[variant][ranking[0] if ranking else ATTENTION, measure]

    def cell(self, variant: str, measure: str) -> str:
        return format_with_margin(self[variant, measure].interval)

    @cached_property
    def _estimates(self) -> dict[str, Estimates]:
        return estimates_of(self.report.summaries)

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of a measured text."""
        return float(self._measured[0].records[0].arrays["lengths"].mean())

    def values(self, measure: str, pattern: str = "", ranking: str = ATTENTION) -> list[float]:
        """Return the means of the variants that have the measure and whose name contains the regular expression."""
        names = (name for name in self.variants if re.search(pattern, name))
        found = (self._estimates[name].get((ranking, measure)) for name in names)
        return [estimate.interval.value for estimate in found if estimate]

    def count(self, measure: str, sign: int) -> int:
        """Return the number of variants whose attention differs significantly (5 %) from random, with this sign."""
        differences = (self[variant, measure].against_random for variant in self.variants)
        return sum(sign * d.value > 0 and (d.p_value or 1) < LEVEL for d in differences if d)

    def ranking_rows(self, measure: str, digits: int) -> Iterator[list[str]]:
        """Yield a row for each variant: the means of the measure for the rankings, without uniform."""
        for variant in self._ordered:
            estimates = (self._estimates[variant][ranking, measure] for ranking in RANKINGS if ranking != UNIFORM)
            yield [_quote(variant), *(format_with_margin(estimate.interval, digits) for estimate in estimates)]

    def agreement_rows(self, published: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
        """Yield Kendall's τ of each variant, beside the published means with gradient and with leave-one-out."""
        for variant in self._ordered:
            if (ATTENTION, "tau_gradient") in self._estimates[variant]:
                cells = [self.cell(variant, name) for name in agreement.HEADINGS]
                means = published.get(variant, ("", ""))
                yield [_quote(variant), *(cell for pair in zip(cells, means, strict=True) for cell in pair)]

    def claim_rows(self) -> Iterator[list[str]]:
        """Yield a row for each claim about rankings and about seeds, and for the first claim about variants."""
        for claim in (*judge_rankings(self._measured), *self._seeds[1], self.claims[0]):
            difference = "" if claim.difference is None else format_with_bounds(claim.difference, 3)
            yield [claim.definition.claim, claim.verdict, difference]

    @property
    def _ordered(self) -> list[str]:
        return sorted(self.variants, key=lambda name: (name.startswith("lstm"), ORDER.index(name.split(" · ")[-1])))


def _quote(variant: str) -> str:
    return " · ".join(f"`{part}`" for part in variant.split(" · "))


def _estimate_accuracies(variants: Sequence[Variant]) -> dict[str, Estimates]:
    """Estimate the accuracy of each variant on all test texts, and its difference from uniform attention."""
    samples = {item.variant.name: item.samples["acc"] for item in measure(variants, ["acc"])}
    estimates: dict[str, Estimates] = {}
    for variant in variants:
        sample, choice = samples[variant.name], variant.choices["attention"]
        weighted = {"accuracy": [(1.0, sample)]}
        baseline = samples.get(variant.name.replace(choice, "uniform"))
        if baseline is not None and baseline is not sample:
            weighted["accuracy_difference"] = [(1.0, sample), (-1.0, baseline)]
        estimates[variant.name] = {
            (ATTENTION, name): Estimate(estimate(terms), sample.scores.shape[1]) for name, terms in weighted.items()
        }
    return estimates
