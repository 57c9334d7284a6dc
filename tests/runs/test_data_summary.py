"""The summary of the data before training, computed from the cached arrays only."""

from pathlib import Path

import numpy as np
import pytest
import tokenizers
from tokenizers import models

from heedful.data.source import Source
from heedful.data.tokenizer import Tokenizer, Word
from heedful.data.trained_texts import TrainedTexts
from heedful.runs.data_summary import summarize_data
from heedful.runs.result import SplitSummary
from tests.data.data_files import ready

TRAIN = ["good film,a", "good film,a", "a good long film,a", "bad,b"]
TEST = ["bad,b", "Bad,b", "unseen words here,a"]


def trained_on(data: Source) -> list[TrainedTexts | None]:
    """The training texts of a model that is trained on the training split."""
    return [TrainedTexts.of(data.tokenized("train").digests)]


def test_the_summary_of_splits_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, val, test = (tmp_path / name for name in ("train.csv", "val.csv", "test.csv"))
    train.write_text("\n".join(["text,label", *TRAIN]) + "\n")
    test.write_text("\n".join(["text,label", *TEST]) + "\n")
    val.write_text("\n".join(["text;label", *TEST]).replace(",", ";") + "\n")
    options = {"cache_dir": str(tmp_path / "cache"), "max_length": 2, "progress": False}
    data = ready(Source(str(train), val_path=str(val), test_path=str(test), tokenizer=Word(min_frequency=1), **options))
    monkeypatch.setattr(data, "read", lambda: pytest.fail("read the texts again"))
    has_vector = np.array([word in ("good", "film") for word in data.vocabulary])
    summary = summarize_data(data, trained_on(data), has_vector)
    assert summary.splits["train"] == SplitSummary(
        texts=4,
        class_counts={"a": 3, "b": 1},
        majority_accuracy=0.75,
        tokens=9,
        lengths={"min": 1, "median": 2, "95 %": 4, "max": 4},
        cut_texts=1,
        cut_share=2 / 9,
        unknown_share=0.0,
        vector_share=6 / 9,
        duplicates=1,
        in_train=None,
        checked=None,
    )
    test = summary.splits["test"]
    assert (test.majority_accuracy, test.unknown_share, test.vector_share) == (1 / 3, 3 / 5, 0.0)
    assert (test.duplicates, test.in_train, test.checked) == (0, 1, 3)  # "Bad" differs from "bad"
    assert (summary.max_length, summary.majority_class, summary.vectors) == (2, "a", 2)
    assert (summary.train, summary.val, summary.test) == (4, 3, 3)
    unknown = summarize_data(data, [None])
    assert unknown.vectors is None and unknown.splits["train"].vector_share is None
    assert unknown.splits["test"].in_train is None


def test_different_texts_of_unknown_words_are_not_duplicates(tmp_path: Path) -> None:
    rows = [f"{word},{'ab'[i % 2]}" for i, word in enumerate(["x", "y", "z", "u", "v", "w", "x", "q"])]
    (tmp_path / "a.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    options = {"cache_dir": str(tmp_path / "cache"), "progress": False}
    module = ready(Source(str(tmp_path / "a.csv"), tokenizer=Word(min_frequency=9), **options))
    splits = summarize_data(module, trained_on(module)).splits
    assert {split.unknown_share for split in splits.values()} == {1.0}
    assert sum(split.duplicates + (split.in_train or 0) for split in splits.values()) <= 1  # the repeated word x


def test_the_id_of_unknown_words_of_pretrained_tokenizers() -> None:
    word_piece = models.WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]")
    unigram = models.Unigram([("a", -1.0), ("b", -1.0), ("<unk>", -9.0)], unk_id=2)
    no_unknown = models.BPE({"a": 0}, [])
    ids = [Tokenizer(tokenizers.Tokenizer(model)).unknown_id for model in (word_piece, unigram, no_unknown)]
    assert ids == [3, 4, None]
    assert Word().train(["a a"]).unknown_id == 1
