"""The Large Movie Review Dataset (Maas et al., 2011): 25,000 training and 25,000 test film reviews."""

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from src.data.classes import encode_labels
from src.data.corpus import Corpus, Split
from src.data.datamodule import TextDataModule
from src.data.examples import select_examples
from src.data.files import content_hash
from src.data.paths import existing_path
from src.data.readers import read_chunks
from src.data.sources.hub import Hub
from src.data.spool import StoredTexts
from src.errors import UserError

CLASSES = ("negative", "positive")
COLUMNS = ("text", "label")
NUMBERS = ("0", "1")  # the labels in the files


class Imdb(TextDataModule):
    """Film reviews in two classes, negative and positive.

    Args:
        path: a folder that contains `train*.parquet` and `test*.parquet` at any depth; None loads
            `stanfordnlp/imdb` from the hub.
        options: passed to `TextDataModule`.
    """

    def __init__(self, path: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.files = None if path is None else _files(existing_path(path, "data.path"))
        self.hub = Hub("stanfordnlp/imdb", **options)

    def fingerprint(self) -> str:
        if self.files is None:
            return self.hub.fingerprint()
        return f"imdb {[content_hash(files) for files in self.files]}"

    def read(self) -> Corpus:
        if self.files is None:
            return replace(self.hub.read(), class_names=CLASSES)
        train, test = map(self._split, self.files)
        return Corpus(train, None, test, CLASSES)

    def _split(self, files: list[Path]) -> Split:
        parts = [select_examples(read_chunks(path, COLUMNS), *COLUMNS, "error", self.cache_dir) for path in files]
        labels = np.concatenate([encode_labels(reviews, NUMBERS) for reviews in parts])
        return Split(StoredTexts(self.cache_dir, chain.from_iterable(reviews.texts for reviews in parts)), labels)


def _files(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the training files and the test files in a folder; raise a UserError if either list is empty."""
    train, test = (sorted(folder.rglob(f"{split}*.parquet")) for split in ("train", "test"))
    if not train or not test:
        raise UserError(
            f"data.path={folder}: has no {'test' if train else 'train'}*.parquet at any depth. "
            "Download a copy with `hf download stanfordnlp/imdb --repo-type dataset --local-dir <folder>`"
        )
    return train, test
