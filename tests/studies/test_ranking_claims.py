from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from heedful.faithfulness.summary import VariantSummary
from heedful.runs.faithfulness_record import FaithfulnessRecord, Options
from studies.claims import claim_lines
from studies.faithfulness.ranking_claims import judge_rankings
from studies.faithfulness.seeds import ATTENTION, PREDICTIONS, judge_seeds

RANKINGS = ["attention", "attention × gradient", "random", "uniform"]


def summary(name: str, means: list[float], attention: str = "bahdanau") -> VariantSummary:
    """A variant with records of 53 texts, whose limits are 0 and 1 and whose rankings have these means."""
    rng = np.random.default_rng(7)
    options = Options(checkpoint="", texts=53, seed=0, measures=["limits"], rankings=RANKINGS)
    records = []
    for _ in range(5):
        values = np.array(means) + 0.02 * rng.standard_normal(4) + 0.1 * rng.standard_normal((53, 4))  # n×R
        arrays = {"comprehensiveness_removal": np.repeat(values[:, :, None], 5, axis=2)}
        arrays |= {"comprehensiveness_low": np.zeros(53), "comprehensiveness_high": np.ones(53)}
        records.append(FaithfulnessRecord(options, arrays))
    known = {"choices": {"attention": attention}, "has_unused_network": False}
    variant: Any = SimpleNamespace(name=name, seeds=tuple(range(5)), **known)
    return VariantSummary(variant, tuple(records), tuple(RANKINGS), {})


def test_verdicts_on_rankings() -> None:
    claims = judge_rankings([summary("a", [0.6, 0.4, 0.2, 0.2]), summary("b", [0.5, 0.4, 0.2, 0.2])])
    assert [claim.verdict for claim in claims] == ["supported", "supported", "contradicted"]
    assert claim_lines(claims[0])[0].startswith("+0.3")
    assert claim_lines(claims[2])[1].startswith("attention × gradient of a against attention: -0.2")


def test_variants_without_attention_are_ignored() -> None:
    with_attention = [summary("a", [0.6, 0.7, 0.2, 0.2])]
    others = [summary("b", [0.1, 0.1, 0.9, 0.9], attention=name) for name in ("none", "uniform")]
    assert list(map(claim_lines, judge_rankings([*with_attention, *others]))) == list(
        map(claim_lines, judge_rankings(with_attention))
    )
    assert judge_rankings(others) == ()


@pytest.mark.parametrize(("attention_agreement", "verdict"), [(0.4, "supported"), (0.9, "contradicted")])
def test_agreement_between_seeds_has_a_verdict(attention_agreement: float, verdict: str) -> None:
    noise = np.random.default_rng(11).normal(0, 0.05, (5, 53))
    values = {PREDICTIONS: 0.7 + noise, ATTENTION: attention_agreement - noise}
    (claim,) = judge_seeds([summary("a", [0.2] * 4)], {"a": values})
    assert claim.verdict == verdict
    numbers = claim_lines(claim)[0]
    assert f"{0.7 - attention_agreement:+.1f}" in numbers and "agreement above chance" in numbers


def test_texts_of_a_group_count_once() -> None:
    """Each group has three texts with equal values, so that its texts tell no more than one of them."""
    records = [summary(name, [0.6, 0.4, 0.2, 0.2]) for name in ("one", "three")]
    repeated = []
    for record in records[1].records:
        arrays = {name: np.repeat(array, 3, axis=0) for name, array in record.arrays.items()}
        repeated.append(FaithfulnessRecord(record.options, arrays))
    grouped = replace(records[1], records=tuple(repeated), groups=np.repeat(np.arange(53), 3))
    (one, *_), (three, *_), (ignored, *_) = (
        judge_rankings([each]) for each in (records[0], grouped, replace(grouped, groups=None))
    )
    assert three.difference.value == pytest.approx(one.difference.value)
    # the 52 degrees of freedom of groups are taken into account, and those of texts are not
    assert three.difference.high == pytest.approx(one.difference.high, abs=2e-3)
    assert ignored.difference.high < three.difference.high - 0.001


def test_claims_without_values_are_omitted() -> None:
    assert judge_seeds([summary("a", [0.2] * 4)], {"a": {}}) == ()
