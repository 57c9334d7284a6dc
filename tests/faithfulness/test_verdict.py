"""The verdict of a measurement."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from heedful.faithfulness.summary import Estimate, VariantSummary
from heedful.faithfulness.verdict import faithfulness_verdict
from heedful.terms.intervals import Interval


class Facts(NamedTuple):
    """A variant's comprehensiveness of attention, of leave-one-out and of random, and p of the first difference."""

    attention: float
    leave_one_out: float
    random: float
    p_value: float
    seeds: int = 5
    choice: str = "bahdanau"


def summarize(facts: Facts, name: str = "normalized_comprehensiveness") -> VariantSummary:
    means = {"attention": facts.attention, "leave-one-out": facts.leave_one_out, "random": facts.random}
    measures = {
        (ranking, name): Estimate(
            Interval(mean), 53, None if ranking == "random" else Interval(mean - facts.random, p_value=facts.p_value)
        )
        for ranking, mean in means.items()
    }
    variant: Any = SimpleNamespace(name="lstm", choices={"attention": facts.choice})
    return VariantSummary(variant, (None,) * facts.seeds, tuple(means), measures)  # type: ignore[arg-type]


OF_ALL = "Attention is significantly more faithful than a random ranking in"
HIGH, LOW, SAME = Facts(0.5, 0.9, 0.3, 0.01), Facts(0.2, 0.9, 0.31, 0.01), Facts(0.4, 0.37, 0.35, 0.3)
BEST = "The most faithful ranking is leave-one-out."
VERDICTS: dict[str, tuple[list[Facts], str]] = {
    "more": (
        [HIGH],
        f"{OF_ALL} 1 of 1 variant: normalized comprehensiveness 0.500, against 0.300. {BEST}",
    ),
    "less": (
        [LOW],
        f"{OF_ALL} 0 of 1 variant, and significantly less faithful in 1: normalized comprehensiveness 0.200, against "
        f"0.310. {BEST}",
    ),
    "not significant": (
        [SAME],
        f"{OF_ALL} 0 of 1 variant: normalized comprehensiveness 0.400, against "
        "0.350. The most faithful ranking is attention.",
    ),
    "one seed": (
        [SAME._replace(seeds=1)],
        f"Exploratory, with fewer than 5 seeds. {OF_ALL.replace('significantly ', '')} 1 of 1 variant: "
        "normalized comprehensiveness 0.400, against 0.350. The most faithful ranking is attention.",
    ),
    "several variants": (
        [HIGH, LOW, SAME],
        f"{OF_ALL} 1 of 3 variants, and significantly less faithful in 1: normalized comprehensiveness 0.200 to 0.500, "
        "against 0.300 to 0.350. The most faithful ranking in 2 of 3 variants is leave-one-out.",
    ),
    "all variants": (
        [HIGH, HIGH],
        f"{OF_ALL} 2 of 2 variants: normalized comprehensiveness 0.500, against 0.300. {BEST}",
    ),
    "none of several": (
        [SAME, SAME],
        f"{OF_ALL} 0 of 2 variants: normalized comprehensiveness 0.400, against 0.350. "
        "The most faithful ranking is attention.",
    ),
    "Holm's adjustment": (
        [HIGH._replace(p_value=0.03), SAME],
        f"{OF_ALL} 0 of 2 variants: normalized comprehensiveness 0.400 to 0.500, against 0.300 to 0.350. "
        "The most faithful ranking in 1 of 2 variants is leave-one-out.",
    ),
    "without trained attention": ([HIGH._replace(choice="uniform")], ""),
}


@pytest.mark.parametrize(("facts", "verdict"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_of_a_measurement(facts: list[Facts], verdict: str) -> None:
    assert faithfulness_verdict(list(map(summarize, facts))) == verdict


def test_the_verdict_needs_a_main_measure() -> None:
    assert faithfulness_verdict([summarize(HIGH, "comprehensiveness_removal")]).count("comprehensiveness") == 1
    assert faithfulness_verdict([summarize(HIGH, "flip")]) == ""
