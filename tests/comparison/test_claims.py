"""The documents' claims, judged on made-up runs that bear them out, do not, or cannot say."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from src.comparison.claims import Claim, judge_claims
from src.comparison.comparison import compare
from src.comparison.page import render
from src.comparison.runs import find_runs
from src.comparison.statistics import Sample, draw_samples
from src.comparison.tables import render_markdown, render_terminal
from src.comparison.variants import group_runs
from tests.comparison.runs import answers, write_run

LABELS = np.arange(101) % 2
ENCODERS = ("rnn", "lstm", "birnn", "bilstm")


class Sweep:
    """Made-up runs, one a seed, whose accuracies are given rather than read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.level: dict[tuple[str, str], float] = {}

    def add(self, encoder: str, attention: str, accuracy: float = 0.8, seeds: int = 5) -> list[Path]:
        self.level[encoder, attention] = accuracy
        return [
            write_run(
                self.folder / f"{encoder}_{attention}_{seed}",
                answers(LABELS, LABELS > 0),
                LABELS,
                seed=seed,
                encoder=encoder,
                attention=attention,
            )
            for seed in range(seeds)
        ]

    def judged(self, n: int = 1009, alike: bool = True) -> dict[str, Claim]:
        """Claims of runs that get texts right up to their accuracy; `alike`, the same texts are hard for all."""
        variants, rng = group_runs(find_runs([self.folder]).runs), np.random.default_rng(2)
        hard = (rng.permutation(n) + 0.5) / n
        right = []
        for one in variants:
            level = self.level[one.choices["encoder"], one.choices["attention"]]
            levels = level + 0.001 * rng.normal(size=(len(one.runs), 1))
            right.append((hard if alike else rng.uniform(size=(len(one.runs), n))) < levels)
        numbers = [[run.seed for run in one.runs] for one in variants]
        drawn = draw_samples([held.astype(np.float64) for held in right], numbers=numbers)
        claims = judge_claims(variants, {one.name: sample for one, sample in zip(variants, drawn, strict=True)})
        return dict(zip(("none", "uniform", "bilstm", "luong", "gradients"), claims, strict=True))


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    return Sweep(tmp_path)


def test_attention_that_beats_none_and_no_more_than_uniform(sweep: Sweep) -> None:
    for attention, accuracy in (("none", 0.7), ("uniform", 0.8), ("bahdanau", 0.8), ("keras", 0.8)):
        sweep.add("lstm", attention, accuracy)
    claims = sweep.judged()
    assert claims["none"].verdict == "supported"
    assert float(claims["none"].numbers.split()[0]) == pytest.approx(10, abs=0.3)
    assert "p < 0.001" in claims["none"].numbers
    assert [line.split(":")[0] for line in claims["none"].evidence] == ["bahdanau against none", "keras against none"]
    assert claims["uniform"].verdict == "not supported"  # surely below half a point
    assert "keras against uniform" in claims["uniform"].evidence[1]


def test_too_few_texts_to_tell(sweep: Sweep) -> None:
    for attention in ("none", "bahdanau"):
        sweep.add("lstm", attention, 0.8)
    assert sweep.judged(n=101, alike=False)["none"].verdict == "inconclusive"


def test_worse_than_none(sweep: Sweep) -> None:
    sweep.add("lstm", "none", 0.8)
    sweep.add("lstm", "bahdanau", 0.7)
    assert sweep.judged()["none"].verdict == "not supported"


def test_true_on_average_but_not_of_each(sweep: Sweep) -> None:
    for attention, accuracy in (("none", 0.6), ("bahdanau", 0.9), ("keras", 0.5)):
        sweep.add("lstm", attention, accuracy)
    claim = sweep.judged()["none"]
    assert claim.verdict == "inconclusive"
    assert claim.evidence[0] == "true on average, but not of keras against none"


def test_only_like_is_set_against_like(sweep: Sweep) -> None:
    """Attention on an LSTM is not compared with an RNN without it."""
    sweep.add("rnn", "none", 0.5)
    sweep.add("lstm", "bahdanau", 0.9)
    claim = sweep.judged()["none"]
    assert (claim.verdict, claim.numbers) == ("inconclusive", "")
    assert "attention=none" in claim.evidence[0]


def test_few_seeds_judge_nothing(sweep: Sweep) -> None:
    sweep.add("lstm", "none", 0.5)
    sweep.add("lstm", "bahdanau", 0.9, seeds=4)
    claim = sweep.judged()["none"]
    assert claim.verdict == "inconclusive"
    assert claim.numbers.startswith("+")
    assert claim.evidence[0] == "4 seeds each at the least: a judgement takes 5"


def test_pairs_of_few_seeds_are_left_out_where_others_have_enough(sweep: Sweep) -> None:
    for attention, seeds in (("none", 5), ("bahdanau", 5), ("keras", 2)):
        sweep.add("lstm", attention, 0.7 if attention == "none" else 0.8, seeds)
    claim = sweep.judged()["none"]
    assert claim.verdict == "supported"
    assert claim.evidence[1] == "keras against none: left out, fewer than 5 seeds"


def test_few_texts_all_answered_alike_settle_nothing(sweep: Sweep) -> None:
    sweep.add("lstm", "none", 1.5)
    sweep.add("lstm", "bahdanau", 1.5)
    assert sweep.judged(n=8)["none"].verdict == "inconclusive"


@pytest.mark.parametrize(
    ("accuracies", "verdict"),
    [
        ((0.6, 0.7, 0.65, 0.8), "supported"),
        ((0.6, 0.8, 0.65, 0.8), "inconclusive"),
        ((0.6, 0.85, 0.65, 0.8), "not supported"),
    ],
    ids=["beats each", "as good as one", "below one"],
)
def test_bilstm_is_measured_by_its_hardest_rival(sweep: Sweep, accuracies: tuple[float, ...], verdict: str) -> None:
    for encoder, accuracy in zip(ENCODERS, accuracies, strict=True):
        sweep.add(encoder, "none", accuracy)
    claim = sweep.judged(alike=verdict != "inconclusive")["bilstm"]
    assert claim.verdict == verdict
    assert "against lstm, the hardest of them" in claim.numbers
    assert len(claim.evidence) == 3


def test_bilstm_without_a_rival_is_not_judged(sweep: Sweep) -> None:
    for encoder in ("rnn", "bilstm"):
        sweep.add(encoder, "none")
    claim = sweep.judged()["bilstm"]
    assert claim.verdict == "inconclusive"
    assert "encoder=lstm or birnn" in claim.evidence[0]


def luck(name: str, seed: int) -> int:
    """0 to 4 over five seeds, in an order that differs between names: a difference that no seed moves has no margin."""
    return (len(name) + seed) % 5


def write_spread(run: Path, share: float) -> None:
    """Statistics of texts over whose words the weight spreads by this share; a text of one word says nothing."""
    length = np.array([1, 7, 13, 101])
    effective = np.array([1, *(share * length[1:])])
    entropy = {"entropy": np.log(effective), "effective": effective, "length": length}
    np.savez(run / "attention_stats.npz", position_mean=np.full(50, 0.02), **entropy)


@pytest.mark.parametrize(("dot", "verdict"), [(0.7, "supported"), (0.2, "not supported")])
def test_luong_dot_against_bahdanau(sweep: Sweep, dot: float, verdict: str) -> None:
    for attention, share in (("luong_dot", dot), ("bahdanau", 0.4)):
        for seed, run in enumerate(sweep.add("lstm", attention)):
            write_spread(run, share + 0.01 * luck(attention, seed))
    claim = sweep.judged()["luong"]
    assert claim.verdict == verdict
    assert claim.numbers.startswith("+30.0 (" if dot > 0.4 else "-20.0 (")


def test_spread_that_was_not_kept_is_said(sweep: Sweep) -> None:
    for attention in ("luong_dot", "bahdanau"):
        sweep.add("lstm", attention)
    assert sweep.judged()["luong"].evidence == ("the runs have no attention_stats.npz that tells",)


def write_norms(run: Path, factor: float, count: int = 31) -> None:
    """Norms that go up and down by a factor from one measurement to the next."""
    rows = [f"{10 * at},encoder,{factor ** (at % 2):.6g}\n{10 * at},head,1" for at in range(count)]
    (run / "gradients.csv").write_text("step,part,norm\n" + "\n".join(rows) + "\n")


@pytest.mark.parametrize(("lstm", "verdict"), [(1.2, "supported"), (6.0, "not supported")])
def test_lstm_gradients_against_rnns(sweep: Sweep, lstm: float, verdict: str) -> None:
    for encoder, factor in (("rnn", 3.0), ("lstm", lstm), ("birnn", 3.0), ("bilstm", lstm)):
        for seed, run in enumerate(sweep.add(encoder, "none")):
            write_norms(run, factor * (1 + 0.01 * luck(encoder, seed)))
    claim = sweep.judged()["gradients"]
    assert claim.verdict == verdict
    assert f"jumps {3 / lstm:.2f} (" in claim.numbers
    assert [line.split(":")[0] for line in claim.evidence] == ["lstm against rnn", "bilstm against birnn"]


def test_too_few_gradients_say_nothing(sweep: Sweep) -> None:
    for encoder in ("rnn", "lstm"):
        for run in sweep.add(encoder, "none"):
            write_norms(run, 2.0, count=9)
    assert sweep.judged()["gradients"].evidence == ("the runs have no gradients.csv that tells",)


def test_a_damaged_file_costs_its_claim_alone(sweep: Sweep) -> None:
    for attention in ("luong_dot", "bahdanau", "none"):
        for run in sweep.add("lstm", attention):
            (run / "attention_stats.npz").write_bytes(b"PK")
    claims = sweep.judged()
    assert "attention_stats.npz" in claims["luong"].evidence[0]
    assert claims["none"].numbers


def test_each_claim_names_its_document(sweep: Sweep) -> None:
    sweep.add("lstm", "none")
    assert all(claim.source for claim in sweep.judged().values())


LUCK = np.sqrt(5) * np.array([-1.0, 1, -1, 1, 0])  # of five seeds: their mean has the standard error 1
T = 2.776  # Student's t of a 95 % interval with 4 degrees of freedom


def judge_scores(sweep: Sweep, scores: dict[tuple[str, str], np.ndarray | float]) -> list[Claim]:
    """Claims of five seeds' accuracies by (encoder, attention), without any uncertainty of the texts."""
    for encoder, attention in scores:
        sweep.add(encoder, attention)
    variants = group_runs(find_runs([sweep.folder]).runs)
    samples = {}
    for variant in variants:
        values = scores[variant.choices["encoder"], variant.choices["attention"]] + np.zeros(5)
        samples[variant.name] = Sample(values, numbers=tuple(range(5)))
    return list(judge_claims(variants, samples))


@pytest.mark.parametrize(
    ("mean", "half", "verdict"),
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
def test_a_gain_is_judged_by_its_interval(sweep: Sweep, mean: float, half: float, verdict: str) -> None:
    """Points of accuracy: above zero or not, and surely below half a point or not."""
    scores = {("lstm", "none"): 0.8, ("lstm", "bahdanau"): 0.8 + (mean + half / T * LUCK) / 100}
    claim = judge_scores(sweep, scores)[0]
    assert claim.verdict == verdict
    assert claim.numbers.startswith(f"{mean:+.2f} (")


def test_a_negligible_gain_that_a_pair_contradicts_is_inconclusive(sweep: Sweep) -> None:
    """+0.5 and -0.2 points: +0.15 on average."""
    gains = {"bahdanau": 0.5, "keras": -0.2}
    scores = {("lstm", name): 0.8 + (value + 0.02 * LUCK) / 100 for name, value in gains.items()}
    claim = judge_scores(sweep, {("lstm", "none"): 0.8, **scores})[0]
    assert (claim.verdict, claim.evidence[0]) == ("inconclusive", "true on average, but not of keras against none")


def bounds(claim: Claim) -> tuple[float, float]:
    low, high = claim.numbers.split("(")[1].split(")")[0].split(" to ")
    return float(low), float(high)


def test_intervals_are_simultaneous_and_agree_with_holms_test(sweep: Sweep) -> None:
    """Two claims: 97.5 % each, and a gain of p = 0.04, which only Holm's second step shows, ends at zero."""
    from scipy.stats import t

    gain, wide = 2.0, t.ppf(0.9875, 4)
    error = gain / t.ppf(0.98, 4)
    none, uniform, _ = judge_scores(
        sweep,
        {
            ("lstm", "none"): 0.5 + 0.001 * LUCK,
            ("lstm", "uniform"): 0.8 - (gain + error * LUCK) / 100,
            ("lstm", "bahdanau"): 0.8,
        },
    )[:3]
    assert (none.verdict, uniform.verdict) == ("supported", "supported")
    assert "p 0.04" in uniform.numbers
    low, high = bounds(uniform)
    assert low == 0
    assert high == pytest.approx(gain + wide * error, abs=0.1)


def test_intervals_of_one_claim_are_at_95_percent(sweep: Sweep) -> None:
    claim = judge_scores(sweep, {("lstm", "none"): 0.8, ("lstm", "keras"): 0.8 + (2 + 0.5 * LUCK) / 100})[0]
    assert bounds(claim) == pytest.approx((2 - 0.5 * T, 2 + 0.5 * T), abs=0.06)


def test_failing_against_some_rival_allows_for_all_rivals(sweep: Sweep) -> None:
    """BiLSTM against the hardest of three: p is three times that of its own test where BiLSTM is behind."""
    from scipy.stats import t

    behind = 2.0 / t.isf(0.01, 4)  # two-sided p = 0.02
    scores = {("rnn", "none"): 0.7, ("birnn", "none"): 0.7, ("lstm", "none"): 0.82 + behind / 100 * LUCK}
    claim = judge_scores(sweep, {**scores, ("bilstm", "none"): 0.8})[2]
    assert float(claim.numbers.split("; p ")[1].split()[0]) == pytest.approx(0.06, abs=0.006)
    assert bounds(claim)[1] > 0  # 98.3 %: 95 % for each of the three at once


@pytest.fixture
def twins(tmp_path: Path) -> Path:
    """Sweeps of two encoders whose luong_concat answers as bahdanau does, and luong_dot otherwise."""
    rng = np.random.default_rng(3)
    labels = np.arange(211) % 2
    for encoder in ("rnn", "lstm"):
        for seed in range(5):
            for names, level in ((["none"], 0.7), (["bahdanau", "luong_concat"], 0.8), (["luong_dot"], 0.72)):
                right = rng.uniform(size=211) < level
                for name in names:
                    folder = tmp_path / ("twins" if name == "luong_concat" else "others") / f"{encoder}_{name}_{seed}"
                    write_run(folder, answers(labels, right), labels, seed=seed, encoder=encoder, attention=name)
    return tmp_path


def test_variants_with_identical_answers_count_once_and_are_named(twins: Path) -> None:
    with_twins, without = compare([twins]), compare([twins / "others"])
    claims = with_twins.claims[0]
    assert claims.numbers == without.claims[0].numbers
    assert claims.evidence == without.claims[0].evidence
    assert without.claims[0].merged == ()
    assert set(claims.merged) == {
        f"{encoder} · bahdanau and {encoder} · luong_concat give identical answers under every seed: they count once"
        for encoder in ("rnn", "lstm")
    }
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(render_terminal(with_twins))
    outputs = [render(with_twins), render_markdown(with_twins), console.export_text()]
    assert all(line in output for line in claims.merged for output in outputs)
