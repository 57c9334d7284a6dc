"""Labels and classes."""

import shlex
from itertools import combinations

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from heedful.tasks.labels import canonical, describe_combinations, describe_look_alikes, parse_labels, sort_classes


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["pos", "neg"], ("neg", "pos")),
        (["10", "9", "-1"], ("-1", "9", "10")),
        (["1", "b"], ("1", "b")),
        (["2", "1", "01", "+1", "1.5"], ("+1", "01", "1", "1.5", "2")),
    ],
)
def test_classes_are_sorted(labels: list[str], names: tuple[str, ...]) -> None:
    assert sort_classes(labels) == names


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        *((labels, "must be two or more") for labels in (["one"], ["a", "b", "a"], [1, 1.0], {"0": "a", "1": "a"})),
        *((labels, "must be two or more") for labels in ([["a", "A"], ["b", "A"]], [["a", ["A"]], "b"])),
        *((labels, "put the name in quotes") for labels in ([False, "SE"], ["a", None, "b"], {True: "a", "no": "b"})),
    ],
)
def test_listed_classes_are_two_or_more_different_texts(labels: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_labels(labels)  # type: ignore[arg-type]


def test_listed_classes_have_the_form_of_labels_and_may_be_renamed() -> None:
    assert parse_labels(None) is None
    assert list(parse_labels([1.0, 0.5]) or {}) == ["1", "0.5"]
    assert list(parse_labels([True, False]) or {}) == ["true", "false"]
    assert canonical(" 1.0") == "1"  # as of all cells (tests/test_runtime.py)
    names = parse_labels({0: "bad", 1.0: "good", "neg": "bad"})
    assert names == {"0": "bad", "1": "good", "neg": "bad", "bad": "bad", "good": "good"}


@pytest.mark.parametrize(
    "labels",
    [
        ("Pos", "pos"),
        ("1", "01"),
        ("1e2", "100"),
        ("caf\u00e9", "cafe\u0301"),
        ("po\u200bs", "pos"),
        ("New  York", "New York"),
        ("\uff30os", "Pos"),
        ("STRASSE", "straße"),
    ],
)
def test_labels_that_look_alike_are_described(labels: tuple[str, str]) -> None:
    assert describe_look_alikes(dict.fromkeys(labels, 1)).count("(1 text)") == 2


@pytest.mark.parametrize(
    "labels", [("1", "-1"), ("1", "10"), ("1.10", "1.01"), ("e", "\u00e9"), ("a-b", "ab"), ("1", "one")]
)
def test_other_labels_are_different(labels: tuple[str, str]) -> None:
    assert describe_look_alikes(dict.fromkeys(labels, 1)) == ""


def test_look_alikes_are_named_with_their_counts() -> None:
    counts = {"neg": 7, "Pos": 1, "pos": 1300, "e\u0301": 2, "\u00e9": 3, "\ufeffneg": 5}
    names = (r"'pos' (1,300 texts) and 'Pos' (1 text)", r"'neg' (7 texts) and '\ufeffneg' (5 texts)")
    listed = "; ".join((*names, r"'\xe9' (3 texts) and 'e\u0301' (2 texts)"))
    assert describe_look_alikes(counts).startswith(f"Labels that look alike are different classes: {listed}. To merge ")
    many = {f"{letter}{end}": 1 for letter in "abcdefg" for end in ("x", "X")}
    assert "; 'eX' (1 text) and 'ex' (1 text); and 2 more. To merge" in describe_look_alikes(many)


def test_no_option_is_printed_that_would_replace_the_one_that_is_set() -> None:
    assert "set" not in describe_look_alikes({"Pos": 1, "pos": 2, "neg": 3}, are_set=True)
    assert "set" not in describe_look_alikes({"Pos": 1, "pos": 2})  # it would leave one class


def test_the_option_that_merges_look_alikes_can_be_typed() -> None:
    warning = describe_look_alikes(
        {"neg": 7, "Pos": 1, "pos": 13, "1.50": 2, "1.5": 5, "01": 1, "1": 3, "a \"b', c": 1}
    )
    (argument,) = shlex.split(warning.partition(" set ")[2])
    assert argument == 'data.labels=[["pos", "Pos"], "neg", ["1.5", "1.50"], ["1", "01"], "a \\"b\', c"]'
    (override,) = OverridesParser.create().parse_overrides([argument])
    merged = {"pos": "pos", "Pos": "pos", "neg": "neg", "1.5": "1.5", "1.50": "1.5", "1": "1", "01": "1"}
    assert parse_labels(override.value()) == merged | {"a \"b', c": "a \"b', c"}


PAIRS = list(combinations("abcd", 2))
TRIPLES = list(combinations("abcdef", 3))


@pytest.mark.parametrize(
    ("classes", "count"),
    [
        (["a", "b", "a|b"], 1),
        (["a", "b", "c", "a; b", "c;a"], 2),
        (["red", "white", "red, white"], 1),
        (["a|", "b|", "a|b|"], 1),
        (["0", "1", "2", "0,1,2"], 1),
        (["['a']", "['b']", "['a', 'b']"], 1),
        (['["a"]', '["b"]', '["a","b"]'], 1),
        (["|".join(pair) for pair in PAIRS], 6),  # the parts a and d have the same position everywhere
        ([", ".join(each) for each in TRIPLES] + ["x", "y", "z", "v", "w"], 20),
    ],
)
def test_classes_that_combine_others_are_reported(classes: list[str], count: int) -> None:
    warning = describe_combinations(classes)
    assert warning.startswith(f"{count} of {len(classes)} classes look like several labels of a text: ")
    assert "task=multilabel" in warning


@pytest.mark.parametrize(
    "classes",
    [
        ["R&D", "R", "D"],
        ["C++", "C", "C++/C"],
        ["sci.space", "sci.med", "rec.autos"],
        ["New York, NY", "Albany, NY", "Boston, MA"],
        ["Salem, OR", "Salem, MA", "Portland, OR", "Portland, ME"],
        ["1", "1,5", "2", "2,5", "5"],
        ["1,000", "10,000", "1"],
        ["home|other", "home|tools", "garden|other", "garden|tools"],  # a path, not a set
        ["a|a", "a", "|", "b"],
        ["a|b", "a|c", "b|c", "x", "y", "z"],  # not most classes, and no part is a class
    ],
)
def test_other_classes_with_separators_are_not_reported(classes: list[str]) -> None:
    assert describe_combinations(classes) == ""
