"""A user's data files: CSV, TSV, JSON or Parquet."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from src.data.classes import distinct_classes, parse_class_names
from src.data.corpus import Corpus
from src.data.datamodule import TextDataModule
from src.data.delimiter import parse_delimiter
from src.data.examples import Examples, select_examples, validate_options
from src.data.files import GZIP, content_hash, existing_file, file_format
from src.data.readers import DELIMITED, read_chunks
from src.data.rows import ColumnError, Rows
from src.data.tokenized import SPLITS
from src.errors import UserError


class Table(TextDataModule):
    """Texts and labels from a file whose extension determines the format.

    Args:
        path: the file to train on; a relative path starts at the current working directory.
        text: name of the column of texts.
        label: name of the column of labels: strings, numbers or booleans.
        val_path: a validation file with the same columns; None holds out rows of `path`.
        test_path: a test file with the same columns; None holds out rows of `path`.
        on_bad_rows: how to treat rows without text or label: "error" reports them, "drop" drops them.
        labels: the allowed classes in order; None means the sorted classes of the training file.
        delimiter: delimiter of CSV and TSV files, a character or its name; None means a tab in TSV files, and the
            delimiter detected in the header in CSV files.
        options: passed to `TextDataModule`.
    """

    def __init__(
        self,
        path: str,
        text: str = "text",
        label: str = "label",
        val_path: str | None = None,
        test_path: str | None = None,
        on_bad_rows: str = "error",
        labels: Sequence[Any] | None = None,
        delimiter: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        validate_options(text, label, on_bad_rows)
        files = {"path": path, "val_path": val_path, "test_path": test_path}
        self.paths = {
            split: existing_file(file, f"data.{option}")
            for split, (option, file) in zip(SPLITS, files.items(), strict=True)
            if file is not None
        }
        self.text = text
        self.label = label
        self.on_bad_rows = on_bad_rows
        self.classes = parse_class_names(labels)
        self.delimiter = parse_delimiter(delimiter)
        if delimiter is not None and not {file_format(path) for path in self.paths.values()} & set(DELIMITED):
            raise ValueError(f"delimiter={delimiter!r}: only for {' and '.join(DELIMITED)} files; set delimiter=null")

    def require_columns(self) -> None:
        for path in self.paths.values():
            if file_format(path) in (*DELIMITED, ".parquet"):  # JSON files have no header
                try:
                    next(self._chunks(path))
                except ColumnError:
                    raise
                except UserError:
                    pass  # `read` will report it

    def fingerprint(self) -> str:
        formats = [
            (split, file_format(path) + GZIP * (path.suffix.lower() == GZIP)) for split, path in self.paths.items()
        ]
        options = (formats, self.text, self.label, self.on_bad_rows, self.classes)
        delimiter = f" {self.delimiter!r}" if self.delimiter else ""
        return f"table {content_hash(self.paths.values())} {options}{delimiter}"

    def read(self) -> Corpus:
        for split in ("val", "test"):
            if self.is_training and split in self.paths and self.paths[split].samefile(self.paths["train"]):
                raise UserError(
                    f"data.{split}_path={self.paths[split]}: is the same file as data.path, so the model would be "
                    f"trained on the texts of this split; set another file, or null to hold out data.{split}_fraction "
                    "of data.path"
                )
        examples = {split: self._examples(path) for split, path in self.paths.items()}
        distinct = distinct_classes(examples["train"].labels, str(self.paths["train"]))
        return Corpus.from_examples(examples, self.classes or distinct)

    def _examples(self, path: Path) -> Examples:
        return select_examples(self._chunks(path), self.text, self.label, self.on_bad_rows, self.cache_dir)

    def _chunks(self, path: Path) -> Iterator[Rows]:
        return read_chunks(path, (self.text, self.label), self.delimiter)
