"""How often a claim is judged although nothing is there: `python -m benchmarks.claims_simulation`.

Simulated sweeps in which no attention differs from none on average, and one attention is another under a second name.
A false positive is a claim "attention beats no attention" whose mean differs from zero with p below 5 %, either way.
Each set-up is judged with twins merged and seeds drawn jointly, as src.compare does, and without both.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from src.comparison import statistics
from src.comparison.pairs import estimate_gain
from src.comparison.runs import FinishedRun
from src.comparison.statistics import LEVEL, draw_samples
from src.comparison.twins import find_twins
from src.comparison.variants import Variant

ENCODERS = ("lstm", "bilstm", "rnn", "birnn")
ATTENTIONS = ("bahdanau", "luong_concat", "luong_dot", "luong_general")
TWIN, FIRST = "luong_concat", "bahdanau"  # two names of one formula


class Setup(NamedTuple):
    """A sweep of size × size encoders and attentions, and of what its noise is; sizes in standard deviations."""

    name: str
    size: int
    text: float = 0.0  # a variant's own on a text, under every seed
    seed: float = 0.0  # a run's own on all texts
    shared: float = 0.0  # of a seed on all variants with attention, and another on all without
    answer: float = 0.0  # a run's own on a text
    hard: float = 1.0  # of a text for all variants
    later: int = 0  # seeds by which the variants with attention start later than those without


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
    """False positives without merging and joint seeds, and with them, on the same sweeps."""
    wrong = np.array([_judged(*sweep) for sweep in simulate(setup, sweeps, n, seeds, rng)])
    before, after = (Rate(share, float(np.sqrt(share * (1 - share) / sweeps))) for share in wrong.mean(0).tolist())
    return before, after


def simulate(
    setup: Setup, sweeps: int, n: int, seeds: int, rng: np.random.Generator
) -> Iterator[tuple[list[Variant], list[np.ndarray]]]:
    """Variants, and which of n texts each of their runs gets right (S×n)."""
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


def _judged(variants: list[Variant], right: list[np.ndarray]) -> tuple[bool, bool]:
    """Whether the claim is shown or refuted: with every variant and run by itself, and as src.compare judges it."""
    names = [variant.name for variant in variants]
    numbers = [[run.seed for run in variant.runs] for variant in variants]
    answers = {
        name: {seed: row.tobytes() for seed, row in zip(seeds, rows, strict=True)}
        for name, seeds, rows in zip(names, numbers, right, strict=True)
    }
    ours = [name for name in ATTENTIONS if any(_attention(variant) == name for variant in variants)]
    drawn = draw_samples(right, numbers=numbers)
    apart = [sample._replace(numbers=None) for sample in drawn]
    p_values = []
    for scores, twins in ((apart, {}), (drawn, find_twins(answers))):
        evidence = estimate_gain(variants, dict(zip(names, scores, strict=True)), "attention", ours, "none", twins)
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
    parser.add_argument("--sweeps", type=int, default=2000, help="simulated for each set-up (2000)")
    parser.add_argument("--texts", type=int, default=211, help="of the test split (211)")
    parser.add_argument("--seeds", type=int, default=5, help="of each variant (5)")
    parser.add_argument("--resamples", type=int, default=500, help="of the bootstrap; src.compare takes 2000 (500)")
    parser.add_argument("--seed", type=int, default=0, help="of the simulation (0)")
    options = parser.parse_args()
    statistics.RESAMPLES = options.resamples
    print(f"False positives at a nominal 5 %, {options.sweeps:,} sweeps each ± standard error")
    print(f"{'set-up':<40}{'counted apart':>16}{'merged, seeds drawn jointly':>30}")
    for setup in SETUPS:
        rng = np.random.default_rng(options.seed)
        shares = rates(setup, options.sweeps, options.texts, options.seeds, rng)
        before, after = (f"{100 * share.value:.1f} ± {100 * share.error:.1f} %" for share in shares)
        print(f"{setup.name:<40}{before:>16}{after:>30}", flush=True)


if __name__ == "__main__":
    main()
