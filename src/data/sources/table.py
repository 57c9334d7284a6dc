"""The user's own file: CSV, TSV, JSONL or Parquet."""

from collections.abc import Sequence
from typing import Any

from src.data.cache import SPLITS
from src.data.columns import require_columns
from src.data.corpus import Corpus, Split
from src.data.datamodule import TextDataModule
from src.data.files import content_hash, existing_file
from src.data.readers import checked_policy, encode_labels, examples, known_classes, names_of, read_rows
from src.errors import UserError


class Table(TextDataModule):
    """Texts and labels from a file, whose extension tells its format.

    Args:
        path: the file to train on; relative to the current working directory.
        text: its column of texts.
        label: its column of labels: strings, numbers or booleans.
        val_path: a file of the same columns to validate on; None holds `val_fraction` of `path` out.
        test_path: likewise to test on; None holds out `test_fraction`.
        on_bad_rows: "error", or "drop" to leave out rows without text or label.
        labels: the classes allowed and their order; None takes those of the training file, sorted.
        loading: options of `TextDataModule`.
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
        **loading: Any,
    ) -> None:
        super().__init__(**loading)
        given = {"path": path, "val_path": val_path, "test_path": test_path}
        self.paths = {
            split: existing_file(file, f"data.{option}")
            for split, (option, file) in zip(SPLITS, given.items(), strict=True)
            if file is not None
        }
        self.text = text
        self.label = label
        self.on_bad_rows = checked_policy(on_bad_rows)
        self.known = known_classes(labels)

    def require_columns(self) -> None:
        """Refuse a file without the columns, from its header.

        Raises:
            UserError: if one is missing.
        """
        for path in self.paths.values():
            require_columns(path, (self.text, self.label))

    def fingerprint(self) -> str:
        formats = [(split, path.suffix.lower()) for split, path in self.paths.items()]
        options = (formats, self.text, self.label, self.on_bad_rows, self.known)
        return f"table {content_hash(self.paths.values())} {options}"

    def read(self) -> Corpus:
        for split in ("val", "test"):
            if self.is_training and split in self.paths and self.paths[split].samefile(self.paths["train"]):
                raise UserError(
                    f"data.{split}_path={self.paths[split]}: is the file of data.path, so every one of its texts would "
                    f"be trained on; give another file, or null to hold out data.{split}_fraction of data.path"
                )
        found = {
            split: examples(read_rows(path, (self.text, self.label)), self.text, self.label, self.on_bad_rows)
            for split, path in self.paths.items()
        }
        occurring = names_of(found["train"].labels, str(self.paths["train"]))
        names = self.known or occurring
        splits = {split: Split(some.texts, encode_labels(some, names)) for split, some in found.items()}
        return Corpus(splits["train"], splits.get("val"), splits.get("test"), names)
