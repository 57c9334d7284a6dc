"""Files of the user as a data set."""

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from src.data.sources.table import Table
from src.errors import UserError


def write(path: Path, *rows: str) -> str:
    path.write_text("\n".join(["review,stars", *rows]) + "\n")
    return str(path)


def table(path: str, source_options: dict[str, Any], **options: Any) -> Table:
    return Table(path, text="review", label="stars", **source_options, **options)


def test_classes_come_from_the_file(tmp_path: Path, source_options: dict[str, Any]) -> None:
    path = write(tmp_path / "a.csv", *(f"text {i},{stars}" for i, stars in enumerate([10, 2, 1] * 5)))
    corpus = table(path, source_options).read()
    assert corpus.class_names == ("1", "2", "10")
    assert corpus.train.labels.tolist() == [2, 1, 0] * 5
    assert corpus.val is None and corpus.test is None


def test_listed_classes_determine_the_order(tmp_path: Path, source_options: dict[str, Any]) -> None:
    path = write(tmp_path / "a.csv", "a,2", "b,1")
    corpus = table(path, source_options, labels=[3, 2, 1]).read()
    assert corpus.class_names == ("3", "2", "1")
    assert corpus.train.labels.tolist() == [1, 2]
    with pytest.raises(UserError, match="line 2: label '2' is not among the classes 1, 3"):
        table(path, source_options, labels=[1, 3]).read()


def test_splits_may_be_separate_files(tmp_path: Path, source_options: dict[str, Any]) -> None:
    train = write(tmp_path / "train.csv", *["a,1", "b,2"] * 4)
    val = write(tmp_path / "val.csv", "c,2")
    test = write(tmp_path / "test.csv", "d,1", "e,1", "f,2")
    module = table(train, source_options, val_path=val, test_path=test)
    module.setup()
    assert module.sizes == {"train": 8, "val": 1, "test": 3}
    assert module.texts("test", [2, 0]) == ["f", "d"]
    other = table(train, source_options, val_path=test, test_path=val)
    assert other.fingerprint() != module.fingerprint()


def test_a_class_missing_from_the_training_file_is_reported(tmp_path: Path, source_options: dict[str, Any]) -> None:
    train = write(tmp_path / "train.csv", "a,1", "b,2")
    test = write(tmp_path / "test.csv", "d,1", "e,7")
    with pytest.raises(UserError, match=r"test\.csv: line 3: label '7' is not among the classes 1, 2"):
        table(train, source_options, test_path=test).read()


@pytest.mark.parametrize("option", ["path", "val_path", "test_path"])
def test_a_missing_file_is_reported_by_the_constructor(
    tmp_path: Path, source_options: dict[str, Any], option: str
) -> None:
    path = write(tmp_path / "reviews.csv", "a,1")
    files = {"path": path, option: str(tmp_path / "review.csv")}
    with pytest.raises(UserError, match=rf"data\.{option}=.*did you mean 'reviews\.csv'"):
        Table(**files, **source_options)


def test_bad_rows_are_dropped_on_request(tmp_path: Path, source_options: dict[str, Any]) -> None:
    path = write(tmp_path / "a.csv", "a,1", ",2", "b,2")
    assert table(path, source_options, on_bad_rows="drop").read().train.texts == ["a", "b"]
    with pytest.raises(UserError, match="line 3"):
        table(path, source_options).read()
    with pytest.raises(ValueError, match="on_bad_rows='skip'"):
        table(path, source_options, on_bad_rows="skip")


def test_the_training_file_cannot_be_another_split(tmp_path: Path, source_options: dict[str, Any]) -> None:
    path = write(tmp_path / "a.csv", *["a,1", "b,2"] * 4)
    (tmp_path / "link.csv").symlink_to(path)
    for split in ("val", "test"):
        with pytest.raises(UserError, match=rf"data\.{split}_path=.*link\.csv: is the same file as data\.path"):
            table(path, source_options, **{f"{split}_path": str(tmp_path / "link.csv")}).setup()


def test_a_trained_model_may_be_tested_on_its_training_file(tmp_path: Path, source_options: dict[str, Any]) -> None:
    path = write(tmp_path / "a.csv", *["a,1", "b,2"] * 8)
    training_data = table(path, source_options)
    training_data.setup()
    module = table(path, source_options, test_path=path)
    module.use_codec(training_data.codec)
    module.setup()
    assert module.sizes["test"] == 16


def test_the_fingerprint_depends_on_the_format(tmp_path: Path, source_options: dict[str, Any]) -> None:
    path = write(tmp_path / "a.csv", "a,1", "b,2")
    (tmp_path / "a.tsv").write_bytes(Path(path).read_bytes())
    assert table(path, source_options).fingerprint() != table(str(tmp_path / "a.tsv"), source_options).fingerprint()


@pytest.mark.parametrize("change", ["disappears", "changes"])
def test_a_file_that_changes_while_it_is_read_is_not_cached(
    tmp_path: Path, source_options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = Path(write(tmp_path / "a.csv", *["a,1", "b,2"] * 4))
    original = Table.read

    def read_after_change(module: Table) -> Any:
        if change == "disappears":
            path.unlink()
        else:
            path.write_text(path.read_text() + "c,1\n")
        return original(module)

    monkeypatch.setattr(Table, "read", read_after_change)
    message = "a.csv: cannot be read" if change == "disappears" else "the source has changed since"
    with pytest.raises(UserError, match=message):
        table(str(path), source_options).setup()
    assert not list(Path(source_options["cache_dir"]).glob("*.npz"))


def test_the_delimiter_is_detected_or_set(tmp_path: Path, source_options: dict[str, Any]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("review;stars\n" + "good, really;1\nbad;2\n" * 5)
    module = table(str(path), source_options)
    module.require_columns()
    assert module.read().train.texts[:2] == ["good, really", "bad"]
    path.write_text("review^stars\n" + "good^1\nbad^2\n" * 5)
    with pytest.raises(UserError, match="no column 'review'"):
        table(str(path), source_options).require_columns()
    module = table(str(path), source_options, delimiter="^")
    module.require_columns()
    assert module.read().train.texts[:2] == ["good", "bad"]
    assert module.fingerprint() != table(str(path), source_options).fingerprint()


def test_columns_of_compressed_files_are_checked(tmp_path: Path, source_options: dict[str, Any]) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"Review;stars\na;1\n", mtime=0))
    with pytest.raises(UserError, match=r"no column 'review' .did you mean 'Review'"):
        table(str(path), source_options).require_columns()
    path.write_bytes(gzip.compress(b"Review;stars\na;1\n", mtime=0)[:-9])
    table(str(path), source_options).require_columns()  # the damage is reported when the file is read


def test_columns_of_parquet_are_checked_and_damaged_rows_are_not(
    tmp_path: Path, source_options: dict[str, Any]
) -> None:
    pq.write_table(pa.table({"Review": ["a"], "stars": [1]}), tmp_path / "a.parquet")
    with pytest.raises(UserError, match=r"no column 'review' .did you mean 'Review'"):
        table(str(tmp_path / "a.parquet"), source_options).require_columns()
    path = write(tmp_path / "a.csv", "a,1", "b,2,3")
    table(path, source_options).require_columns()
    with pytest.raises(UserError, match="line 3 has 3 fields"):
        table(path, source_options).read()


def test_a_delimiter_needs_a_file_that_has_one(tmp_path: Path, source_options: dict[str, Any]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"review": "a", "stars": 1}')
    with pytest.raises(ValueError, match=r"delimiter=';': only for \.csv and \.tsv files"):
        table(str(path), source_options, delimiter=";")


def test_texts_and_labels_are_different_columns(tmp_path: Path, source_options: dict[str, Any]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\ngood,x\nbad,y\n")
    with pytest.raises(ValueError, match=r"text='label': is also the column of labels"):
        Table(str(path), text="label", **source_options)
