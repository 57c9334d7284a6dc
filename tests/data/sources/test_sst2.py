"""Sentences from three Parquet files."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from src.data.sources.sst2 import FILES, Sst2
from src.errors import UserError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the three files, of 13, 5 and 7 sentences."""
    for count, file in zip((13, 5, 7), FILES.values(), strict=True):
        labels = [("positive", "negative")[i % 2] for i in range(count)]
        pq.write_table(pa.table({"text": [f"{file} s{i} ." for i in range(count)], "label": labels}), tmp_path / file)
    return tmp_path


def test_splits_are_those_of_the_files(folder: Path, source_options: dict[str, Any]) -> None:
    module = Sst2(str(folder), **source_options)
    module.setup()
    assert module.sizes == {"train": 13, "val": 5, "test": 7}
    assert module.class_names == ("negative", "positive")
    assert module.tokenized("test").labels.tolist() == [1, 0, 1, 0, 1, 0, 1]
    assert module.texts("test", [2]) == ["test.parquet s2 ."]
    assert module.rationales("test", [2]) is None


def test_the_fingerprint_changes_with_the_files(folder: Path, source_options: dict[str, Any]) -> None:
    before = Sst2(str(folder), **source_options).fingerprint()
    assert Sst2(str(folder), **source_options).fingerprint() == before
    pq.write_table(pa.table({"text": ["x"], "label": ["positive"]}), folder / "test.parquet")
    assert Sst2(str(folder), **source_options).fingerprint() != before


def test_a_missing_file_is_named(folder: Path, source_options: dict[str, Any]) -> None:
    (folder / "validation.parquet").unlink()
    with pytest.raises(UserError, match=r"has no validation\.parquet"):
        Sst2(str(folder), **source_options)


def test_another_class_is_reported(folder: Path, source_options: dict[str, Any]) -> None:
    pq.write_table(pa.table({"text": ["x"], "label": ["neutral"]}), folder / "test.parquet")
    with pytest.raises(UserError, match="neutral"):
        Sst2(str(folder), **source_options).setup()


def test_without_a_path_the_data_come_from_the_hub(source_options: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="'SetFit/sst2' comes from the Hugging Face hub"):
        Sst2(**source_options).setup()
