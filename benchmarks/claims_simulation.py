"""False positives among claims, in simulated sweeps: `python -m benchmarks.claims_simulation`.

In the simulated sweeps no attention differs from `none` on average, and two attentions are twins: one formula under two
names. A false positive is a claim "attention beats no attention" whose mean differs from zero with p below 5 %, in
either direction. Each set-up is judged with twins merged and seeds drawn jointly, as in src.compare, and without both.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from src.comparison import statistics
from src.comparison.pairs import gain
from src.comparison.runs import FinishedRun
from src.comparison.statistics import LEVEL, samples
from src.comparison.twins import find_twins
from src.comparison.variants import Variant

ENCODERS = ("lstm", "bilstm", "rnn", "birnn")
ATTENTIONS = ("bahdanau", "luong_concat", "luong_dot", "luong_general")
TWIN, FIRST = "luong_concat", "bahdanau"  # two names of one formula


class Setup(NamedTuple):
    """A sweep of size × size encoders and attentions, with the standard deviations of its noise."""

    name: str
    size: int
    text: float = 0.0  # noise of a variant on a text, the same for every seed
    seed: float = 0.0  # noise of a run, the same for all texts
    shared: float = 0.0  # noise of a seed, one value for the variants with attention and one for those without
    answer: float = 0.0  # noise of a run on a text
    hard: float = 1.0  # noise of a text, the same for all variants
    later: int = 0  # offset of the seeds of variants with attention


SETUPS = (
    Setup("2 × 2", 2, text=0.5, seed=0.3, answer=0.3),
    Setup("4 × 4 text noise", 4, text=0.7),
    Setup("4 × 4 seed noise", 4, seed=0.3, answer=0.1),
    Setup("2 × 2 seed noise", 2, seed=0.3, answer=0.1),
    Setup("4 × 4 seed noise, shared by variants", 4, seed=0.2, shared=0.2, answer=0.1),
    Setup("4 × 4 seed noise, 3 of 5 seeds shared", 4, seed=0.2, shared=0.2, answer=0.1, later=2),
)


class Rate(NamedTuple):
    """A share of the simulated sweeps."""

    value: float
    error: float  # its standard error


def rates(setup: Setup, sweeps: int, n: int, seeds: int, rng: np.random.Generator) -> tuple[Rate, Rate]:
    """Compute the false positives without merging and joint seeds, and with both, on the same sweeps."""
    wrong = np.array([_false_positives(*sweep) for sweep in simulate(setup, sweeps, n, seeds, rng)])
    before, after = (Rate(share, float(np.sqrt(share * (1 - share) / sweeps))) for share in wrong.mean(0).tolist())
    return before, after


def simulate(
    setup: Setup, sweeps: int, n: int, seeds: int, rng: np.random.Generator
) -> Iterator[tuple[list[Variant], list[np.ndarray]]]:
    """Yield variants, and whether each of their runs classifies each of n texts correctly (S×n)."""
    variants = [
        _variant(encoder, attention, range(late, late + seeds))
        for encoder in ENCODERS[: setup.size]
        for attention, late in (("none", 0), *((name, setup.later) for name in ATTENTIONS[: setup.size]))
    ]
    for _ in range(sweeps):
        hard = 1.0 + setup.hard * rng.normal(size=n)
        luck = setup.shared * rng.normal(size=(2, setup.later + seeds, 1))
        right: list[np.ndarray] = []
        for variant in variants:
            numbers = [run.seed for run in variant.runs]
            of_run = setup.seed * rng.normal(size=(seeds, 1)) + luck[int(_attention(variant) != "none"), numbers]
            of_text = hard + setup.text * rng.normal(size=n) + setup.answer * rng.normal(size=(seeds, n))
            right.append((of_text + of_run > 0).astype(np.float64))
        by_name = dict(zip([variant.name for variant in variants], right, strict=True))
        yield variants, [by_name[variant.name.replace(TWIN, FIRST)] for variant in variants]


def _false_positives(variants: list[Variant], right: list[np.ndarray]) -> tuple[bool, bool]:
    """Test whether the claim or its opposite is shown: with separate variants and seeds, and as src.compare does."""
    names = [variant.name for variant in variants]
    numbers = [[run.seed for run in variant.runs] for variant in variants]
    predictions = {
        name: {seed: row.tobytes() for seed, row in zip(seeds, rows, strict=True)}
        for name, seeds, rows in zip(names, numbers, right, strict=True)
    }
    attentions = [name for name in ATTENTIONS if any(_attention(variant) == name for variant in variants)]
    joint = samples(right, numbers=numbers)
    separate = [sample._replace(numbers=None) for sample in joint]
    p_values = []
    for scores, twins in ((separate, {}), (joint, find_twins(predictions))):
        evidence = gain(variants, dict(zip(names, scores, strict=True)), "attention", attentions, "none", twins)
        assert not isinstance(evidence, str), evidence
        p_values.append(evidence.interval(LEVEL).p_value)
    before, after = (p_value is not None and p_value < LEVEL for p_value in p_values)
    return before, after


def _variant(encoder: str, attention: str, seeds: range) -> Variant:
    choices = {"encoder": encoder, "attention": attention}
    runs = tuple(FinishedRun(Path(), {"seed": seed, "choices": choices}, {}) for seed in seeds)
    return Variant(f"{encoder} · {attention}", choices, runs)


def _attention(variant: Variant) -> str:
    return variant.choices["attention"]


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.claims_simulation", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sweeps", type=int, default=2000, help="number of simulated sweeps for each set-up (2000)")
    parser.add_argument("--texts", type=int, default=211, help="number of test texts (211)")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds of each variant (5)")
    parser.add_argument(
        "--resamples", type=int, default=500, help="number of bootstrap resamples (500; src.compare has 2000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulation (0)")
    options = parser.parse_args()
    statistics.RESAMPLES = options.resamples
    print(f"False positives at a nominal 5 %, {options.sweeps:,} sweeps each ± standard error")
    print(f"{'set-up':<40}{'separate':>16}{'merged, seeds drawn jointly':>30}")
    for setup in SETUPS:
        rng = np.random.default_rng(options.seed)
        shares = rates(setup, options.sweeps, options.texts, options.seeds, rng)
        before, after = (f"{100 * share.value:.1f} ± {100 * share.error:.1f} %" for share in shares)
        print(f"{setup.name:<40}{before:>16}{after:>30}", flush=True)


if __name__ == "__main__":
    main()
