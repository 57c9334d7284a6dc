"""The reviews of the benchmarks: IMDb, or made-up reviews with similar lengths, which need no network."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LOG_MEAN, LOG_SD = 5.38, 0.64  # log-normal distribution of the tokens per review of IMDb; mean 245 when cut at 500
WORDS, EXPONENT = 60_000, 1.07  # approximate size of IMDb's vocabulary, and its Zipf exponent
VERDICTS, SHARE = 50, 0.03  # number of words that occur in one class only, for each class, and their share of a text


def overrides(data_path: Path | None, hub: bool, folder: Path, train: int, test: int) -> list[str]:
    """Return the overrides for reviews on the hub, in `data_path`, or made up in `folder`: train and test of them."""
    if hub:
        return ["data=imdb"]
    if data_path is not None:
        return ["data=imdb", f"data.path='{data_path.resolve()}'"]
    made_up(folder / "reviews", train, test)
    return ["data=imdb", f"data.path='{folder / 'reviews'}'", f"data.cache_dir='{folder / 'cache'}'"]


def made_up(folder: Path, train: int, test: int) -> None:
    """Write reviews in IMDb's layout, with log-normal lengths, Zipf-distributed words and alternating classes."""
    rng = np.random.default_rng(0)
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
        rows = [" ".join(text) for text in np.split(words, lengths.cumsum()[:-1])]
        pq.write_table(pa.table({"text": rows, "label": labels}), folder / f"{split}.parquet")


def _word(rank: int) -> str:
    """Return a distinct word for each rank, whose letters are the digits of the rank in base 26."""
    letters = ""
    while rank or not letters:
        rank, digit = divmod(rank, 26)
        letters += chr(ord("a") + digit)
    return letters
