"""The accuracy of each variant, and its difference from the accuracy with uniform attention.

The difference shows how much the accuracy depends on trained attention weights (Wiegreffe & Pinter 2019).
"""

from collections.abc import Sequence

from src.comparison.evidence import match_pairs
from src.comparison.measurements import measure, sample_scores
from src.comparison.study import Choices, Pairing
from src.comparison.two_level_bootstrap import Difference, estimate_difference
from src.comparison.variants import Variant
from src.faithfulness.names import WITHOUT_ATTENTION

TRAINED = Choices(names=WITHOUT_ATTENTION, is_negated=True)
PAIRING = Pairing.model_construct(variants={"attention": TRAINED}, against={"attention": Choices(names=("uniform",))})


def accuracies(variants: Sequence[Variant]) -> dict[str, dict[str, Difference]]:
    """Return `accuracy` on all test texts and `accuracy_difference` for each variant, by the variant's name.

    `accuracy_difference` is the accuracy of the variant minus the accuracy of the variant with uniform attention and
    the same other components and options. It is absent if there is no such variant, and for variants without trained
    attention.
    """
    samples = sample_scores(measure(variants, "acc"), "acc")
    results = {name: {"accuracy": estimate_difference([(1, sample)])} for name, sample in samples.items()}
    for variant, baseline in match_pairs(variants, PAIRING):
        terms = [(1, samples[variant.name]), (-1, samples[baseline.name])]
        results[variant.name].setdefault("accuracy_difference", estimate_difference(terms))
    return results
