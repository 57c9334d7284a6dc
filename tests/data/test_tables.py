"""Tables are written in chunks of rows: no value is lost, and no incomplete file remains."""

import csv
import io
import json
import resource
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from src.data import tables
from src.data.readers import Rows
from src.data.tables import Schema, write_table
from src.errors import UserError
from src.files import csv_line

ENDINGS = ("csv", "jsonl", "parquet")


def write_chunks(path: Path, *chunks: dict[str, list[Any]]) -> None:
    schema = Schema(path)
    for columns in chunks:
        schema.add(columns)
    line = 2
    with write_table(path, schema) as write:
        for columns in chunks:
            size = max(map(len, columns.values()))
            write(Rows("in.csv", "line", range(line, line + size), columns))
            line += size


def test_values_of_several_types_are_written(tmp_path: Path) -> None:
    columns = {"odd": [1, "a", {"b": [2**70]}, float("nan"), "\ud800"]}
    for ending in ENDINGS:
        write_chunks(tmp_path / f"a.{ending}", columns)
    assert pq.read_table(tmp_path / "a.parquet")["odd"].to_pylist()[:2] == ["1", "a"]
    values = [json.loads(line)["odd"] for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert values == [1, "a", {"b": [2**70]}, None, "\ud800"]
    assert (tmp_path / "a.csv").read_text().splitlines()[1:3] == ["1", "a"]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param([1, 2], [0.5], [1.0, 2.0, 0.5], id="integers and floats"),
        pytest.param([1, 2], ["x"], ["1", "2", "x"], id="numbers and texts"),
        pytest.param([True], [3], ["true", "3"], id="booleans and integers"),
        pytest.param([None], ["x"], [None, "x"], id="null, then texts"),
        pytest.param([{"a": 1}], [{"b": 2}], [{"a": 1, "b": None}, {"a": None, "b": 2}], id="other keys"),
        pytest.param([{"a": 1}], [{"a": "x"}], ['{"a": 1}', '{"a": "x"}'], id="keys of several types"),
        pytest.param([[1]], [[], [0.5]], [[1.0], [], [0.5]], id="lists"),
        pytest.param([7], [2**70], ["7", str(2**70)], id="huge integers"),
    ],
)
def test_a_parquet_type_fits_all_chunks(tmp_path: Path, first: Any, second: Any, expected: Any) -> None:
    path = tmp_path / "a.parquet"
    write_chunks(path, {"value": first}, {"other": [0]}, {"value": second})
    values = pq.read_table(path)["value"].to_pylist()
    assert values == [*expected[: len(first)], None, *expected[len(first) :]]


def test_a_value_that_does_not_fit_the_type_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    message = r"in\.csv: lines 4 to 5: a value of the column 'value' does not fit its Parquet type double"
    with pytest.raises(UserError, match=message):
        write_chunks(path, {"value": [0.5, 1.5]}, {"value": [3, 2**60 + 1]})
    assert not list(tmp_path.iterdir())
    write_chunks(path.with_suffix(".csv"), {"value": [0.5]}, {"value": [2**60 + 1]})
    assert path.with_suffix(".csv").read_text() == f"value\n0.5\n{2**60 + 1}\n"


def test_the_types_of_a_parquet_file_are_preserved(tmp_path: Path) -> None:
    types = [pa.timestamp("ns"), pa.uint64(), pa.decimal128(9, 2), pa.dictionary(pa.int8(), pa.string()), pa.float32()]
    values = [[1, None], [2**63, 0], [Decimal("1.50"), None], ["a", "b"], [0.1, None]]
    columns = {str(kind): pa.array(cells, kind) for kind, cells in zip(types, values, strict=True)}
    write_chunks(tmp_path / "a.parquet", columns, {name: column[:1] for name, column in columns.items()})
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.schema.types == types
    assert table.slice(0, 2).to_pydict() == pa.table(columns).to_pydict()
    write_chunks(tmp_path / "a.csv", {"a": columns["uint64"]})
    assert (tmp_path / "a.csv").read_text() == f"a\n{2**63}\n0\n"


@pytest.mark.parametrize("text", ["a\rb", "a\r\nb", "a\nb", 'say "a"', "a,b", "", " a ", "ä;b\t"])
def test_any_text_is_read_back_from_csv(text: str) -> None:
    line = csv_line([text, None, 1.5])
    assert list(csv.reader(io.StringIO(line, newline=""))) == [[text, "", "1.5"]]
    assert list(csv.reader(io.StringIO(csv_line([text]), newline=""))) == [[text]]


def test_row_groups_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROW_GROUP", 8 * 5)
    write_chunks(tmp_path / "a.parquet", *({"value": [2 * i, 2 * i + 1]} for i in range(7)))
    with pq.ParquetFile(tmp_path / "a.parquet") as file:
        assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [6, 6, 2]
        assert file.read()["value"].to_pylist() == list(range(14))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_does_not_change_the_existing_file(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "ROW_GROUP", 1)
    path = tmp_path / f"a.{ending}"
    path.write_text("existing")
    chunk = {"text": [f"{i * 7919**5}" for i in range(1009)]}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10007, hard))
    try:
        with pytest.raises(OSError, match=path.name) as error:
            write_chunks(path, *[chunk] * 3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert error.value.filename == str(path)
    assert path.read_text() == "existing"
    assert list(tmp_path.iterdir()) == [path]
