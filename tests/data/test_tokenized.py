"""The data of a corpus of several chunks and blocks equal those of a simple computation in memory."""

import csv
from pathlib import Path

import numpy as np

from heedful.data.padded_batches import Truncation, shuffled
from heedful.data.source import Source
from heedful.data.tokenizer import Word
from tests.data.data_files import ready

ROWS = 2503  # three chunks of a file; two blocks of the tokenizer


def write_reviews(path: Path) -> tuple[list[str], np.ndarray]:
    """Write reviews of 0 to 28 distinct words after the first, some of which contain a line break or repeat."""
    rng = np.random.default_rng(3)
    words = [f"w{i}" for i in range(97)]
    texts = ["first " + " \n"[i % 2].join(rng.permutation(words)[: rng.integers(29)]) for i in range(ROWS)]
    texts[ROWS - 1] = texts[0]
    labels = rng.integers(0, 3, ROWS)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(zip(texts, labels, strict=True))
    return texts, labels


def test_split_vocabulary_and_batches_are_those_of_a_computation_in_memory(tmp_path, source_options) -> None:
    texts, labels = write_reviews(tmp_path / "reviews.csv")
    options = {**source_options, "tokenizer": Word(min_frequency=2), "batch_size": 31, "max_length": 17}
    options |= {"split_seed": 3, "seed": 7}
    module = ready(Source(str(tmp_path / "reviews.csv"), **options))

    rows = np.arange(ROWS)
    expected_rows = {}
    for split, fraction, draw in (("test", 0.2, 0), ("val", 0.1, 1)):
        generator = np.random.default_rng([3, draw])
        counts = np.bincount(labels[rows])
        total = round(fraction * len(rows))
        exact = total * counts / counts.sum()
        sizes = np.floor(exact).astype(int)
        for i in np.argsort(-(exact - sizes))[: total - sizes.sum()]:
            sizes[i] += 1
        drawn = [generator.permutation(np.flatnonzero(labels[rows] == c))[: sizes[c]] for c in range(3)]
        expected_rows[split] = np.sort(rows[np.concatenate(drawn)])
        rows = np.setdiff1d(rows, expected_rows[split])
    expected_rows["train"] = rows

    tokenizer = options["tokenizer"].train([texts[row] for row in rows])
    assert module.vocabulary == tokenizer.vocabulary
    for split, split_rows in expected_rows.items():
        data = module.tokenized(split)
        split_texts = [texts[row] for row in split_rows]
        tokens, offsets, _ = tokenizer.encode(split_texts)
        assert data.rows.tolist() == split_rows.tolist()
        assert data.labels.tolist() == labels[split_rows].tolist()
        assert data.tokens.tolist() == tokens.tolist() and data.offsets.tolist() == offsets.tolist()
        assert data.counts.tolist() == np.bincount(tokens, minlength=len(module.vocabulary)).tolist()
        assert module.texts(split, range(len(split_rows))) == split_texts
        assert len(np.unique(data.digests)) == len(set(split_texts))

    tokens, offsets, _ = tokenizer.encode([texts[row] for row in rows])
    ids = [encoded[:17] for encoded in np.split(tokens, offsets[1:-1])]
    lengths = np.array(list(map(len, ids)))
    truncation = Truncation(17, "first")
    for batch, plan in zip(module.train_dataloader(), shuffled(lengths, 31, 7, True, 0, 1, 0), strict=True):
        padded_length = truncation.padded_length(int(lengths[plan].max()))
        assert batch.index.tolist() == plan.tolist()
        assert batch.inputs.ids.tolist() == [ids[row].tolist() + [0] * (padded_length - lengths[row]) for row in plan]
        assert batch.targets.tolist() == labels[rows[plan]].tolist()
