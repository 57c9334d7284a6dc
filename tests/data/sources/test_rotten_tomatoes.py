"""Phrases, split by sentence."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from src.data.sources.rotten_tomatoes import RottenTomatoes
from src.errors import UserError

SENTENCES, PHRASES = 50, 7


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """50 sentences of 7 phrases; each phrase names its sentence, and one is blank."""
    lines = ["PhraseId\tSentenceId\tPhrase\tSentiment"]
    for phrase in range(SENTENCES * PHRASES):
        sentence = phrase // PHRASES
        lines.append(f"{phrase + 1}\t{sentence + 1}\ts{sentence} p{phrase}\t{(sentence + phrase % 2) % 5}")
    lines[100] = lines[100].rsplit("\t", 2)[0] + "\t \t2"
    path = tmp_path / "train.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_no_sentence_is_in_two_splits(path: Path, source_options: dict[str, Any]) -> None:
    module = RottenTomatoes(str(path), **source_options)
    module.setup()
    sentences = {
        split: {text.split()[0] for text in module.texts(split, range(size))} for split, size in module.sizes.items()
    }
    assert {split: len(names) for split, names in sentences.items()} == {"train": 35, "val": 5, "test": 10}
    assert len(set.union(*sentences.values())) == SENTENCES
    assert sum(module.sizes.values()) == SENTENCES * PHRASES - 1


def test_labels_and_class_names(path: Path, source_options: dict[str, Any]) -> None:
    corpus = RottenTomatoes(str(path), **source_options).read()
    assert corpus.class_names == (
        "negative",
        "somewhat negative",
        "neutral",
        "somewhat positive",
        "positive",
    )
    assert corpus.train.labels[:9].tolist() == [0, 1, 0, 1, 0, 1, 0, 2, 1]
    assert corpus.train.groups is not None
    assert np.array_equal(np.unique(corpus.train.groups), np.arange(SENTENCES))


def test_a_file_without_labels_is_reported(tmp_path: Path, source_options: dict[str, Any]) -> None:
    (tmp_path / "test.tsv").write_text("PhraseId\tSentenceId\tPhrase\n1\t1\tgood\n")
    with pytest.raises(UserError, match="no column 'Sentiment'"):
        RottenTomatoes(str(tmp_path / "test.tsv"), **source_options).read()
