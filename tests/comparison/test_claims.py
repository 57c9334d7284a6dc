"""The documents' claims, judged on made-up runs that bear them out, do not, or cannot say."""

from pathlib import Path

import numpy as np
import pytest

from src.comparison.claims import Claim, judge
from src.comparison.runs import find
from src.comparison.statistics import samples
from src.comparison.variants import group
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
        variants, rng = group(find([self.folder]).runs), np.random.default_rng(2)
        hard = (rng.permutation(n) + 0.5) / n
        right = []
        for one in variants:
            level = self.level[one.choices["encoder"], one.choices["attention"]]
            levels = level + 0.001 * rng.normal(size=(len(one.runs), 1))
            right.append((hard if alike else rng.uniform(size=(len(one.runs), n))) < levels)
        drawn = samples([held.astype(np.float64) for held in right])
        claims = judge(variants, {one.name: sample for one, sample in zip(variants, drawn, strict=True)})
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
            write_spread(run, share + 0.01 * seed)
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
            write_norms(run, factor * (1 + 0.01 * seed))
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
