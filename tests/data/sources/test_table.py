"""The user's own files as a data set."""

from pathlib import Path
from typing import Any

import pytest

from src.data.sources.table import Table
from src.errors import UserError


def write(path: Path, *rows: str) -> str:
    path.write_text("\n".join(["review,stars", *rows]) + "\n")
    return str(path)


def table(path: str, loading: dict[str, Any], **options: Any) -> Table:
    return Table(path, text="review", label="stars", **loading, **options)


def test_classes_are_those_of_the_file(tmp_path: Path, loading: dict[str, Any]) -> None:
    path = write(tmp_path / "a.csv", *(f"text {i},{stars}" for i, stars in enumerate([10, 2, 1] * 5)))
    corpus = table(path, loading).read()
    assert corpus.class_names == ("1", "2", "10")
    assert corpus.train.labels.tolist() == [2, 1, 0] * 5
    assert corpus.val is None and corpus.test is None


def test_listed_classes_fix_the_set_and_its_order(tmp_path: Path, loading: dict[str, Any]) -> None:
    path = write(tmp_path / "a.csv", "a,2", "b,1")
    corpus = table(path, loading, labels=[3, 2, 1]).read()
    assert corpus.class_names == ("3", "2", "1")
    assert corpus.train.labels.tolist() == [1, 2]
    with pytest.raises(UserError, match="line 2: label '2' is none of 1, 3"):
        table(path, loading, labels=[1, 3]).read()


def test_splits_may_be_files_of_their_own(tmp_path: Path, loading: dict[str, Any]) -> None:
    train = write(tmp_path / "train.csv", *["a,1", "b,2"] * 4)
    val = write(tmp_path / "val.csv", "c,2")
    test = write(tmp_path / "test.csv", "d,1", "e,1", "f,2")
    module = table(train, loading, val_path=val, test_path=test)
    module.setup()
    assert module.sizes == {"train": 8, "val": 1, "test": 3}
    assert module.texts("test", [2, 0]) == ["f", "d"]
    other = table(train, loading, val_path=test, test_path=val)
    assert other.fingerprint() != module.fingerprint()


def test_a_class_unknown_to_the_training_file_is_an_error(tmp_path: Path, loading: dict[str, Any]) -> None:
    train = write(tmp_path / "train.csv", "a,1", "b,2")
    test = write(tmp_path / "test.csv", "d,1", "e,7")
    with pytest.raises(UserError, match=r"test\.csv: line 3: label '7' is none of 1, 2"):
        table(train, loading, test_path=test).read()


@pytest.mark.parametrize("option", ["path", "val_path", "test_path"])
def test_a_missing_file_is_said_at_once(tmp_path: Path, loading: dict[str, Any], option: str) -> None:
    path = write(tmp_path / "reviews.csv", "a,1")
    files = {"path": path, option: str(tmp_path / "review.csv")}
    with pytest.raises(UserError, match=rf"data\.{option}=.*did you mean 'reviews\.csv'"):
        Table(**files, **loading)


def test_bad_rows_are_dropped_on_request(tmp_path: Path, loading: dict[str, Any]) -> None:
    path = write(tmp_path / "a.csv", "a,1", ",2", "b,2")
    assert table(path, loading, on_bad_rows="drop").read().train.texts == ["a", "b"]
    with pytest.raises(UserError, match="line 3"):
        table(path, loading).read()
    with pytest.raises(ValueError, match="on_bad_rows='skip'"):
        table(path, loading, on_bad_rows="skip")
