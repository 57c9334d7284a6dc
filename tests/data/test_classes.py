"""Names, order and numbers of classes."""

from pathlib import Path

import pytest

from src.data.classes import distinct_classes, encode_labels, parse_class_names
from src.errors import UserError
from tests.data.data_files import read_examples, write


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["pos", "neg", "pos"], ("neg", "pos")),
        (["10", "9", "-1"], ("-1", "9", "10")),
        (["1", "b"], ("1", "b")),
    ],
)
def test_classes_are_sorted(labels: list[str], names: tuple[str, ...]) -> None:
    assert distinct_classes(labels, "a.csv") == names


def test_a_single_class_is_reported() -> None:
    with pytest.raises(UserError, match=r"a\.csv: every row has the label 'pos'"):
        distinct_classes(["pos", "pos"], "a.csv")


def test_an_unknown_label_is_reported_with_its_line(tmp_path: Path) -> None:
    examples = read_examples(write(tmp_path / "a.csv", "text,label\na,pos\nb,postive\n"))
    message = r"line 3: label 'postive' is not among the classes neg, pos.*mean.*Correct the label, or list all classes"
    with pytest.raises(UserError, match=message):
        encode_labels(examples, ("neg", "pos"))


def test_labels_become_class_numbers(tmp_path: Path) -> None:
    examples = read_examples(write(tmp_path / "a.csv", "text,label\na,pos\nb,neg\n"))
    assert encode_labels(examples, ("neg", "pos")).tolist() == [1, 0]


@pytest.mark.parametrize("labels", [["one"], ["a", "b", "a"]])
def test_listed_classes_are_checked(labels: list[str]) -> None:
    with pytest.raises(ValueError, match="labels="):
        parse_class_names(labels)


def test_listed_classes_become_strings() -> None:
    assert parse_class_names([0, 1, True]) == ("0", "1", "True")
    assert parse_class_names(None) is None


def test_many_fractions_are_not_classes() -> None:
    with pytest.raises(UserError, match=r"20,003 different numbers, 0\.5, 1\.5, .* and 19,998 more\. Heed does not"):
        distinct_classes([str(i + 0.5) for i in range(20_003)], "a.csv")
    ratings = [str(i / 2) for i in range(11)]
    assert distinct_classes(ratings[::-1], "a.csv") == tuple(ratings)


def test_the_order_of_equal_numbers_is_fixed() -> None:
    assert distinct_classes(["2", "1", "01", "1", "+1"], "a.csv") == ("+1", "01", "1", "2")


def test_an_unknown_label_among_many_classes_gives_one_short_message(tmp_path: Path) -> None:
    examples = read_examples(write(tmp_path / "a.csv", "text,label\na,other\n"))
    with pytest.raises(UserError, match=r"label 'other' is not among the classes 0x.* and 4,998 more") as error:
        encode_labels(examples, [f"{i}{'x' * 1000}" for i in range(5003)])
    assert len(str(error.value)) < 600
