"""Labels and classes."""

import pytest

from src.data.labels import canonical, parse_labels, sort_classes


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("1", "1"),
        ("1.0", "1"),
        ("1.00", "1"),
        ("-2.0", "-2"),
        ("0.5", "0.5"),
        ("1.10", "1.10"),
        ("01", "01"),
        (" pos ", "pos"),
    ]
    + [(text, "true") for text in ("true", "True", "TRUE")]
    + [(text, text) for text in ("NA", "null", "None", "nan", "NO", "v1.0", "a.0")],
)
def test_a_label_has_one_form_in_all_formats(written: str, label: str) -> None:
    assert canonical(written) == label


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


@pytest.mark.parametrize("labels", [["one"], ["a", "b", "a"], [1, 1.0], {"0": "a", "1": "a"}])
def test_listed_classes_are_two_or_more_and_different(labels: object) -> None:
    with pytest.raises(ValueError, match="labels="):
        parse_labels(labels)  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", [[False, "SE"], ["a", None, "b"], {True: "a", "no": "b"}])
def test_names_that_yaml_reads_as_booleans_or_null_are_reported(labels: object) -> None:
    with pytest.raises(ValueError, match="put the name in quotes"):
        parse_labels(labels)  # type: ignore[arg-type]


def test_listed_classes_have_the_form_of_labels() -> None:
    assert parse_labels(None) is None
    assert list(parse_labels([1.0, 0.5]) or {}) == ["1", "0.5"]
    assert list(parse_labels([True, False]) or {}) == ["true", "false"]


def test_labels_may_be_renamed() -> None:
    names = parse_labels({0: "bad", 1.0: "good", "neg": "bad"})
    assert names == {"0": "bad", "1": "good", "neg": "bad", "bad": "bad", "good": "good"}
