"""The bundled toy set: 39 product reviews in three classes, for a first run without a network."""

from pathlib import Path
from typing import Any

from src.data.corpus import Corpus, Split
from src.data.datamodule import TextDataModule
from src.data.files import content_hash
from src.data.readers import encode_labels, examples, read_rows

FILE = Path(__file__).parents[1] / "assets" / "small.csv"
CLASSES = ("negative", "neutral", "positive")
TEXT, LABEL = "cleaned_review", "sentiments"


class SmallCsv(TextDataModule):
    """Reviews that are negative, neutral or positive.

    Args:
        loading: options of `TextDataModule`.
    """

    def __init__(self, **loading: Any) -> None:
        super().__init__(**loading)

    def fingerprint(self) -> str:
        return f"small_csv {content_hash([FILE])}"

    def read(self) -> Corpus:
        some = examples(read_rows(FILE, (TEXT, LABEL)), TEXT, LABEL, on_bad_rows="error")
        return Corpus(Split(some.texts, encode_labels(some, CLASSES)), None, None, CLASSES)
