"""The bundled data set: 39 product reviews in three classes, for a first run without a network."""

from pathlib import Path

from src.data.corpus import Corpus
from src.data.datamodule import TextDataModule
from src.data.examples import select_examples
from src.data.files import content_hash
from src.data.readers import read_chunks

FILE = Path(__file__).parents[1] / "assets" / "small.csv"
CLASSES = ("negative", "neutral", "positive")
COLUMNS = ("cleaned_review", "sentiments")


class SmallCsv(TextDataModule):
    """Product reviews in three classes: negative, neutral and positive."""

    def fingerprint(self) -> str:
        return f"small_csv {content_hash([FILE])}"

    def read(self) -> Corpus:
        reviews = select_examples(read_chunks(FILE, COLUMNS), *COLUMNS, "error", self.cache_dir)
        return Corpus.from_examples({"train": reviews}, CLASSES)
