"""Agreement between seeds, from the records of `src.faithfulness`: `python -m studies.faithfulness.seeds <runs>`.

Wiegreffe and Pinter (2019) judge differences between attention weights by the differences between seeds. Predictions
and attention have different numbers of outcomes (classes and tokens), so they are compared by the agreement above
chance: 1 − distance / chance distance, the form of Krippendorff's (1980) α. The distance is the total variation
distance between two seeds; the chance distance is its mean after a random permutation of the texts, for predictions, or
of the tokens of each text, for attention. The agreement is 1 for equal seeds, and 0 for seeds that agree no more than
by chance.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import torch

from heedful.base.process import exit_with_message
from heedful.faithfulness.measurement import measurable_variants
from heedful.faithfulness.summary import VariantSummary, estimate_rankings
from heedful.faithfulness.verdict import trained_attention
from heedful.report.terminal import OutputConsole, render_terminal
from heedful.runs.faithfulness_record import ATTENTION as OF_ATTENTION
from heedful.runs.faithfulness_record import FaithfulnessRecord
from heedful.terms.intervals import Sample
from studies.claims import Claim, claims_section, judge
from studies.faithfulness.ranking_claims import find_claims
from studies.faithfulness.script import Estimates, section, summarize_records
from studies.faithfulness.weights import jensen_shannon

TOP_SHARE = 0.1  # share of the tokens that are compared: those with the highest weights
MIN_CHANCE = 1e-6  # smallest chance distance for which an agreement above chance is defined

PREDICTIONS, ATTENTION = "seeds_predictions_above_chance", "seeds_attention_above_chance"
HEADINGS = {
    "seeds_classes": "classes: equal",
    "seeds_predictions": "classes: 1 − TVD",
    PREDICTIONS: "classes: above chance",
    "seeds_attention": "weights: 1 − TVD",
    ATTENTION: "weights: above chance",
    "seeds_attention_top": "weights: common top 10 %",
    "seeds_attention_divergence": "weights: JSD",
}
CLAIM = "Seeds agree more on predictions than on attention"


def agreement_between_seeds(records: Sequence[FaithfulnessRecord]) -> dict[str, np.ndarray]:
    """Return values S×n for each measure; the mean of the values is the mean agreement over pairs of seeds and texts.

    A mean over pairs of seeds is a U-statistic. The value of a seed is the jackknife's pseudo-value (Arvesen 1969), so
    that `heedful.terms.intervals` applies to the values. For two seeds, the values are 1×n. The result is
    empty for one seed, or if the models of two seeds know different numbers of tokens of a text. The agreement above
    chance is absent if the chance distance of a pair of seeds is almost 0.

    Args:
        records: records of the seeds of a variant, for the same n texts.
    """
    pairs = list(combinations(records, 2))
    if not pairs or any(not np.array_equal(a.arrays["lengths"], b.arrays["lengths"]) for a, b in pairs):
        return {}
    measures: dict[str, Callable[[FaithfulnessRecord, FaithfulnessRecord], np.ndarray | None]] = {
        "seeds_classes": _same_class,
        "seeds_predictions": lambda a, b: 1 - _distance(a.arrays["probabilities"], b.arrays["probabilities"]),
        PREDICTIONS: _predictions_above_chance,
        "seeds_attention": lambda a, b: 1 - _distance(a.arrays["weights"], b.arrays["weights"]),
        ATTENTION: _attention_above_chance,
        "seeds_attention_top": _same_top,
        "seeds_attention_divergence": _divergence,
    }
    values = {}
    for name, measure in measures.items():
        by_pair = [array for array in (measure(a, b) for a, b in pairs) if array is not None]
        if len(by_pair) == len(pairs):
            values[name] = pseudo_values(np.stack(by_pair), len(records))
    return values


def pseudo_values(by_pair: np.ndarray, seeds: int) -> np.ndarray:
    """Return the pseudo-values S·U − (S−1)·U₋ₛ of the mean U over pairs of S seeds: pairs×n → S×n.

    U₋ₛ is the mean over the pairs without seed s (Arvesen 1969). For S = 2, the result is U itself, 1×n. The
    pairs are in the order of `itertools.combinations`.
    """
    if seeds == 2:
        return by_pair
    total, of_seed = by_pair.sum(0), np.zeros((seeds, by_pair.shape[1]))
    for values, (first, second) in zip(by_pair, combinations(range(seeds), 2), strict=True):
        of_seed[first] += values
        of_seed[second] += values
    return 2 * total / (seeds - 1) - 2 * (total - of_seed) / (seeds - 2)


def above_chance(distances: np.ndarray, by_chance: np.ndarray) -> np.ndarray | None:
    """Return n values whose mean is 1 − mean distance / mean chance distance.

    The result is None if the mean chance distance is almost 0. Each value is 1 minus the sum of the ratio and its
    first-order term for the text (the infinitesimal jackknife, Efron 1982), so that the variance of the mean of the
    values estimates the variance of the ratio.
    """
    chance = by_chance.mean()
    if chance < MIN_CHANCE:
        return None
    return 1 - (distances - distances.mean() / chance * (by_chance - chance)) / chance


def mean_distances(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the mean over j of |values_i − others_j|, for each i: n, m → n."""
    return np.abs(values[:, None] - others).mean(1, dtype=np.float64)


def _distance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the total variation distance between corresponding rows, which are distributions: n×k → n."""
    return np.abs(first - second).sum(1, dtype=np.float64) / 2


def _same_class(first: FaithfulnessRecord, second: FaithfulnessRecord) -> np.ndarray:
    return (first.arrays["probabilities"].argmax(1) == second.arrays["probabilities"].argmax(1)).astype(np.float64)


def _predictions_above_chance(first: FaithfulnessRecord, second: FaithfulnessRecord) -> np.ndarray | None:
    p, q = first.arrays["probabilities"], second.arrays["probabilities"]
    # mean distance from each text of one seed to all texts of the other seed
    of_first = sum(mean_distances(a, b) for a, b in zip(p.T, q.T, strict=True)) / 2
    of_second = sum(mean_distances(b, a) for a, b in zip(p.T, q.T, strict=True)) / 2
    return above_chance(_distance(p, q), np.asarray(of_first + of_second - np.mean(of_first)))


def _attention_above_chance(first: FaithfulnessRecord, second: FaithfulnessRecord) -> np.ndarray | None:
    a, b = first.arrays["weights"].astype(np.float64), second.arrays["weights"].astype(np.float64)
    chance = [
        mean_distances(x[:length], y[:length]).sum() / 2
        for x, y, length in zip(a, b, first.arrays["lengths"], strict=True)
    ]
    return above_chance(_distance(a, b), np.array(chance))


def _same_top(first: FaithfulnessRecord, second: FaithfulnessRecord) -> np.ndarray:
    """Return the share of the top 10 % of tokens (at least one token) that two seeds have in common: n."""
    tops = np.maximum(1, np.rint(TOP_SHARE * first.arrays["lengths"]))
    selected = [
        np.argsort(np.argsort(-record.arrays["weights"], axis=1, kind="stable"), axis=1) < tops[:, None]
        for record in (first, second)
    ]
    return (selected[0] & selected[1]).sum(1) / tops


def _divergence(first: FaithfulnessRecord, second: FaithfulnessRecord) -> np.ndarray:
    weights = [torch.from_numpy(record.arrays["weights"])[:, None, None, :].double() for record in (first, second)]
    return jensen_shannon(*weights).numpy()


def judge_seeds(
    summaries: Sequence[VariantSummary], values: Mapping[str, Mapping[str, np.ndarray]]
) -> tuple[Claim, ...]:
    """Judge CLAIM on the variants with trained attention.

    Args:
        values: the result of `agreement_between_seeds` by name of the variant.
    """
    attentive, differences = trained_attention(summaries), {}
    for summary in attentive:
        measured = values[summary.variant.name]
        is_measured = PREDICTIONS in measured and ATTENTION in measured
        sample = None
        if is_measured:
            difference = measured[PREDICTIONS] - measured[ATTENTION]
            sample = Sample(difference, summary.variant.seeds, groups=summary.groups)
        differences[f"predictions of {summary.variant.name}"] = sample
    return judge(find_claims(CLAIM, "agreement above chance", differences, "attention"))


def estimate_seeds(summaries: Sequence[VariantSummary]) -> tuple[dict[str, Estimates], tuple[Claim, ...]]:
    """Return the estimates of each variant's agreement between seeds, and the judged claim."""
    values = {summary.variant.name: agreement_between_seeds(summary.records) for summary in summaries}
    groups = summaries[0].groups
    estimates: dict[str, Estimates] = {
        variant: {
            (OF_ATTENTION, name): estimate_rankings({OF_ATTENTION: array}, groups)[OF_ATTENTION]
            for name, array in of.items()
        }
        for variant, of in values.items()
    }
    return estimates, judge_seeds(summaries, values)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m studies.faithfulness.seeds", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    with exit_with_message("standard output"):
        summaries = summarize_records(measurable_variants(parser.parse_args(argv).folders)[0])
        estimates, claims = estimate_seeds(summaries)
        sections = [section("Agreement between seeds", estimates, HEADINGS), claims_section(claims)]
        OutputConsole(160).print(render_terminal(sections))


if __name__ == "__main__":
    main()
