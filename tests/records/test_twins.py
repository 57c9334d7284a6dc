"""Detection of variants with identical predictions."""

from src.records.twins import find_twins


def test_variants_with_identical_predictions_under_every_seed_are_twins() -> None:
    digests = {"a": {1: "x", 2: "y"}, "b": {1: "x", 2: "y"}, "c": {1: "x", 2: "z"}, "d": {1: "x", 2: "y"}}
    assert find_twins(digests) == {"a": "a", "b": "a", "c": "c", "d": "a"}


def test_seeds_of_only_one_variant_are_ignored() -> None:
    assert find_twins({"a": {1: "x", 2: "y"}, "b": {2: "y", 3: "z"}}) == {"a": "a", "b": "a"}


def test_variants_without_a_common_seed_are_no_twins() -> None:
    assert find_twins({"a": {1: "x"}, "b": {2: "x"}}) == {"a": "a", "b": "b"}
