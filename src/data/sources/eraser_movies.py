"""Film reviews in which people marked the evidence for the class (ERASER, DeYoung et al., 2020)."""

import re
from collections.abc import Sequence
from typing import Any

from src.data.parquet import read_parquet
from src.data.sources.sst2 import SentimentFiles
from src.errors import UserError


class EraserMovies(SentimentFiles):
    """1,600 film reviews for training, 200 for validation and 199 for testing, in which people marked the evidence.

    The tokens of a text are separated by whitespace. The column `rationale` has spans `{start, end}` of marked tokens;
    the end is exclusive. Some spans are empty, 20 of them in the test split; they are ignored.
    """

    kind = "eraser_movies"

    def rationales(self, split: str, index: Sequence[int]) -> list[list[tuple[int, int]]]:
        tokenized = self.tokenized(split)
        path = self.files[tokenized.origin]
        spans = [cell for rows in read_parquet(path, ["rationale"]) for cell in rows.columns["rationale"]]
        texts = self.texts(split, index)
        rows = [int(tokenized.rows[i]) for i in index]
        return [_characters(text, spans[row], f"{path}: row {row + 1}") for text, row in zip(texts, rows, strict=True)]


def _characters(text: str, spans: Any, place: str) -> list[tuple[int, int]]:
    """Convert spans of the tokens of a text to spans of its characters."""
    tokens = [match.span() for match in re.finditer(r"\S+", text)]
    try:
        bounds = [(span["start"], span["end"]) for span in spans]
        if not all(0 <= start <= end <= len(tokens) for start, end in bounds):
            raise IndexError
        return [(tokens[start][0], tokens[end - 1][1]) for start, end in bounds if start < end]
    except (IndexError, KeyError, TypeError):
        raise UserError(
            f"{place}: the column 'rationale' must contain spans {{start, end}} with 0 ≤ start ≤ end ≤ "
            f"{len(tokens):,}, the number of tokens of the text"
        ) from None
