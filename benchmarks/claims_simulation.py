"""Measure the false positives of claims on simulated sweeps: `python -m benchmarks.claims_simulation`.

In the simulated sweeps, models with and without attention have the same expected accuracy, and two attention mechanisms
are twins: the same model under two names. A sweep is a false positive if the mean difference of the claim "attention
beats no attention" deviates from zero with p below 0.05, in either direction. Each set-up is tested twice: with merged
twins and jointly drawn seeds, as in src.compare, and with neither.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from src.comparison import two_level_bootstrap
from src.comparison.evidence import Evidence, NoEvidence, gather_evidence, match_pairs_by_rival
from src.comparison.runs import FinishedRun
from src.comparison.statistics import LEVEL
from src.comparison.study import DEFAULT_STUDY, load_study
from src.comparison.twins import find_twins
from src.comparison.two_level_bootstrap import draw_samples
from src.comparison.variants import Variant
from src.run_result import RunResult

ENCODERS = ("lstm", "bilstm", "rnn", "birnn")
ATTENTIONS = ("bahdanau", "luong_concat", "luong_dot", "luong_general")
TWIN, ORIGINAL = "luong_concat", "bahdanau"  # two names of one formula


class Setup(NamedTuple):
    """A sweep of `size` encoders × `size` attention mechanisms, and the standard deviations of the noise sources."""

    name: str
    size: int
    text: float = 0.0  # noise of a variant on a text, the same under every seed
    seed: float = 0.0  # noise of a run, the same on all texts
    shared: float = 0.0  # noise of a seed: one value for all variants with attention, and another for all without
    residual: float = 0.0  # noise of a run on a text
    difficulty: float = 1.0  # difficulty of a text, the same for all variants
    seed_offset: int = 0  # first seed of the variants with attention minus that of the others


SETUPS = (
    Setup("2 × 2", 2, text=0.5, seed=0.3, residual=0.3),
    Setup("4 × 4 text noise", 4, text=0.7),
    Setup("4 × 4 seed noise", 4, seed=0.3, residual=0.1),
    Setup("2 × 2 seed noise", 2, seed=0.3, residual=0.1),
    Setup("4 × 4 seed noise, shared by variants", 4, seed=0.2, shared=0.2, residual=0.1),
    Setup("4 × 4 seed noise, 3 of 5 seeds shared", 4, seed=0.2, shared=0.2, residual=0.1, seed_offset=2),
)


class Rate(NamedTuple):
    """A rate over the simulated sweeps, in [0, 1]."""

    value: float
    error: float  # standard error of `value`


def rates(setup: Setup, sweeps: int, n: int, seeds: int, rng: np.random.Generator) -> tuple[Rate, Rate]:
    """Return two false-positive rates over the same sweeps: without merged twins and joint seeds, and with both."""
    false_positives = np.array([_is_significant(*sweep) for sweep in simulate(setup, sweeps, n, seeds, rng)])
    separate, joint = (
        Rate(rate, float(np.sqrt(rate * (1 - rate) / sweeps))) for rate in false_positives.mean(0).tolist()
    )
    return separate, joint


def simulate(
    setup: Setup, sweeps: int, n: int, seeds: int, rng: np.random.Generator
) -> Iterator[tuple[list[Variant], list[np.ndarray]]]:
    """Yield the variants of each sweep, and for each variant an S×n array: 1 if a run classifies a text correctly."""
    variants = [
        _variant(encoder, attention, range(offset, offset + seeds))
        for encoder in ENCODERS[: setup.size]
        for attention, offset in (("none", 0), *((name, setup.seed_offset) for name in ATTENTIONS[: setup.size]))
    ]
    for _ in range(sweeps):
        difficulty = 1.0 + setup.difficulty * rng.normal(size=n)
        seed_effects = setup.shared * rng.normal(size=(2, setup.seed_offset + seeds, 1))
        correct: list[np.ndarray] = []
        for variant in variants:
            run_seeds = [run.seed for run in variant.runs]
            shared = seed_effects[int(variant.choices["attention"] != "none"), run_seeds]
            of_run = setup.seed * rng.normal(size=(seeds, 1)) + shared
            of_text = difficulty + setup.text * rng.normal(size=n) + setup.residual * rng.normal(size=(seeds, n))
            correct.append((of_text + of_run > 0).astype(np.float64))
        by_name = dict(zip([variant.name for variant in variants], correct, strict=True))
        yield variants, [by_name[variant.name.replace(TWIN, ORIGINAL)] for variant in variants]


def _is_significant(variants: list[Variant], correct: list[np.ndarray]) -> tuple[bool, bool]:
    """Return for each of two tests whether the mean of the claim differs significantly from zero.

    The first test treats variants and runs as independent; the second is the test of src.compare.
    """
    names = [variant.name for variant in variants]
    seeds = [[run.seed for run in variant.runs] for variant in variants]
    digests = {
        name: {seed: row.tobytes() for seed, row in zip(run_seeds, rows, strict=True)}
        for name, run_seeds, rows in zip(names, seeds, correct, strict=True)
    }
    claim = load_study(DEFAULT_STUDY, variants).claims[0]
    pairs = match_pairs_by_rival(claim, variants)
    assert not isinstance(pairs, NoEvidence), pairs
    joint = draw_samples(correct, seeds=seeds)
    separate = [sample._replace(seeds=None) for sample in joint]
    p_values = []
    for scores, twins in ((separate, {}), (joint, find_twins(digests))):
        evidence = gather_evidence(claim, pairs, {"acc": dict(zip(names, scores, strict=True))}, twins)
        assert isinstance(evidence, Evidence), evidence
        p_values.append(evidence.difference(LEVEL).p_value)
    is_separate, is_joint = (p_value is not None and p_value < LEVEL for p_value in p_values)
    return is_separate, is_joint


def _variant(encoder: str, attention: str, seeds: range) -> Variant:
    choices = {"encoder": encoder, "attention": attention}
    runs = tuple(FinishedRun(Path(), RunResult(seed=seed, choices=choices), {}) for seed in seeds)
    return Variant(f"{encoder} · {attention}", choices, runs)


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.claims_simulation", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sweeps", type=int, default=2000, help="simulated sweeps per set-up (default 2000)")
    parser.add_argument("--texts", type=int, default=211, help="texts of the test split (default 211)")
    parser.add_argument("--seeds", type=int, default=5, help="seeds per variant (default 5)")
    parser.add_argument(
        "--resamples", type=int, default=500, help="resamples of the bootstrap (default 500; src.compare: 2000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulation (default 0)")
    options = parser.parse_args()
    two_level_bootstrap.RESAMPLES = options.resamples
    print(f"False positives at a nominal 5 %, {options.sweeps:,} sweeps each ± standard error")
    print(f"{'set-up':<40}{'separate':>16}{'twins merged, seeds joint':>30}")
    for setup in SETUPS:
        rng = np.random.default_rng(options.seed)
        measured = rates(setup, options.sweeps, options.texts, options.seeds, rng)
        separate, joint = (f"{100 * rate.value:.1f} ± {100 * rate.error:.1f} %" for rate in measured)
        print(f"{setup.name:<40}{separate:>16}{joint:>30}", flush=True)


if __name__ == "__main__":
    main()
