"""Verdicts on the claims of the twenty-model study: supported, refuted and inconclusive claims."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from src.comparison.claims import Claim, judge_claims
from src.comparison.comparison import compare
from src.comparison.page import render
from src.comparison.runs import find_runs
from src.comparison.study import DEFAULT_STUDY, load_study
from src.comparison.tables import render_markdown, render_terminal
from src.comparison.two_level_bootstrap import Sample, draw_samples
from src.comparison.variants import Variant, group_runs
from tests.comparison.runs import make_probabilities, write_run

LABELS = np.arange(101) % 2
ENCODERS = ("rnn", "lstm", "birnn", "bilstm")
NAMES = {
    "Attention beats no attention": "none",
    "Attention beats uniform attention": "uniform",
    "BiLSTM beats the others": "bilstm",
    "Luong dot is more uniform than Bahdanau": "luong",
    "LSTM's gradients are steadier than RNN's": "gradients",
}


def judge(variants: list[Variant], accuracy: dict[str, Sample]) -> dict[str, Claim]:
    """Return the claims of the study by short name, and claims about a single choice by their text."""
    claims = judge_claims(load_study(DEFAULT_STUDY, variants).claims, variants, {"acc": accuracy}, {})
    return {NAMES.get(claim.text, claim.text): claim for claim in claims}


class Sweep:
    """Simulated runs, one per seed, with specified accuracies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.accuracies: dict[tuple[str, str], float] = {}

    def add(self, encoder: str, attention: str, accuracy: float = 0.8, seeds: int = 5) -> list[Path]:
        self.accuracies[encoder, attention] = accuracy
        return [
            write_run(
                self.folder / f"{encoder}_{attention}_{seed}",
                make_probabilities(LABELS, LABELS > 0),
                LABELS,
                seed=seed,
                encoder=encoder,
                attention=attention,
            )
            for seed in range(seeds)
        ]

    def judge(self, n: int = 1009, same_texts: bool = True) -> dict[str, Claim]:
        """Judge runs of these accuracies; with `same_texts`, the same texts are difficult for all runs."""
        variants, rng = group_runs(find_runs([self.folder]).runs), np.random.default_rng(2)
        difficulty = (rng.permutation(n) + 0.5) / n
        correct = []
        for variant in variants:
            accuracy = self.accuracies[variant.choices["encoder"], variant.choices["attention"]]
            accuracies = accuracy + 0.001 * rng.normal(size=(len(variant.runs), 1))
            by_run = difficulty if same_texts else rng.uniform(size=(len(variant.runs), n))
            correct.append((by_run < accuracies).astype(np.float64))
        samples = draw_samples(correct, seeds=[[run.seed for run in variant.runs] for variant in variants])
        by_name = {variant.name: sample for variant, sample in zip(variants, samples, strict=True)}
        return judge(variants, by_name)


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    return Sweep(tmp_path)


def test_attention_better_than_none_but_not_than_uniform(sweep: Sweep) -> None:
    for attention, accuracy in (("none", 0.7), ("uniform", 0.8), ("bahdanau", 0.8), ("keras", 0.8)):
        sweep.add("lstm", attention, accuracy)
    claims = sweep.judge()
    assert claims["none"].verdict == "supported"
    assert float(claims["none"].numbers.split()[0]) == pytest.approx(10, abs=0.3)
    assert "p < 0.001" in claims["none"].numbers
    assert [line.split(":")[0] for line in claims["none"].evidence] == ["bahdanau against none", "keras against none"]
    assert claims["uniform"].verdict == "not supported"  # the interval ends below half a point
    assert "keras against uniform" in claims["uniform"].evidence[1]


def test_too_few_texts_are_inconclusive(sweep: Sweep) -> None:
    for attention in ("none", "bahdanau"):
        sweep.add("lstm", attention, 0.8)
    assert sweep.judge(n=101, same_texts=False)["none"].verdict == "inconclusive"


def test_an_attention_that_is_worse_than_none_is_not_supported(sweep: Sweep) -> None:
    sweep.add("lstm", "none", 0.8)
    sweep.add("lstm", "bahdanau", 0.7)
    assert sweep.judge()["none"].verdict == "not supported"


def test_a_contradicting_pair_is_inconclusive(sweep: Sweep) -> None:
    for attention, accuracy in (("none", 0.6), ("bahdanau", 0.9), ("keras", 0.5)):
        sweep.add("lstm", attention, accuracy)
    claim = sweep.judge()["none"]
    assert claim.verdict == "inconclusive"
    assert claim.evidence[0] == "true on average, but not for keras against none"


def test_only_variants_of_the_same_encoder_are_compared(sweep: Sweep) -> None:
    """An LSTM with attention is not compared with an RNN without attention."""
    sweep.add("rnn", "none", 0.5)
    sweep.add("lstm", "bahdanau", 0.9)
    claim = sweep.judge()["none"]
    assert (claim.verdict, claim.numbers) == ("inconclusive", "")
    assert "attention=none" in claim.evidence[0]


def test_few_seeds_are_inconclusive(sweep: Sweep) -> None:
    sweep.add("lstm", "none", 0.5)
    sweep.add("lstm", "bahdanau", 0.9, seeds=4)
    claim = sweep.judge()["none"]
    assert claim.verdict == "inconclusive"
    assert claim.numbers.startswith("+")
    assert claim.evidence[0] == "at least one variant has only 4 seeds: a verdict needs 5"


def test_pairs_of_few_seeds_are_excluded_if_others_have_enough(sweep: Sweep) -> None:
    for attention, seeds in (("none", 5), ("bahdanau", 5), ("keras", 2)):
        sweep.add("lstm", attention, 0.7 if attention == "none" else 0.8, seeds)
    claim = sweep.judge()["none"]
    assert claim.verdict == "supported"
    assert claim.evidence[1] == "keras against none: excluded because it has fewer than 5 seeds"


def test_identical_predictions_of_few_texts_are_inconclusive(sweep: Sweep) -> None:
    sweep.add("lstm", "none", 1.5)
    sweep.add("lstm", "bahdanau", 1.5)
    assert sweep.judge(n=8)["none"].verdict == "inconclusive"


@pytest.mark.parametrize(
    ("accuracies", "verdict"),
    [
        ((0.6, 0.7, 0.65, 0.8), "supported"),
        ((0.6, 0.8, 0.65, 0.8), "inconclusive"),
        ((0.6, 0.85, 0.65, 0.8), "not supported"),
    ],
    ids=["better than each rival", "equal to a rival", "worse than a rival"],
)
def test_bilstm_is_compared_with_its_strongest_rival(sweep: Sweep, accuracies: tuple[float, ...], verdict: str) -> None:
    for encoder, accuracy in zip(ENCODERS, accuracies, strict=True):
        sweep.add(encoder, "none", accuracy)
    claim = sweep.judge(same_texts=verdict != "inconclusive")["bilstm"]
    assert claim.verdict == verdict
    assert "against lstm, the strongest rival" in claim.numbers
    assert len(claim.evidence) == 3


def test_bilstm_without_a_rival_is_inconclusive(sweep: Sweep) -> None:
    for encoder in ("rnn", "bilstm"):
        sweep.add(encoder, "none")
    claim = sweep.judge()["bilstm"]
    assert claim.verdict == "inconclusive"
    assert "encoder=lstm or birnn" in claim.evidence[0]


def jitter(name: str, seed: int) -> int:
    """Variation between seeds, which an interval requires: 0 to 4, in an order that depends on the name."""
    return (len(name) + seed) % 5


def write_spread(run: Path, share: float) -> None:
    """Write statistics of a text of one word, and of texts whose effective words are this share of all words."""
    length = np.array([1, 7, 13, 101])
    effective = np.array([1, *(share * length[1:])])
    entropy = {"entropy": np.log(effective), "effective": effective, "length": length}
    np.savez(run / "attention_stats.npz", position_mean=np.full(50, 0.02), **entropy)


@pytest.mark.parametrize(("dot", "verdict"), [(0.7, "supported"), (0.2, "not supported")])
def test_luong_dot_against_bahdanau(sweep: Sweep, dot: float, verdict: str) -> None:
    for attention, share in (("luong_dot", dot), ("bahdanau", 0.4)):
        for seed, run in enumerate(sweep.add("lstm", attention)):
            write_spread(run, share + 0.01 * jitter(attention, seed))
    claim = sweep.judge()["luong"]
    assert claim.verdict == verdict
    assert claim.numbers.startswith("+30.0 (" if dot > 0.4 else "-20.0 (")


def test_missing_attention_statistics_are_reported(sweep: Sweep) -> None:
    for attention in ("luong_dot", "bahdanau"):
        sweep.add("lstm", attention)
    assert sweep.judge()["luong"].evidence == ("too few runs have enough data in attention_stats.npz",)


def write_norms(run: Path, factor: float, count: int = 31) -> None:
    """Write norms that alternately rise and fall by this factor."""
    rows = [f"{10 * index},encoder,{factor ** (index % 2):.6g}\n{10 * index},head,1" for index in range(count)]
    (run / "gradients.csv").write_text("step,part,norm\n" + "\n".join(rows) + "\n")


@pytest.mark.parametrize(("lstm", "verdict"), [(1.2, "supported"), (6.0, "not supported")])
def test_lstm_gradients_against_rnn_gradients(sweep: Sweep, lstm: float, verdict: str) -> None:
    for encoder, factor in (("rnn", 3.0), ("lstm", lstm), ("birnn", 3.0), ("bilstm", lstm)):
        for seed, run in enumerate(sweep.add(encoder, "none")):
            write_norms(run, factor * (1 + 0.01 * jitter(encoder, seed)))
    claim = sweep.judge()["gradients"]
    assert claim.verdict == verdict
    assert f"varies {3 / lstm:.2f} (" in claim.numbers
    assert [line.split(":")[0] for line in claim.evidence] == ["lstm against rnn", "bilstm against birnn"]


def test_too_few_gradients_are_inconclusive(sweep: Sweep) -> None:
    for encoder in ("rnn", "lstm"):
        for run in sweep.add(encoder, "none"):
            write_norms(run, 2.0, count=9)
    assert sweep.judge()["gradients"].evidence == ("too few runs have enough data in gradients.csv",)


def test_a_damaged_file_affects_only_its_claim(sweep: Sweep) -> None:
    for attention in ("luong_dot", "bahdanau", "none"):
        for run in sweep.add("lstm", attention):
            (run / "attention_stats.npz").write_bytes(b"PK")
    claims = sweep.judge()
    assert "attention_stats.npz" in claims["luong"].evidence[0]
    assert claims["none"].numbers


def test_each_claim_has_a_source(sweep: Sweep) -> None:
    sweep.add("lstm", "none")
    assert all(claim.source for claim in sweep.judge().values())


NOISE = np.sqrt(5) * np.array([-1.0, 1, -1, 1, 0])  # of five seeds: their mean has the standard error 1
T = 2.776  # Student's t of a 95 % interval with 4 degrees of freedom


def judge_scores(sweep: Sweep, scores: dict[tuple[str, str], np.ndarray | float]) -> dict[str, Claim]:
    """Judge the claims on accuracies of five seeds by (encoder, attention), without uncertainty from texts."""
    for encoder, attention in scores:
        sweep.add(encoder, attention)
    variants = group_runs(find_runs([sweep.folder]).runs)
    samples = {}
    for variant in variants:
        values = scores[variant.choices["encoder"], variant.choices["attention"]] + np.zeros(5)
        samples[variant.name] = Sample(values, seeds=tuple(range(5)))
    return judge(variants, samples)


@pytest.mark.parametrize(
    ("mean", "margin", "verdict"),
    [
        (0.2, 0.1, "real but negligible"),
        (0.2, 0.25, "not supported"),
        (0.45, 0.1, "supported"),
        (0.45, 0.5, "inconclusive"),
        (2.0, 0.1, "supported"),
        (-0.2, 0.1, "not supported"),
        (-0.2, 0.6, "not supported"),
        (-0.2, 0.9, "inconclusive"),
    ],
)
def test_a_gain_is_judged_by_its_interval(sweep: Sweep, mean: float, margin: float, verdict: str) -> None:
    """The interval, in points of accuracy, is compared with zero and with half a point."""
    scores = {("lstm", "none"): 0.8, ("lstm", "bahdanau"): 0.8 + (mean + margin / T * NOISE) / 100}
    claim = judge_scores(sweep, scores)["none"]
    assert claim.verdict == verdict
    assert claim.numbers.startswith(f"{mean:+.2f} (")


def test_a_negligible_gain_that_a_pair_contradicts_is_inconclusive(sweep: Sweep) -> None:
    """The gains are +0.5 and -0.2 points, +0.15 on average."""
    gains = {"bahdanau": 0.5, "keras": -0.2}
    scores = {("lstm", name): 0.8 + (value + 0.02 * NOISE) / 100 for name, value in gains.items()}
    claim = judge_scores(sweep, {("lstm", "none"): 0.8, **scores})["none"]
    assert (claim.verdict, claim.evidence[0]) == ("inconclusive", "true on average, but not for keras against none")


def bounds(claim: Claim) -> tuple[float, float]:
    low, high = claim.numbers.split("(")[1].split(")")[0].split(" to ")
    return float(low), float(high)


def test_intervals_are_simultaneous_and_agree_with_holms_test(sweep: Sweep) -> None:
    """Two claims: intervals of 97.5 %, except for a gain with p = 0.04 in Holm's second step, which ends at zero."""
    from scipy.stats import t

    gain, quantile = 2.0, t.ppf(0.9875, 4)
    error = gain / t.ppf(0.98, 4)
    claims = judge_scores(
        sweep,
        {
            ("lstm", "none"): 0.5 + 0.001 * NOISE,
            ("lstm", "uniform"): 0.8 - (gain + error * NOISE) / 100,
            ("lstm", "bahdanau"): 0.8,
        },
    )
    none, uniform = claims["none"], claims["uniform"]
    assert (none.verdict, uniform.verdict) == ("supported", "supported")
    assert "p 0.04" in uniform.numbers
    low, high = bounds(uniform)
    assert low == 0
    assert high == pytest.approx(gain + quantile * error, abs=0.1)


def test_intervals_of_one_claim_are_at_95_percent(sweep: Sweep) -> None:
    claim = judge_scores(sweep, {("lstm", "none"): 0.8, ("lstm", "keras"): 0.8 + (2 + 0.5 * NOISE) / 100})["none"]
    assert bounds(claim) == pytest.approx((2 - 0.5 * T, 2 + 0.5 * T), abs=0.06)


def test_the_p_value_against_the_strongest_rival_is_corrected_for_all_rivals(sweep: Sweep) -> None:
    """BiLSTM is worse than the strongest of three rivals: p is three times that of this single test."""
    from scipy.stats import t

    margin = 2.0 / t.isf(0.01, 4)  # two-sided p = 0.02
    scores = {("rnn", "none"): 0.7, ("birnn", "none"): 0.7, ("lstm", "none"): 0.82 + margin / 100 * NOISE}
    claim = judge_scores(sweep, {**scores, ("bilstm", "none"): 0.8})["bilstm"]
    assert float(claim.numbers.split("; p ")[1].split()[0]) == pytest.approx(0.06, abs=0.006)
    assert bounds(claim)[1] > 0  # 98.3 % for each of three rivals


def test_each_attention_has_a_verdict_besides_the_average(sweep: Sweep) -> None:
    """The average of +2 and -1 points hides the loss of an attention; claims about one attention form a family."""
    from scipy.stats import t

    gains = {"bahdanau": 2.0, "keras": -1.0}
    error = 2.0 / t.ppf(0.97, 4)  # two-sided p = 0.06
    scores = {("lstm", name): 0.8 + (gain + error * NOISE) / 100 for name, gain in gains.items()}
    claims = judge_scores(sweep, {("lstm", "none"): 0.8, **scores})
    assert claims["none"].numbers.startswith("+0.50 (")
    best, worst = (claims[f"Attention beats no attention: {name}"] for name in gains)
    assert (best.numbers[:7], worst.numbers[:7]) == ("+2.00 (", "-1.00 (")
    assert float(best.numbers.split("; p ")[1].split()[0]) == pytest.approx(0.12, abs=0.012)  # Holm, two claims
    assert bounds(best)[1] == pytest.approx(2 + t.ppf(0.9875, 4) * error, abs=0.1)
    assert best.source == worst.source == claims["none"].source


def test_claims_about_a_single_choice_do_not_change_other_claims(sweep: Sweep) -> None:
    scores = {("lstm", "none"): 0.8, ("lstm", "keras"): 0.8 + 0.5 * NOISE / 100, ("lstm", "bahdanau"): 0.8}
    judge_scores(sweep, scores)
    variants = group_runs(find_runs([sweep.folder]).runs)
    samples = {
        variant.name: Sample(scores["lstm", variant.choices["attention"]] + np.zeros(5), seeds=tuple(range(5)))
        for variant in variants
    }
    claim = load_study(DEFAULT_STUDY, variants).claims[0]
    average_only = claim.model_copy(update={"also_for_each": None})
    first, *others = judge_claims([claim], variants, {"acc": samples}, {})
    assert len(others) == 2
    assert judge_claims([average_only], variants, {"acc": samples}, {}) == (first,)


def test_a_single_attention_has_one_verdict(sweep: Sweep) -> None:
    claims = judge_scores(sweep, {("lstm", "none"): 0.8, ("lstm", "keras"): 0.8 + 0.5 * NOISE / 100})
    assert claims.keys() == set(NAMES.values())


@pytest.fixture
def twins(tmp_path: Path) -> Path:
    """Sweeps of two encoders; luong_concat has the same predictions as bahdanau, and luong_dot has others."""
    rng = np.random.default_rng(3)
    labels = np.arange(211) % 2
    for encoder in ("rnn", "lstm"):
        for seed in range(5):
            for names, level in ((["none"], 0.7), (["bahdanau", "luong_concat"], 0.8), (["luong_dot"], 0.72)):
                correct = rng.uniform(size=211) < level
                for name in names:
                    folder = tmp_path / ("twins" if name == "luong_concat" else "others") / f"{encoder}_{name}_{seed}"
                    write_run(
                        folder, make_probabilities(labels, correct), labels, seed=seed, encoder=encoder, attention=name
                    )
    return tmp_path


def test_variants_with_identical_predictions_count_once_and_are_listed(twins: Path) -> None:
    with_twins, without = compare([twins]), compare([twins / "others"])
    claims = with_twins.claims[0]
    assert [claim.text for claim in with_twins.claims[:3]] == [
        "Attention beats no attention",
        "Attention beats no attention: bahdanau, luong_concat",
        "Attention beats no attention: luong_dot",
    ]
    assert claims.numbers == without.claims[0].numbers
    assert claims.evidence == without.claims[0].evidence
    assert without.claims[0].merged == ()
    assert set(claims.merged) == {
        f"{encoder} · bahdanau and {encoder} · luong_concat have identical predictions under every seed: "
        "they count once"
        for encoder in ("rnn", "lstm")
    }
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(render_terminal(with_twins))
    outputs = [render(with_twins), render_markdown(with_twins), console.export_text()]
    assert all(line in output for line in claims.merged for output in outputs)
