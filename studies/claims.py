"""Judge the claims of a study by the differences within pairs of variants: `python -m studies.claims <folders>`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Literal

from heedful.base.formatting import format_count
from heedful.base.process import exit_with_message
from heedful.records.variants import find_variants
from heedful.report.numbers import format_p_value, format_with_bounds
from heedful.report.section import Group, Lines, Section, Table
from heedful.report.terminal import OutputConsole, render_terminal
from heedful.tasks.task import MIN_TEXTS
from heedful.terms.intervals import LEVEL, MIN_SEEDS, Interval, Sample, estimate, holm
from heedful.terms.measurements import Measurement, measure, sample_statistic, untested
from heedful.terms.measurements import label as label_of_score
from studies.statistics import STATISTICS
from studies.study import ClaimDefinition, Statement, describe_selector, load_study, match_pairs

RULES = (
    "Supported: the effect is significant (p below 5 % after Holm's adjustment for all claims), and no single pair of "
    "variants shows a significant opposite effect. Real but negligible: supported, except that the interval ends below "
    "the study's negligible size (half a point of accuracy in the twenty-model study). Contradicted: the opposite "
    "effect is significant. Not supported: the effect is not significant, and its interval ends below that size. "
    "Inconclusive: all other cases, and claims about fewer than five seeds. The intervals of claims are simultaneous "
    "95 % intervals; those of single pairs are unadjusted."
)
ClaimVerdict = Literal["supported", "real but negligible", "contradicted", "not supported", "inconclusive"]


@dataclass(frozen=True)
class Pair:
    """The two sides of a claim, and their difference as a weighted sum of samples; positive if the claim is true."""

    favoured: str
    counterpart: str
    weighted: tuple[tuple[float, Sample], ...]

    @cached_property
    def difference(self) -> Interval:
        """The difference with the 95 % interval of this pair alone."""
        return estimate(self.weighted)

    @property
    def seeds(self) -> int:
        """The number of seeds of the side that has fewer."""
        return min(len(sample.seeds or sample.scores) for _, sample in self.weighted)

    def __str__(self) -> str:
        return f"{self.favoured} against {self.counterpart}"


@dataclass(frozen=True)
class Claim:
    """A claim with its evidence and its verdict.

    Args:
        reason: the reason for an inconclusive verdict that the numbers do not show; "" if there is none.
        difference: the mean difference over the pairs, positive if the claim is true, with its simultaneous interval
            and the p-value after Holm's adjustment; None without evidence.
    """

    definition: Statement
    pairs: tuple[Pair, ...] = ()
    reason: str = ""
    verdict: ClaimVerdict = "inconclusive"
    difference: Interval | None = None


def judge_study(study: str | Path, folders: Sequence[Path]) -> tuple[Claim, ...]:
    """Judge the claims of a study, given by its file or name, on the runs below folders; a single run has none."""
    variants, _ = find_variants(folders)
    definitions = load_study(Path(study), variants).claims
    if sum(len(variant.seeds) for variant in variants) == 1:
        return ()
    first, *_ = next(iter(variants[0].runs_by_seed.values()))
    compared = next(iter(first.predictions().task.scores))
    names = [claim.metric for claim in definitions]
    measurements = measure(variants, [compared, *(name for name in names if name not in STATISTICS)])
    for item, name in product(measurements, STATISTICS.keys() & set(names)):
        if (sample := sample_statistic(STATISTICS[name].compute, item.variant)) is not None:
            item.samples[name] = sample
    return judge_claims(definitions, measurements)


def judge_claims(definitions: Sequence[ClaimDefinition], measurements: Sequence[Measurement]) -> tuple[Claim, ...]:
    """Judge each claim by the mean difference over pairs of variants that differ only in the components of the claim.

    Pairs with fewer than 5 seeds are omitted if other pairs have enough seeds.
    """
    return judge([_find_pairs(definition, measurements) for definition in definitions])


def judge(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Give each claim that has pairs its verdict; docs/comparing.md states the rules.

    Two methods, each with a family-wise error rate of 5 %, are applied to the m claims that can be tested. Holm's test
    decides whether the mean differs from zero (p below 5 % after the adjustment). Bonferroni's simultaneous intervals,
    which have a confidence level of 1 - 5 %/m each, estimate the mean. Holm's test is more powerful: if it rejects zero
    but the interval contains zero, the interval is truncated at zero.
    """
    means = [_mean_over_pairs(claim) for claim in claims]
    p_values = holm([estimate(mean).p_value if mean else None for mean in means])
    level = LEVEL / max(1, sum(p_value is not None for p_value in p_values))
    return tuple(
        _judge(claim, estimate(mean, level), p_value) if mean else claim
        for claim, mean, p_value in zip(claims, means, p_values, strict=True)
    )


def _mean_over_pairs(claim: Claim) -> list[tuple[float, Sample]]:
    """Return the mean difference as a weighted sum; a variant may be in several pairs."""
    weights: dict[Sample, float] = {}
    for pair in claim.pairs:
        for weight, sample in pair.weighted:
            weights[sample] = weights.get(sample, 0.0) + weight / len(claim.pairs)
    return [(weight, sample) for sample, weight in weights.items()]


def _judge(claim: Claim, difference: Interval, p_value: float | None) -> Claim:
    """Judge a claim by its mean difference with the simultaneous interval, and by its adjusted p-value."""
    value, low, high, _ = difference
    is_shown = _is_significant(p_value)
    if is_shown and low is not None and high is not None:
        low, high = (max(low, 0.0), high) if value > 0 else (low, min(high, 0.0))
    claim = replace(claim, difference=Interval(value, low, high, p_value))
    if (seeds := min(pair.seeds for pair in claim.pairs)) < MIN_SEEDS:
        count = format_count(seeds, "seed")
        return replace(claim, reason=f"at least one variant has only {count}: a verdict needs {MIN_SEEDS}")
    adjusted = zip(claim.pairs, holm([pair.difference.p_value for pair in claim.pairs]), strict=True)
    opposite = [str(pair) for pair, p in adjusted if _is_significant(p) and pair.difference.value * value < 0]
    if is_shown and opposite:
        average, pairs = ("true on average, but not", "false on average, but true")[value < 0], ", ".join(opposite)
        return replace(claim, reason=f"{average} for {pairs}")
    if is_shown and value < 0:
        return replace(claim, verdict="contradicted")
    limit = claim.definition.negligible
    is_negligible = limit is not None and high is not None and high < limit
    if is_shown:
        return replace(claim, verdict="real but negligible" if is_negligible else "supported")
    return replace(claim, verdict="not supported" if is_negligible else "inconclusive")


def _is_significant(p_value: float | None) -> bool:
    return p_value is not None and p_value < LEVEL


def _find_pairs(definition: ClaimDefinition, measurements: Sequence[Measurement]) -> Claim:
    """Return a claim with its evidence, or with the reason why there is none."""
    by_name = {item.variant.name: item for item in measurements}
    matches = match_pairs([item.variant for item in measurements], definition.variants, definition.against)
    if not matches:
        favoured, against = describe_selector(definition.variants), describe_selector(definition.against)
        return Claim(definition, reason=f"no variant with {favoured} has a counterpart with {against}")
    names = dict.fromkeys(variant.name for pair in matches for variant in pair)
    samples = {name: sample for name in names if (sample := by_name[name].samples.get(definition.metric))}
    sign = 1 if definition.direction == "higher" else -1
    pairs = [
        Pair(first.name, second.name, ((sign, samples[first.name]), (-sign, samples[second.name])))
        for first, second in matches
        if {first.name, second.name} <= samples.keys()
    ]
    with_enough_seeds = [pair for pair in pairs if pair.seeds >= MIN_SEEDS]
    cannot_test = any(sample.freedom < 1 for sample in samples.values())
    reason = untested(definition.metric, f"fewer than {MIN_TEXTS} texts") if cannot_test else ""
    return Claim(definition, tuple(with_enough_seeds or pairs), reason if pairs else _missing(definition.metric))


def _missing(metric: str) -> str:
    """Return the reason why no variant has a score or statistic."""
    if metric in STATISTICS:
        return f"too few runs have enough data in {STATISTICS[metric].file}"
    return f"{metric} is not defined on these test texts"


def claims_section(claims: Sequence[Claim]) -> Section:
    """Return the table of the claims, and the differences behind each verdict."""
    if not claims:
        return Section("Claims", [])
    rows = [[c.definition.claim, c.verdict, claim_lines(c)[0], c.definition.source] for c in claims]
    evidence = [Lines([f"{c.definition.claim}:", *claim_lines(c)]) for c in claims]
    table = Table(["claim", "verdict", "numbers", "source"], rows)
    return Section("Claims", [table, Group("Evidence", evidence, is_open=False)], RULES)


def claim_lines(claim: Claim, percent: bool = False) -> list[str]:
    """Return all that is known about a claim, one line each; the first line is the most important.

    Args:
        percent: whether differences of accuracies are in percentage points.
    """
    lines = []
    if claim.difference is not None:
        p_value = claim.difference.p_value
        adjusted = "" if p_value is None else f"; p {format_p_value(p_value)} after Holm"
        lines.append(_in_metric(claim, claim.difference, percent) + adjusted)
    pairs = [f"{pair}: {_in_metric(claim, pair.difference, percent)}" for pair in claim.pairs]
    return [line for line in (*lines, claim.reason, *pairs) if line]


def _in_metric(claim: Claim, difference: Interval, percent: bool) -> str:
    """Format a difference; it is negative if the claim is true and says that the metric is lower."""
    value, low, high, _ = difference
    metric = claim.definition.metric
    name = STATISTICS[metric].label if metric in STATISTICS else label_of_score(metric)
    if claim.definition.direction == "lower":
        value, low, high = 0 - value, high and 0 - high, low and 0 - low
    if percent and metric == "acc":
        return f"{format_with_bounds((value, low, high), 2, 100)} points of accuracy"
    return f"{format_with_bounds((value, low, high))} in {name}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m studies.claims", description="Judge the claims of a study.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="a run, a sweep, or a folder with them")
    text = "file with claims, or the name of a file here, such as twenty_variants (default) or faithfulness"
    parser.add_argument("--study", default="twenty_variants", metavar="FILE", help=text)
    args = parser.parse_args(argv)
    with exit_with_message("standard output"):
        claims = judge_study(args.study, args.folders)
        OutputConsole().print(render_terminal([claims_section(claims)]))


if __name__ == "__main__":
    main()
