"""The accuracy of each variant, and its difference from the accuracy with uniform attention.

The difference shows how much the accuracy depends on trained attention weights (Wiegreffe & Pinter 2019).
"""

from collections.abc import Sequence

from src.records.faithfulness_names import WITHOUT_ATTENTION
from src.records.variants import Variant
from src.terms.intervals import Difference, estimate
from src.terms.measurements import measure
from src.terms.study import Choices, match_pairs

TRAINED, UNIFORM = Choices(names=WITHOUT_ATTENTION, is_negated=True), Choices(names=("uniform",))


def accuracies(variants: Sequence[Variant]) -> dict[str, dict[str, Difference]]:
    """Return `accuracy` on all test texts and `accuracy_difference` for each variant, by the variant's name.

    `accuracy_difference` is the accuracy of the variant minus the accuracy of the variant with uniform attention and
    the same other components and options. It is absent if there is no such variant, and for variants without trained
    attention.
    """
    samples = {item.variant.name: item.samples["acc"] for item in measure(variants, "acc")}
    results = {name: {"accuracy": estimate([(1, sample)])} for name, sample in samples.items()}
    for variant, baseline in match_pairs(variants, {"attention": TRAINED}, {"attention": UNIFORM}):
        terms = [(1, samples[variant.name]), (-1, samples[baseline.name])]
        results[variant.name].setdefault("accuracy_difference", estimate(terms))
    return results
