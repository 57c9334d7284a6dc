"""The verdict of a comparison, made from the differences of its variants."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pytest

from heedful.compare.verdict import advise, comparison_verdict
from heedful.records.cost import Cost
from heedful.records.runs import FinishedRun
from heedful.records.variants import Variant
from heedful.runs.result import RunResult
from heedful.terms.comparison import Comparison, Row, Verdict, compare
from heedful.terms.intervals import Interval
from tests.run_folders import write_run


class Facts(NamedTuple):
    """A variant's difference from the baseline and from the linear model; without the first, it is the baseline."""

    name: str
    difference: Interval | None = None
    verdict: Verdict = "baseline"
    gain: Interval | None = None
    gain_verdict: Verdict | None = None


def comparison(
    facts: Sequence[Facts],
    metric: str = "acc",
    lower: bool = False,
    seeds: int = 5,
    costs: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    early: Sequence[str] = (),
    outside: Mapping[str, bool] = MappingProxyType({}),
) -> Comparison:
    """Return a comparison; of `outside`, the models of other programs, it is known or not whether they are checked."""
    rows = []
    for name, difference, verdict, gain, gain_verdict in facts:
        runs = tuple(FinishedRun(Path(), RunResult(seed=seed), {}) for seed in range(2 if name in early else seeds))
        scores = {metric: Interval(0.829, 0.81, 0.85)}
        variant = Variant(name, {}, runs, "a.csv" if name in outside else "", outside.get(name, True))
        row = Row(variant, scores, None, difference, None, verdict, None, gain, None, gain_verdict)
        rows.append(replace(row, cost=Cost(*costs.get(name, ()))))
    baseline = next(row for row in rows if row.verdict == "baseline")
    return Comparison(tuple(rows), baseline, metric, lower, (), 444, "", ())


BASE = Facts("none")
UP, DOWN, UNCLEAR = (
    Interval(0.014, 0.006, 0.022, 0.01),
    Interval(-0.07, -0.1, -0.04, 0.01),
    Interval(0.004, -0.01, 0.018, 0.5),
)
FAR_DOWN, ZERO, UNTESTED = Interval(-0.09, -0.12, -0.06, 0.01), Interval(0.0, None, None, 1.0), Interval(0.02)
BETTER, WORSE = Facts("a", UP, "better"), Facts("c", DOWN, "worse")
SAME, UNSURE = Facts("b", UNCLEAR, "not significant"), Facts("a", UNTESTED, "not significant")
AHEAD = "a is significantly better than the baseline none by 1.4 points (0.6 to 2.2)"
EARLY = "Exploratory, with fewer than 5 seeds."
VERDICTS: dict[str, tuple[Comparison, str]] = {
    "better": (comparison([BETTER, BASE]), f"{AHEAD}."),
    "worse": (
        comparison([BASE, WORSE]),
        "c is significantly worse than the baseline none by 7.0 points (4.0 to 10.0).",
    ),
    "not significant": (
        comparison([SAME, BASE]),
        "b is not shown to differ from the baseline none (0.4 points; -1.0 to 1.8).",
    ),
    "equal": (comparison([BASE, Facts("b", ZERO, "not significant")]), "b is as good as the baseline none."),
    "one of several is better": (comparison([BETTER, BASE, WORSE]), f"{AHEAD}; the other is significantly worse."),
    "some are better": (
        comparison([BETTER, BETTER, SAME, BASE, WORSE, WORSE]),
        f"{AHEAD}; 1 of 4 others significantly better; 2 of 4 others significantly worse.",
    ),
    "all are better": (
        comparison([BETTER, BETTER, BETTER, BASE]),
        f"{AHEAD}; 2 of 2 others significantly better.",
    ),
    "some are worse": (
        comparison([BASE, SAME, WORSE]),
        "No other variant is significantly better than the baseline none; 1 of 2 significantly worse.",
    ),
    "all are worse": (
        comparison([BASE, WORSE, WORSE, Facts("d", FAR_DOWN, "worse")]),
        "No other variant is better than the baseline none; all 3 are significantly worse, by 7.0 to 9.0 points.",
    ),
    "none differs": (
        comparison([BASE, *[SAME] * 2]),
        "No other variant differs significantly from the baseline none.",
    ),
    "all are worse than the linear model": (
        comparison([Facts("a", UP, "better", DOWN, "worse"), BASE._replace(gain=FAR_DOWN, gain_verdict="worse")]),
        f"{AHEAD}. No variant is better than the linear model; both are significantly worse, by 7.0 to 9.0 points.",
    ),
    "exploratory": (
        comparison(
            [
                Facts("a", UP, "exploratory", DOWN, "exploratory"),
                BASE._replace(gain=FAR_DOWN, gain_verdict="exploratory"),
                Facts("c", DOWN, "exploratory", FAR_DOWN, "exploratory"),
            ],
            seeds=2,
        ),
        f"{EARLY} a is 1.4 points better than the baseline none on these texts "
        "(0.6 to 2.2); the other is on average worse. "
        "No variant is on average better than the linear model; all 3 are on average worse, by 7.0 to 9.0 points.",
    ),
    "exploratory beside a variant with enough seeds": (
        comparison([Facts("a", UP, "exploratory"), BASE, WORSE]),
        "No other variant is significantly better than the baseline none; 1 of 2 significantly worse.",
    ),
    "equal in another metric": (
        comparison([BASE, *[Facts("b", ZERO, "exploratory")] * 2], "f1_macro", seeds=2),
        f"{EARLY} No other variant differs on average in macro F1 from the baseline none.",
    ),
    "untested": (
        comparison([UNSURE, BASE]),
        "No difference is tested. 444 texts cannot tell a from the baseline none (2.0 points).",
    ),
    "several are untested": (
        comparison([BASE, *[UNSURE] * 2], "ece", lower=True),
        "No difference is tested. No other variant is on average better in calibration error than the baseline none; "
        "both are on average worse, by 0.020.",
    ),
    "lower is better": (
        comparison([Facts("c", DOWN, "better"), BASE], "nll", lower=True),
        "c is significantly better in negative log-likelihood than the baseline none by 0.070 (0.040 to 0.100).",
    ),
    "another metric": (
        comparison([BASE, *[WORSE] * 3], "f1_macro"),
        "No other variant is better in macro F1 than the baseline none; all 3 are significantly worse, by 0.070.",
    ),
    "a single variant": (
        comparison([Facts("a", None, "baseline", UP, "better")]),
        "82.9 % of 444 test texts are right (mean of 5 seeds); "
        "the mean is significantly better than the linear model by 1.4 points (0.6 to 2.2).",
    ),
    "a single run": (comparison([BASE], seeds=1), "82.9 % of 444 test texts are right."),
    "a single run beside the linear model": (
        comparison([Facts("a", None, "baseline", UP, "exploratory")], seeds=1),
        f"{EARLY} 82.9 % of 444 test texts are right; "
        "this model is 1.4 points better than the linear model on these texts (0.6 to 2.2).",
    ),
    "a metric of one's own": (comparison([BASE], "top3", seeds=1), "Top3 is 0.829 on 444 test texts."),
}


@pytest.mark.parametrize(("of", "verdict"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_of_a_comparison(of: Comparison, verdict: str) -> None:
    advice = advise(of).answer
    assert comparison_verdict(of) == verdict + (f" {advice}." if advice else "")


BETTER_THAN_BOTH, SAME_BUT_GOOD = (Facts(*facts, UP, "better") for facts in (BETTER[:3], SAME[:3]))
GOOD_BASE = Facts("none", gain=UP, gain_verdict="better")
FAR, NEAR = (Facts("llm", Interval(0.1, low, 0.2), "exploratory") for low in (0.015, 0.013))
ADVICE: dict[str, tuple[Comparison, str]] = {
    "better than both": (
        comparison([BETTER_THAN_BOTH, GOOD_BASE], costs={"a": (4.21, 0.3), "none": (2, 0.2)}),
        "Take a; it needs 0.3 ms a text and 4.21 s of training (none: 0.2 and 2)",
    ),
    "not better than a cheaper one that is": (
        comparison([SAME_BUT_GOOD, GOOD_BASE], costs={"b": (4, 0.3), "none": (2, 0.2)}),
        "Take none; it needs 0.2 ms a text and 2 s of training",
    ),
    "better than the linear model alone": (
        comparison([SAME_BUT_GOOD, Facts("none", gain=UNCLEAR, gain_verdict="not significant")]),
        "Take b",
    ),
    "no better than the linear model": (
        comparison([Facts("a", UP, "better", DOWN, "worse"), Facts("none", gain=DOWN, gain_verdict="worse")]),
        "Keep the linear model: no variant is shown to be better",
    ),
    "without a linear model": (comparison([BETTER, BASE]), "Take a"),
    "another program is better": (
        comparison([FAR, BETTER, BASE], outside={"llm": True}),
        "Take llm; it is not known what it costs",
    ),
    "another program may be better": (comparison([NEAR, BETTER, BASE], outside={"llm": True}), "Take a"),
    "another program may know the texts": (comparison([FAR, BETTER, BASE], outside={"llm": False}), "Take a"),
    "nothing is better": (comparison([BASE, WORSE]), "Keep none: no other variant is shown to be better"),
    "few seeds": (
        comparison([Facts("a", UP, "exploratory"), BASE], seeds=2),
        "Too early to choose: train 5 seeds of each variant",
    ),
    "no test": (comparison([UNSURE, BASE]), ""),
    "a single variant": (comparison([Facts("a", None, "baseline", UP, "better")]), ""),
}


@pytest.mark.parametrize(("of", "advice"), ADVICE.values(), ids=ADVICE)
def test_the_advice_needs_what_is_shown(of: Comparison, advice: str) -> None:
    assert "; ".join(part for part in advise(of)[:2] if part) == advice


def test_models_of_other_programs_are_judged_by_their_texts() -> None:
    verdict = comparison_verdict(comparison([FAR, BETTER, BASE], outside={"llm": True}))
    assert verdict.endswith("llm is 10.0 points better than the baseline none on these texts (1.5 to 20.0).")


def test_better_variants_with_too_few_seeds_are_named() -> None:
    facts = [Facts("f", UP, "exploratory"), BETTER, BASE, Facts("g", DOWN, "exploratory")]
    verdict = comparison_verdict(comparison(facts, early=["f", "g"]))
    assert verdict.endswith("Take a. Not judged, with fewer than 5 seeds: f, g; ahead on average: f.")


@pytest.mark.parametrize(("choices", "is_named"), [({}, True), ({"model": "linear"}, False)])
def test_a_variant_whose_network_is_not_used_is_named(choices: dict[str, str], is_named: bool) -> None:
    compared = comparison([BETTER, BASE])
    row, *others = compared.rows
    changes = {"branch_weight": 1.0, "choices": choices}
    runs = tuple(replace(run, result=replace(run.result, **changes)) for run in row.variant.runs)
    row = replace(row, variant=replace(row.variant, runs=runs))
    verdict = comparison_verdict(replace(compared, rows=(row, *others)))
    sentence = "The network is not used: the linear branch has 100 % of the logits of a."
    assert verdict.endswith(sentence) == is_named


def test_variants_that_predict_the_same_are_one(tmp_path: Path) -> None:
    for attention, first in (("none", 0.8), ("uniform", 0.8 + 1e-8), ("keras", 0.7)):
        write_run(tmp_path / attention, np.array([[first, 1 - first]] * 5), attention=attention)
    compared = compare([tmp_path])
    assert [set(names) for names in compared.equal] == [{"none", "uniform"}]
    assert "none and uniform are one model: their predictions are equal." in comparison_verdict(compared)
