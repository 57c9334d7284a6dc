"""Accuracy, and its difference from that with uniform attention: `python -m studies.faithfulness.accuracy <runs>`.

The difference shows how much the accuracy depends on trained attention weights (Wiegreffe & Pinter 2019).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from src.console import OutputConsole
from src.faithfulness.measurement import measurable_variants
from src.formatting import format_with_margin
from src.process import exit_with_message
from src.records.faithfulness import WITHOUT_ATTENTION
from src.records.variants import Variant
from src.report.section import Section, Table
from src.report.terminal import render_terminal
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


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m studies.faithfulness.accuracy", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    with exit_with_message("standard output"):
        results = accuracies(measurable_variants(parser.parse_args(argv).folders)[0])
        rows = []
        for name, by_name in results.items():
            difference = by_name.get("accuracy_difference")
            cells = (by_name["accuracy"].interval, None if difference is None else difference.interval)
            rows.append([name, *map(format_with_margin, cells)])
        table = Table(["variant", "accuracy", "minus uniform attention"], rows)
        OutputConsole().print(render_terminal([Section("Accuracy on all test texts", [table])]))


if __name__ == "__main__":
    main()
