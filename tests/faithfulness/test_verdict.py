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
    is_used: bool = True


def summarize(facts: Facts, name: str = "normalized_comprehensiveness") -> VariantSummary:
    means = {"attention": facts.attention, "leave-one-out": facts.leave_one_out, "random": facts.random}
    measures = {
        (ranking, name): Estimate(
            Interval(mean), 53, None if ranking == "random" else Interval(mean - facts.random, p_value=facts.p_value)
        )
        for ranking, mean in means.items()
    }
    choices = {"attention": facts.choice}
    variant: Any = SimpleNamespace(name="lstm", choices=choices, has_unused_network=not facts.is_used)
    return VariantSummary(variant, (None,) * facts.seeds, tuple(means), measures)  # type: ignore[arg-type]


HIGH, LOW, SAME = Facts(0.5, 0.9, 0.3, 0.01), Facts(0.2, 0.9, 0.31, 0.01), Facts(0.4, 0.37, 0.35, 0.3)
LEAVE_ONE_OUT, ATTENTION = "The most faithful ranking is leave-one-out.", "The most faithful ranking is attention."
LESS = "and significantly less faithful in 1"
VERDICTS = {  # the variants; of how many attention is more faithful than a random ranking, their values, and the best
    "more": ([HIGH], "1 of 1 variant", "0.500, against 0.300", LEAVE_ONE_OUT),
    "less": ([LOW], f"0 of 1 variant, {LESS}", "0.200, against 0.310", LEAVE_ONE_OUT),
    "not significant": ([SAME], "0 of 1 variant", "0.400, against 0.350", ATTENTION),
    "one seed": ([SAME._replace(seeds=1)], "1 of 1 variant", "0.400, against 0.350", ATTENTION),
    "several variants": (
        [HIGH, LOW, SAME],
        f"1 of 3 variants, {LESS}",
        "0.200 to 0.500, against 0.300 to 0.350",
        "The most faithful ranking in 2 of 3 variants is leave-one-out.",
    ),
    "all variants": ([HIGH, HIGH], "2 of 2 variants", "0.500, against 0.300", LEAVE_ONE_OUT),
    "none of several": ([SAME, SAME], "0 of 2 variants", "0.400, against 0.350", ATTENTION),
    "Holm's adjustment": (
        [HIGH._replace(p_value=0.03), SAME],
        "0 of 2 variants",
        "0.400 to 0.500, against 0.300 to 0.350",
        "The most faithful ranking in 1 of 2 variants is leave-one-out.",
    ),
}


@pytest.mark.parametrize(("facts", "count", "values", "best"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_of_a_measurement(facts: list[Facts], count: str, values: str, best: str) -> None:
    few = facts[0].seeds < 5
    assert faithfulness_verdict(list(map(summarize, facts))) == (
        f"{'Exploratory, with fewer than 5 seeds. ' * few}Attention is {'significantly ' * (not few)}more faithful "
        f"than a random ranking in {count}: normalized comprehensiveness {values}. {best}"
    )


def test_the_verdict_needs_a_main_measure_and_a_trained_attention() -> None:
    assert faithfulness_verdict([summarize(HIGH._replace(choice="uniform"))]) == ""
    assert faithfulness_verdict([summarize(HIGH, "comprehensiveness_removal")]).count("comprehensiveness") == 1
    assert faithfulness_verdict([summarize(HIGH, "flip")]) == ""
    unused = faithfulness_verdict([summarize(HIGH._replace(is_used=False))])
    assert unused.endswith("the linear branch has 100 % of the logits of lstm, where attention explains nothing.")
