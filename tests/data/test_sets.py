"""Data that a program gives, in all their forms."""

from datetime import UTC, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from datasets import Dataset, DatasetDict
from scipy.sparse import csr_matrix

from heedful.base.errors import UserError
from heedful.data.sets import as_set, as_sets, label_names, split_names, usual_splits
from heedful.data.tables import arrow_rows
from heedful.runtime import NumberForm


class Label(Enum):
    A = "a"


TEXTS, LABELS = ["good", "bad", "so so"], ["pos", "neg", "neu"]
PAIRS = [("a dog", "it"), ("a cat", "she"), ("", "he")]
FRAME = pd.DataFrame({"text": TEXTS, "label": LABELS})


@pytest.mark.parametrize(
    "data",
    [
        FRAME,
        FRAME.astype({"text": "string", "label": "category"}),
        FRAME.set_index(pd.Index([7, 5, 3])),
        Dataset.from_pandas(FRAME),
        pa.table({"text": pa.array(TEXTS).cast(pa.string_view()), "label": pa.array(LABELS).dictionary_encode()}),
        (TEXTS, LABELS),
        [TEXTS, tuple(LABELS)],
        (FRAME.text, FRAME.label),
        (np.array(TEXTS), np.array(LABELS, dtype=object)),
        (FRAME[["text"]], FRAME.label),
        {"text": TEXTS, "label": FRAME.label},
        [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)],
        DatasetDict({"train": Dataset.from_pandas(FRAME)}),
        {"train": FRAME},
    ],
)
def test_every_form_of_data_gives_the_same_rows(data: Any) -> None:
    assert split_names(data) == ["train"]
    assert as_sets(data)["train"].to_dict() == {"text": TEXTS, "label": LABELS}


def test_texts_and_labels_get_the_names_of_the_columns() -> None:
    assert as_sets((TEXTS, LABELS), "review", "stars")["train"].column_names == ["review", "stars"]


@pytest.mark.parametrize("texts", [PAIRS, np.array(PAIRS), pd.DataFrame(PAIRS)])
def test_pairs_become_two_columns(texts: Any) -> None:
    columns = {"a": [first for first, _ in PAIRS], "b": [second for _, second in PAIRS], "label": LABELS}
    assert as_sets((texts, LABELS), ["a", "b"])["train"].to_dict() == columns


HAS = [[True, False], [False, False], [True, True]]
MATRICES = [np.array(HAS), csr_matrix(np.array(HAS, dtype=float)), torch.tensor(HAS).int(), pd.DataFrame(HAS)]


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_matrix_of_labels_becomes_columns(matrix: Any) -> None:
    names = label_names((TEXTS, matrix), "label", ["x", "y"])
    assert names == (["0", "1"] if hasattr(matrix, "columns") else ["x", "y"])
    found = as_sets((TEXTS, matrix), label=names)["train"].to_dict()
    assert [found[name] for name in names] == [[True, False, True], [False, False, True]]


@pytest.mark.parametrize("classes", [None, ["x"], ["x", "x"]])
def test_the_columns_of_a_matrix_need_names(classes: Any) -> None:
    with pytest.raises(UserError, match=r"a matrix of 2 columns without names: for several .* in data\.labels"):
        label_names((TEXTS, np.array(HAS)), "label", classes)


@pytest.mark.parametrize("labels", [LABELS, np.eye(3)])
def test_names_of_columns_need_a_matrix_of_as_many(labels: Any) -> None:
    assert label_names((TEXTS, labels), ["x", "y"], None) == ["x", "y"]
    with pytest.raises(UserError, match=r"data\.label names 2 columns, so the labels must be a matrix of as many"):
        as_sets((TEXTS, labels), label=["x", "y"])


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([np.float32(0.1), 2, None], [0.1, 2, None]),  # its digits
        (torch.tensor([3, 1, 2]), [3, 1, 2]),
        (torch.tensor([1.5, 2.0, 0.5], requires_grad=True), [1.5, 2.0, 0.5]),
    ],
)
def test_cells_keep_their_values(cells: Any, expected: list[Any]) -> None:
    assert as_set({"cell": cells})["cell"] == as_sets((TEXTS, cells))["train"]["label"] == expected


@pytest.mark.parametrize("first", [np.array(["a", "1"]), ["a", 1], (Label.A, 1.0), {"a", True}])
def test_lists_of_labels_may_be_arrays_and_have_several_types(first: Any) -> None:
    found = as_set({"label": [first, np.array([]), None, np.array(["a"])]}).to_dict()["label"]
    assert found in ([["a", "1"], [], None, ["a"]], [["true", "a"], [], None, ["a"]])


STAMP = pd.Timestamp("2024-01-02 03:04:05.123456789")


@pytest.mark.parametrize(
    ("cells", "spelling"),
    [
        (pd.Series([STAMP]), str(STAMP)),
        (pd.Series([STAMP]).dt.tz_localize("Europe/Berlin"), "2024-01-02 02:04:05.123456789Z"),
        (pa.array([STAMP], pa.timestamp("ns")), str(STAMP)),
        ([STAMP], str(STAMP)),
        (pa.array([5], pa.time64("ns")), "00:00:00.000000005"),
        ([time(12, 30, tzinfo=UTC)], "12:30:00+00:00"),
        (np.array(["2024-03"], dtype="datetime64[M]"), "2024-03-01"),
    ],
)
def test_times_are_not_cut(cells: Any, spelling: str) -> None:
    table = as_set({"time": cells}).with_format("arrow")[:]
    (rows,) = arrow_rows("data", [table], {"time": "time"}, table.schema)
    assert rows.spelled("time") == [spelling]


def test_splits_may_have_different_forms_and_usual_names() -> None:
    data = {"train": FRAME, "dev": (TEXTS, LABELS), "test": Dataset.from_pandas(FRAME)}
    assert {name: len(rows) for name, rows in as_sets(data).items()} == {"train": 3, "dev": 3, "test": 3}
    assert usual_splits(split_names(data)) == {"val_split": "dev", "test_split": "test"}
    assert usual_splits(["train"]) == {"val_split": None, "test_split": None}
    assert split_names({"training": FRAME, "held out": Dataset.from_pandas(FRAME)}) == ["training", "held out"]


def test_missing_values_stay_missing_and_mixed_cells_become_text() -> None:
    mixed = [1, "a", float("nan"), None, pd.NA]
    columns = {"mixed": mixed, "number": [1.5, np.nan, 2, 3, 5], "bool": np.array([True, False, True, True, False])}
    assert as_sets(pd.DataFrame(columns))["train"].to_dict() == {
        "mixed": ["1", "a", None, None, None],
        "number": [1.5, None, 2.0, 3.0, 5.0],
        "bool": [True, False, True, True, False],
    }


def test_typed_fractions_between_texts_have_no_points_between_thousands() -> None:
    table = as_set({"cell": [1.234, "1.234", Decimal("2.5"), "b", None, 7]}).with_format("arrow")[:]
    (rows,) = arrow_rows("data", [table], {"cell": "cell"}, table.schema)
    assert rows.spelled("cell", NumberForm(",", ".")) == ["1.234", "1234", "2.5", "b", None, "7"]
    assert rows.plain_texts("cell") == ["1.234", "1.234", "2.5", "b", None, "7"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, r"^data: is of type int, but expects a frame of pandas"),
        (["good", "bad"], r"^data: is of type list"),
        ((TEXTS, LABELS[:2]), r"^data: the columns have different lengths: \('text', 3\), \('label', 2\)"),
        ({"text": "good", "label": LABELS}, r"^data: the column 'text' is of type str"),
        ((PAIRS, LABELS), r"^data: text 1 has 2 parts, but data\.text has 1 name; for pairs of texts, write"),
        (
            Dataset.from_dict({"text": TEXTS, "label": LABELS}).with_transform(dict),
            r"^data: the data set has a transform, which is not applied",
        ),
        (([object()], LABELS[:1]), r"^data: row 1: the column 'text' holds <object .*>, a value of the type object"),
        ({"id": [None, UUID(int=1)]}, r"^data: row 2: the column 'id' holds UUID\(.*\), a value of the type UUID"),
        ({"label": [["a"], [["b"]]]}, r"^data: row 2: the column 'label' holds \['b'\], a list: give one value"),
        (FRAME.rename(columns={"label": "text"}), r"^data: two columns of the frame have the same name"),
    ],
)
def test_other_data_are_refused(data: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        as_sets(data)


def test_a_table_of_texts_and_further_columns_has_its_names() -> None:
    frame = pd.DataFrame({"age": [3, 5], "comment": ["a", "b"], "label": ["unused", "unused"]})
    rows = as_set((frame, ["x", "y"]), "comment", "label").to_list()
    assert rows == [{"age": 3, "comment": "a", "label": "x"}, {"age": 5, "comment": "b", "label": "y"}]
