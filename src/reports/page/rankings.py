"""Example texts from a record of `python -m src.faithfulness`, with the score of each word in every ranking."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from src.faithfulness.records import Record
from src.reports.page.attention import Word


class RankedText(NamedTuple):
    """A text with the scores of its words in every ranking."""

    title: str
    strips: dict[str, list[Word]]


def ranked_texts(record: Record) -> list[RankedText]:
    """Return the example texts of a record."""
    texts, start = [], 0
    for example in record.options["examples"]:
        stop = start + len(example["words"])
        scores = record.arrays["scores"][:, start:stop]
        start = stop
        strips = {name: _words(example["words"], values) for name, values in zip(record.rankings, scores, strict=True)}
        texts.append(RankedText(f"{example['label']}, predicted {example['predicted']}", strips))
    return texts


def _words(words: Sequence[str], scores: np.ndarray) -> list[Word]:
    """Return the words with the depth of their colour; words with a score of at most 0 have no colour."""
    highest = float(scores.max(initial=0)) or 1.0
    ranks = np.argsort(np.argsort(-scores, kind="stable"), kind="stable") + 1
    return [
        Word(word, max(0.0, score / highest), f"rank {rank}, score {score:.4f}")
        for word, score, rank in zip(words, scores.tolist(), ranks.tolist(), strict=True)
    ]
