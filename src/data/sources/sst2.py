"""The binary Stanford Sentiment Treebank (Socher et al., 2013): sentences of film reviews, as used by Kim (2014)."""

from pathlib import Path
from typing import Any, ClassVar

from src.data.corpus import Corpus
from src.data.datamodule import TextDataModule
from src.data.examples import Examples, select_examples
from src.data.files import content_hash
from src.data.paths import existing_path
from src.data.readers import read_chunks
from src.data.sources.hub import Hub
from src.errors import UserError

CLASSES = ("negative", "positive")
COLUMNS = ("text", "label")
FILES = {"train": "train.parquet", "val": "validation.parquet", "test": "test.parquet"}


class SentimentFiles(TextDataModule):
    """Texts in two classes, negative and positive, from `train.parquet`, `validation.parquet` and `test.parquet`.

    A subclass sets `kind`, the name of the data set in the fingerprint.

    Args:
        path: the folder of the files.
        options: passed to `TextDataModule`.
    """

    kind: ClassVar[str]

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(**options)
        folder = existing_path(path, "data.path")
        self.files = {split: folder / file for split, file in FILES.items()}
        missing = [file.name for file in self.files.values() if not file.is_file()]
        if missing:
            raise UserError(f"data.path={folder}: has no {', '.join(missing)}")

    def fingerprint(self) -> str:
        return f"{self.kind} {content_hash(self.files.values())}"

    def read(self) -> Corpus:
        return Corpus.from_examples({split: self._examples(path) for split, path in self.files.items()}, CLASSES)

    def _examples(self, path: Path) -> Examples:
        return select_examples(read_chunks(path, COLUMNS), *COLUMNS, "error", self.cache_dir)


class Sst2(SentimentFiles):
    """6,920 sentences for training, 872 for validation and 1,821 for testing.

    Args:
        path: the folder of the files; None loads `SetFit/sst2` from the hub.
        options: passed to `TextDataModule`.
    """

    kind = "sst2"

    def __init__(self, path: str | None = None, **options: Any) -> None:
        self.hub: Hub | None = None
        if path is None:
            TextDataModule.__init__(self, **options)
            self.hub = Hub("SetFit/sst2", label="label_text", val_split="validation", labels=CLASSES, **options)
        else:
            super().__init__(path, **options)

    def fingerprint(self) -> str:
        return super().fingerprint() if self.hub is None else self.hub.fingerprint()

    def read(self) -> Corpus:
        return super().read() if self.hub is None else self.hub.read()
