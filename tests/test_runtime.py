"""The spelling of cells: one for every type and format."""

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from heedful.runtime import Fault, NumberForm, features, number_form, number_of, number_remedy, spell, spell_all


class Colour(Enum):
    RED = "red"
    ONE = 1


ZONE = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("cells", "spelling"),
    [
        ([True, np.True_, "True", " TRUE"], "true"),
        ([1, 1.0, "1", "1.0", " 1.00 ", np.int8(1), np.float32(1), Colour.ONE, torch.tensor(1), np.array(1)], "1"),
        ([0, -0.0, "-0.0", "-0"], "0"),
        ([0.1, np.float32(0.1), np.float16(0.1), "0.1", Decimal("0.1")], "0.1"),
        ([Decimal("1.50"), "1.50"], "1.50"),
        ([2**63 + 1, str(2**63 + 1)], str(2**63 + 1)),
        ([1e16, "1e+16"], "1e+16"),
        ([np.float32(1e10), 1e10], "10000000000"),
        ([Colour.RED, "red", b"red"], "red"),
        (["e\u0301"], "\u00e9"),
        ([date(2024, 1, 2), pd.Timestamp("2024-01-02"), np.datetime64("2024-01-02")], "2024-01-02"),
        (["2024-01-02", "2024-01-02 00:00:00", "2024-01-02T00:00:00.000"], "2024-01-02"),
        ([datetime(2024, 1, 2, 3, 4), "2024-01-02T03:04", "2024-01-02 03:04:00.000000"], "2024-01-02 03:04"),
        ([pd.Timestamp("2024-01-02 03:04:05.000000070")], "2024-01-02 03:04:05.00000007"),
        ([datetime(2024, 1, 2, 2, tzinfo=ZONE), "2024-01-02 02:00+02", "2024-01-02T00:00:00Z"], "2024-01-02 00:00Z"),
        ([time(12, 30), "12:30", "12:30:00"], "12:30"),
        ([time(12, 30, 5, 500_000), "12:30:05.500"], "12:30:05.5"),
        (["0001-01-01 00:00+05:00"], "0001-01-01 00:00+05:00"),
        ([np.datetime64("2024-03"), np.datetime64("2024-03-01T00")], "2024-03-01"),
        (["2024-02-30"], "2024-02-30"),
        ([None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("sNaN"), "", " "], None),
        (["NA", " NA "], "NA"),
        *(([text], text) for text in ("01", "v1.0", "a.0", "null", "None", "nan", "NO", "\ufb01n")),
    ],
)  # fmt: skip
def test_a_cell_has_one_spelling(cells: list[Any], spelling: str | None) -> None:
    assert [spell(cell) for cell in cells] == [spelling] * len(cells)
    assert spell(spelling) == spelling


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (["a"], r"a list: give one value; with task=multilabel, lists in all rows are labels"),
        (frozenset("a"), "a list: give one value"),
        ({"a": 1}, "a mapping: give one of its values"),
        (b"\xff", r"holds b'\\xff', which is not text in UTF-8: convert it to UTF-8"),
        ("a\ud83d", "which is not text in UTF-8: convert it to UTF-8"),
        (timedelta(1), "a time span: convert it to a number, such as of seconds"),
        (np.eye(2)[0], r"a ndarray of the shape \(2,\): give one value"),
        (torch.eye(2)[0], r"a Tensor of the shape \(2,\): give one value"),
        (object(), "a value of the type object: convert it to a text, a number, a truth value or a date"),
    ],
)
def test_other_values_are_refused(cell: Any, message: str) -> None:
    with pytest.raises(Fault, match=message) as fault:
        spell_all(["a", cell])
    assert fault.value.row == 1


def test_equal_cells_of_other_types_keep_their_spelling() -> None:
    assert spell_all([1, True, 1.0, Decimal("1.5"), Decimal("1.50")]) == ["1", "true", "1", "1.5", "1.50"]


def test_numbers() -> None:
    cells = ["NA", "n/a", "null", "nan", None, "18_25", "x", "1e101", "-2.5"]
    np.testing.assert_array_equal([number_of(cell) for cell in cells], [np.nan] * 5 + [np.inf] * 3 + [-2.5])


@pytest.mark.parametrize(
    ("form", "texts", "spellings"),
    [
        ((".",), [" 1.50", "1,5", "1.800"], ["1.50", "1,5", "1.800"]),
        ((",",), ["-3,50", "950", ",5", "1,5e-3", "1,200"], ["-3.50", "950", "0.5", "1.5e-3", "1.200"]),
        ((",", "."), ["1.800", "1.200.300,5", "1.80.0", "31.12.24"], ["1800", "1200300.5", "1.80.0", "31.12.24"]),
        ((".", ","), ["1,800", "1.5", "18,00"], ["1800", "1.5", "18,00"]),
        ((".", " "), ["1 800", "1\u202f800.0", "a b"], ["1800", "1800", "a b"]),
        ((",", "'"), ["1\u2019800,5", 1.5, True, None, Decimal("1.50")], ["1800.5", "1.5", "true", None, "1.50"]),
    ],
)
def test_numbers_in_texts_have_a_form(form: tuple[Any, ...], texts: list[Any], spellings: list[str | None]) -> None:
    assert spell_all(texts, NumberForm(*form).spell) == spellings


@pytest.mark.parametrize("thousands", [None, "."])
def test_points_among_decimal_commas_are_refused(thousands: Any) -> None:
    with pytest.raises(Fault, match=r"holds '1.5', but numbers have a comma before decimals \(data.decimal=comma\)"):
        NumberForm(",", thousands).spell("1.5")


@pytest.mark.parametrize(
    ("texts", "remedy"),
    [
        (["3,5", "2"], "set data.decimal=comma"),
        (["1,200", "950"], "set data.decimal=comma or data.thousands=comma"),
        (["1.200,5"], "set data.thousands=point"),
        (["1 200,5"], "set data.decimal=comma data.thousands=space"),
        (["12%", "7,5 %"], "set data.decimal=comma and leave out %"),
        (["3,5", "1,200.5"], "write a point before decimals, and no other characters"),
        (["1.5", "2"], None),
        (["3,5", "1,2,3"], None),
    ],
)
def test_remedies_name_options(texts: list[str], remedy: str | None) -> None:
    assert number_remedy(texts) == remedy


def test_points_between_thousands_imply_decimal_commas() -> None:
    assert number_form(None, "point") == number_form("comma", ".") == (",", ".")
    with pytest.raises(ValueError, match="thousands=',': also stands before decimals"):
        number_form("comma", "comma")


def test_features_of_requests() -> None:
    """Old columns have no kind; of two categories that are spelled alike today, the first has the cells."""
    columns = [
        {"name": "n", "mean": 1.0, "scale": 2.0},
        {"name": "c", "categories": ["1.0", "1", "2024-01-01 00:00:00"]},
    ]
    rows = [{"n": 5, "c": 1}, {"c": date(2024, 1, 1)}, {"n": None, "c": "x"}]
    assert features(columns, rows).tolist() == [[2, 0, 1, 0, 0, 0], [0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0]]
