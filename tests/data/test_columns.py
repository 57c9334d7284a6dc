"""Columns of numbers and categories: their features by hand, their kinds, and cells that do not suit."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from heedful.base.errors import UserError
from heedful.data.columns import Coverage, DateField, fit_column
from heedful.data.schema import Schema
from heedful.data.tables import Rows
from heedful.training import build
from tests.helpers import small_config

AGES = ["20", None, "30", " 40 ", "", "nan", "50"]


def where(rows):
    return f"rows {list(rows)}"


def fit(cells, name="age"):
    return fit_column(name, cells, where)


def test_number():
    """The mean of 20, 30, 40 and 50 is 35, and the standard deviation the root of 125."""
    column = fit(AGES)
    assert (column.mean, column.scale) == (35.0, pytest.approx(125**0.5))
    features, coverage = column.encode(["46.180339887", None, "35", "1e99"], where)
    np.testing.assert_allclose(features.toarray(), [[1, 0], [0, 1], [0, 0], [1e6, 0]], atol=1e-6)
    assert coverage == Coverage(missing=1, unseen=0)


def test_categories():
    """Missing cells have a place; all features of an unseen category are 0."""
    column = fit(["FR", "DE", None, "FR"], "country")
    assert column.features == ["country=DE", "country=FR", "country (missing)"]
    features, coverage = column.encode(["FR", "", " DE", "US", None], where)
    assert features.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert coverage == Coverage(missing=2, unseen=1)


def test_dates():
    """Days 1 and 3 after 1970 have the mean 2 and the standard deviation 1; a time of day is a part of a day."""
    column = fit(["1970-01-02", None, "1970-01-04T00:00:00.000"], "day")
    assert isinstance(column, DateField) and column.describe() == "date, mean 1970-01-03, standard deviation 1 days"
    cells = [pd.Timestamp("1970-01-05 12:00"), "1970-01-03 02:00:00+02:00", "", date(1970, 1, 2)]
    assert column.encode(cells, where)[0].toarray().tolist() == [[2.5, 0], [0, 0], [0, 1], [-1, 0]]
    with pytest.raises(UserError, match=r"rows \[0\]: column 'day' holds 'x', but its training cells are dates"):
        column.encode(["x"], where)


def test_booleans_of_pandas_and_of_json_are_the_same() -> None:
    column = fit(["True", "False", "TRUE"], "new")
    assert column.features == ["new=false", "new=true", "new (missing)"]
    assert column.encode(["true", "False"], where)[0].toarray().tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("cells", "warns"), [(["1.800", "950"], True), (["1.800", "2.5"], False), (["1.8", "9"], False)]
)
def test_points_between_thousands(cells, warns, caplog):
    fit(cells)
    message = "Column 'age' holds 1.800 beside 950: if the point separates thousands, set data.thousands=point"
    assert (message in caplog.text) == warns


BEYOND = ["9007199254740992", "9007199254740993"]  # equal as floats
OTHERS = [["18_25", "26_35", "36_45"], ["1", "2", "b", "c"], BEYOND, ["1,2,3", "1,5"], ["31.12.24", "7"]]


@pytest.mark.parametrize("cells", OTHERS)
def test_text_is_no_number(cells):
    assert fit(cells).categories == cells


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1", "x", "2", "inf"][:3], r"rows \[1\]: column 'age' holds 'x', but most of its cells are numbers: correct"),
        (["1.5", "2", "1,200"], r"rows \[2\]: .* most of its cells are numbers: set data.thousands=comma\. If"),
        (["7", "7.0", "7"], "all training texts have the same value in column 'age'"),
        (["a", " a"], "all training texts have the same value"),
        (["1", None, "3,5", "1,200.5"], r"rows \[2\]: .* holds '3,5', .*: write a point before decimals"),
        (["12%", "7 %"], r"rows \[0\]: column 'age' holds '12%', and all cells look like"),
        ([None, ""], "all training texts have the same value"),
        ([f"c{i}" for i in range(1001)], "column 'age' has 1,001 categories, such as 'c0', but may have at most 1,000"),
    ],
)
def test_wrong_training_cells(cells, message):
    with pytest.raises(UserError, match=message):
        fit(cells)


def test_wrong_cell_of_a_new_text():
    table = Rows("a.csv", "line", [2, 3], {"text": ["a", "b"], "age": ["30", "old"]}).table(["text"], ["age"])
    with pytest.raises(UserError, match=r"a\.csv: line 3: column 'age' holds 'old', but its training cells"):
        Schema.model_construct(columns=[fit(AGES)]).encode_columns(table.take([1]))


# From a file to batches

ROWS = pd.DataFrame({
    "text": [f"{word} film {i}" for i, word in enumerate(["good", "bad"] * 10)],
    "label": ["pos", "neg"] * 10,
    "age": [str(20 + i) for i in range(20)],
    "country": ["DE", "FR"] * 10,
})  # fmt: skip


def source(folder, rows=ROWS, *overrides):
    rows.to_csv(folder / "data.csv", index=False)
    options = ["data=csv", f"data.path={folder / 'data.csv'}", "data.progress=false", *overrides]
    return build.datamodule(small_config(folder, ["data.columns=[age,country]", *options]))


def test_batches_have_the_features_of_their_rows(tmp_path):
    """Scales and categories are those of the training texts alone."""
    data = source(tmp_path)
    batch = data.builder("train")(np.array([3, 0]))
    table = data.table("train", range(data.sizes["train"]))
    ages = np.array(table.cells["age"], dtype=float)
    expected = [[(ages[i] - ages.mean()) / ages.std(), 0, ages[i] % 2 == 0, ages[i] % 2, 0] for i in (3, 0)]
    np.testing.assert_allclose(batch.inputs.columns, expected, rtol=1e-5)
    assert [column.name for column in data.codec.columns] == ["age", "country"]
    again = data.codec.builder(table.take([3, 0]))(np.arange(2))
    np.testing.assert_array_equal(again.inputs.columns, batch.inputs.columns)


def test_columns_are_not_copied_into_predictions(tmp_path):
    data = source(tmp_path, ROWS, "data.keep_columns=[country]")
    assert list(data.origins("test", [0])) == ["file", "line", "country"]


@pytest.mark.parametrize("on_device", [True, False])
def test_on_device(tmp_path, on_device):
    builder = source(tmp_path, ROWS, f"data.on_device={on_device}").builder("val")
    assert builder(np.array([0])).inputs.columns.shape == (1, 5)


def test_places_in_the_file(tmp_path):
    with pytest.raises(UserError, match=r"data\.csv: line 9: column 'age' holds 'x'"):
        source(tmp_path, ROWS.assign(age=[*ROWS.age[:7], "x", *ROWS.age[8:]]))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("[aeg]", r"no column 'aeg' \(did you mean age\?\)"),
        ("[label]", "data: columns: 'label' is also data.label, which a model must not read twice: remove it"),
    ],
)
def test_wrong_names(tmp_path, names, message):
    with pytest.raises(UserError, match=message):
        source(tmp_path, ROWS, f"data.columns={names}")
