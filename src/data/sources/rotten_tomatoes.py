"""Phrases of film reviews in five classes, from the Kaggle contest "Sentiment Analysis on Movie Reviews".

The phrases are those of the Stanford Sentiment Treebank (Socher et al., 2013).
"""

from dataclasses import replace
from typing import Any

from src.data.corpus import Corpus
from src.data.datamodule import TextDataModule
from src.data.examples import select_examples
from src.data.files import content_hash, existing_file
from src.data.readers import read_chunks

CLASSES = ("negative", "somewhat negative", "neutral", "somewhat positive", "positive")
NUMBERS = ("0", "1", "2", "3", "4")  # the labels in the file


class RottenTomatoes(TextDataModule):
    """Overlapping phrases of sentences; all phrases of a sentence are in the same split.

    Args:
        path: the contest's `train.tsv`, with columns PhraseId, SentenceId, Phrase and Sentiment (0 to 4).
        options: passed to `TextDataModule`.
    """

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(**options)
        self.path = existing_file(path, "data.path")

    def fingerprint(self) -> str:
        return f"rotten_tomatoes {content_hash([self.path])}"

    def read(self) -> Corpus:
        rows = read_chunks(self.path, ("Phrase", "Sentiment", "SentenceId"))
        # one phrase is blank, and is dropped
        phrases = select_examples(rows, "Phrase", "Sentiment", "drop", self.cache_dir, group="SentenceId")
        return replace(Corpus.from_examples({"train": phrases}, NUMBERS), class_names=CLASSES)
