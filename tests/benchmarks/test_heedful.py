"""The sample of reviews is representative, and Heedful trains on it."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks import reviews
from benchmarks.heedful import HeedfulRunner, sample_batches
from benchmarks.measure import evenly


def test_evenly_selects_elements_with_equal_gaps() -> None:
    assert evenly(list(range(9)), 3) == [1, 4, 7]
    assert evenly(list(range(4)), 7) == [0, 1, 2, 3]
    assert evenly(list(range(9)), 0) == [4]


def test_sampled_batches_have_representative_lengths() -> None:
    lengths = np.arange(100)
    plan = [np.arange(start, start + 5) for start in range(0, 100, 5)]
    sample = sample_batches(plan, lengths, 25)
    assert len(sample) == 5
    assert sorted(int(rows[0]) for rows in sample) == [10, 30, 50, 70, 90]
    assert all(any(rows is batch for batch in plan) for rows in sample)


def test_made_up_reviews_have_the_lengths_of_imdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "LOG_MEAN", 5.38)
    reviews.made_up(tmp_path, 400, 30)
    train = pq.read_table(tmp_path / "train.parquet").to_pydict()
    lengths = [len(text.split()) for text in train["text"]]
    assert 225 < np.minimum(lengths, 500).mean() < 265  # 245 on IMDb
    assert sum(train["label"]) == 200
    assert len(pq.read_table(tmp_path / "test.parquet")) == 30


def test_heedful_trains_and_returns_texts_of_all_lengths(tmp_path: Path) -> None:
    data = reviews.overrides(None, False, tmp_path, 83, 11)
    model = ("experiment=twenty_variants", "model/encoder=rnn", "model/attention=luong_dot", "data.batch_size=8")
    heedful = HeedfulRunner([*model, *data], tmp_path)
    texts, labels = heedful.texts(1000)
    assert len(texts) == len(labels) == heedful.data.sizes["train"]
    assert sum(labels.tolist()) == heedful.data.class_counts[1]
    assert min(int(text.min()) for text in texts) > 0  # no padding
    assert heedful.train(16) > 0
    assert (tmp_path / "csv" / "metrics.csv").exists()
    assert (tmp_path / "gradients.csv").exists()  # written by the callbacks of a user's run
