"""IMDb from a folder, and without a network."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from src.data import hub
from src.data.sources.imdb import Imdb
from src.errors import UserError


def write(path: Path, labels: list[int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"text": [f"{path.stem} {i}" for i in range(len(labels))], "label": labels}), path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the layout of the hub, the training split in two files."""
    write(tmp_path / "imdb" / "plain_text" / "train-00000-of-00002.parquet", [0] * 5)
    write(tmp_path / "imdb" / "plain_text" / "train-00001-of-00002.parquet", [1] * 6)
    write(tmp_path / "imdb" / "plain_text" / "test-00000-of-00001.parquet", [0, 0, 1])
    write(tmp_path / "imdb" / "plain_text" / "unsupervised-00000-of-00001.parquet", [-1] * 3)
    return tmp_path / "imdb"


def test_a_folder_with_the_layout_of_the_hub_is_read(folder: Path, source_options: dict[str, Any]) -> None:
    corpus = Imdb(str(folder), **source_options).read()
    assert corpus.class_names == ("negative", "positive")
    assert corpus.train.labels.tolist() == [0] * 5 + [1] * 6
    assert corpus.train.texts[4:6] == ["train-00000-of-00002 4", "train-00001-of-00002 0"]
    assert corpus.val is None
    assert corpus.test is not None and corpus.test.labels.tolist() == [0, 0, 1]


def test_a_relative_path_starts_from_the_current_folder(
    folder: Path, source_options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    module = Imdb("imdb", **source_options)
    module.setup()
    assert module.sizes == {"train": 9, "val": 2, "test": 3}


def test_the_fingerprint_depends_on_the_files(folder: Path, source_options: dict[str, Any]) -> None:
    before = Imdb(str(folder), **source_options).fingerprint()
    assert Imdb(str(folder), **source_options).fingerprint() == before
    write(folder / "plain_text" / "test-00000-of-00001.parquet", [0, 1, 1])
    assert Imdb(str(folder), **source_options).fingerprint() != before


def test_texts_of_files_that_have_changed_are_not_read(folder: Path, source_options: dict[str, Any]) -> None:
    module = Imdb(str(folder), **source_options)
    module.setup()
    assert module.texts("test", [2]) == ["test-00000-of-00001 2"]
    module = Imdb(str(folder), **source_options)
    module.setup()
    write(folder / "plain_text" / "test-00000-of-00001.parquet", [0, 1])
    with pytest.raises(UserError, match="data: the source has changed since"):
        module.texts("test", [2])


def test_a_missing_folder_is_not_a_name_on_the_hub(
    folder: Path, source_options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    with pytest.raises(UserError, match=r"data\.path=imbd: .*did you mean 'imdb'"):
        Imdb("imbd", **source_options)


def test_a_folder_with_another_layout_is_reported(tmp_path: Path, source_options: dict[str, Any]) -> None:
    write(tmp_path / "train.parquet", [0, 1])
    with pytest.raises(UserError, match=r"no test\*\.parquet"):
        Imdb(str(tmp_path), **source_options)


def test_without_a_network_the_message_recommends_a_local_copy(
    source_options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_responds", lambda address: False)
    with pytest.raises(UserError, match=r"stanfordnlp/imdb.*data=imdb data\.path=<folder>"):
        Imdb(**source_options).setup()
