"""The reviews to measure on: IMDb, or made-up ones of the same lengths, which need no network."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LOG_MEAN, LOG_SD = 5.38, 0.64  # of the tokens of IMDb's reviews, words and punctuation: 245 on average, cut at 500
WORDS, EXPONENT = 60_000, 1.07  # about how many words IMDb has, and how fast they grow rarer
VERDICTS, SHARE = 50, 0.03  # words of each class's own, and their share of a text: something to learn


def overrides(data_path: Path | None, hub: bool, folder: Path, train: int, test: int) -> list[str]:
    """Which reviews `data=imdb` is to read: a folder's, the hub's, or `train` and `test` made-up ones in `folder`."""
    if hub:
        return []
    if data_path is None:
        made_up(folder / "reviews", train, test)
    path = folder / "reviews" if data_path is None else data_path.resolve()
    return [f"data.path='{path}'", *([f"data.cache_dir='{folder / 'cache'}'"] if data_path is None else [])]


def made_up(folder: Path, train: int, test: int, seed: int = 0) -> None:
    """Reviews in IMDb's layout: lengths log-normal, words Zipf-distributed, the classes alternate."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = np.array([_word(rank) for rank in range(WORDS + 2 * VERDICTS)], dtype=object)
    frequency = (np.arange(WORDS) + 2.0) ** -EXPONENT
    cumulative = frequency.cumsum() / frequency.sum()
    for split, texts in (("train", train), ("test", test)):
        lengths = np.maximum(rng.lognormal(LOG_MEAN, LOG_SD, texts).astype(int), 1)
        labels = np.arange(texts) % 2
        of_class = np.repeat(labels, lengths)
        ranks = np.minimum(np.searchsorted(cumulative, rng.random(lengths.sum())), WORDS - 1)
        verdicts = WORDS + VERDICTS * of_class + rng.integers(VERDICTS, size=len(ranks))
        words = vocabulary[np.where(rng.random(len(ranks)) < SHARE, verdicts, ranks)]
        rows = [" ".join(some) for some in np.split(words, lengths.cumsum()[:-1])]
        pq.write_table(pa.table({"text": rows, "label": labels}), folder / f"{split}.parquet")


def _word(rank: int) -> str:
    """A word of its own for each rank: its digits in base 26, as letters."""
    letters = ""
    while rank or not letters:
        rank, digit = divmod(rank, 26)
        letters += chr(ord("a") + digit)
    return letters
