"""Valid and damaged Parquet files."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from src.errors import UserError
from tests.data.data_files import read_examples, read_rows, write_parquet


def test_texts_and_labels_are_read_from_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["good", "bad"], "label": [1, 0], "id": [7, 8]}), path)
    examples = read_examples(path)
    assert (examples.texts, examples.labels) == (["good", "bad"], ["1", "0"])


@pytest.mark.parametrize(
    ("label", "labels"),
    [
        (pa.array([b"pos", "größer".encode()]), ["pos", "größer"]),
        (pa.array(["pos", "neg"]).dictionary_encode(), ["pos", "neg"]),
        (pa.array(["pos", "neg"], pa.large_string()), ["pos", "neg"]),
        (pa.array([Decimal("1.00"), Decimal("2.50")]), ["1", "2.50"]),
        (pa.array([1.0, 2.5]), ["1", "2.5"]),
        (pa.array([True, False]), ["True", "False"]),
    ],
)
def test_parquet_columns_of_every_type_may_be_classes(tmp_path: Path, label: Any, labels: list[str]) -> None:
    examples = read_examples(write_parquet(tmp_path / "a.parquet", [b"good", "schön".encode()], label))
    assert (examples.texts, examples.labels) == (["good", "schön"], labels)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ([b"pos", b"\xff"], r"row 2: column 'label' holds bytes that are not UTF-8, b'\\xff'"),
        ([date(2024, 1, 2), None], "row 1: column 'label' holds a value of type date"),
        (
            pa.array([1, 2**62], pa.timestamp("us")),
            "column 'label': row 2: the value is damaged, or neither text nor a number",
        ),
        ([None, {"a": 1}], "row 2: column 'label' holds a value of type dict"),
        ([[1], [2]], "row 1: column 'label' holds a value of type list"),
    ],
)
def test_parquet_columns_without_classes_are_reported(tmp_path: Path, label: Any, message: str) -> None:
    with pytest.raises(UserError, match=rf"a\.parquet: {message}"):
        read_examples(write_parquet(tmp_path / "a.parquet", ["good", "bad"], label))


def test_parquet_columns_with_the_same_name_are_reported(tmp_path: Path) -> None:
    pq.write_table(pa.table([["a"], ["b"], [1]], names=["text", "text", "label"]), tmp_path / "a.parquet")
    with pytest.raises(UserError, match="2 columns are called 'text'"):
        read_examples(tmp_path / "a.parquet")


@pytest.mark.parametrize("checksum", [True, False])
def test_a_damaged_page_of_parquet_is_located(tmp_path: Path, checksum: bool) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"text": [f"text {i}" for i in range(2003)], "label": [i % 2 for i in range(2003)]})
    options = {"compression": "none" if checksum else "zstd", "write_page_checksum": checksum}
    pq.write_table(table, path, row_group_size=1009, use_dictionary=False, **options)
    content = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(1).column(0)
    page = column.data_page_offset + (column.total_compressed_size // 2 if checksum else 0)
    content[page : page + 7] = bytes(7)
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"a\.parquet: after row 1,0\d\d: .* is damaged"):
        read_examples(path)


def test_all_columns_are_read_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["good", "bad"], "id": [7, 8]}), path)
    assert read_rows(path, None).columns == {"text": ["good", "bad"], "id": [7, 8]}
