"""Rows with and without text and label."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from src.errors import UserError
from tests.data.data_files import read_examples, write


@pytest.mark.parametrize(("value", "label"), [(3, "3"), (2.0, "2"), (2.5, "2.5"), (True, "True"), (" pos ", "pos")])
def test_labels_of_every_kind_become_strings(tmp_path: Path, value: Any, label: str) -> None:
    path = write(tmp_path / "a.jsonl", json.dumps({"text": "good", "label": value}))
    assert read_examples(path).labels == [label]


GAPS = 'text,label\n"two\nlines",pos\n,neg\ngood,\nbad,neg\n"  ",pos\n'


def test_rows_without_text_or_label_are_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"lines 4, 5, 7 \(3 in all\).*data\.on_bad_rows=drop"):
        read_examples(write(tmp_path / "a.csv", GAPS))


def test_many_bad_rows_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "x", "label": 1}\n' + '{"text": null, "label": 1}\n' * 1234)
    with pytest.raises(UserError, match=r"lines 2, 3, 4, 5, 6, … \(1,234 in all\)"):
        read_examples(path)


def test_rows_without_text_or_label_are_dropped_on_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    examples = read_examples(write(tmp_path / "a.csv", GAPS), "drop")
    assert (examples.texts, examples.labels) == (["two\nlines", "bad"], ["pos", "neg"])
    assert "dropped lines 4, 5, 7 (3 in all)" in caplog.text


def test_a_file_of_bad_rows_only_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no row has both"):
        read_examples(write(tmp_path / "a.csv", "text,label\n,a\n"), "drop")


def test_missing_values_in_parquet_are_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["good", "bad", None], "label": [1.0, float("nan"), 0.0]}), path)
    with pytest.raises(UserError, match=r"rows 2, 3 \(2 in all\)"):
        read_examples(path)
