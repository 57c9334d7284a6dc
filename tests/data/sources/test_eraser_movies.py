"""Reviews with human rationales."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from src.data.sources.eraser_movies import EraserMovies
from src.data.sources.sst2 import FILES
from src.errors import UserError


def write(folder: Path, rationales: list[Any]) -> Path:
    """Three files of the same seven reviews."""
    texts = [f"review {i}  is\nvery good , don't miss" for i in range(7)]
    table = {"text": texts, "label": ["positive", "negative"] * 3 + ["positive"], "rationale": rationales}
    for file in FILES.values():
        pq.write_table(pa.table(table), folder / file)
    return folder


def test_spans_of_tokens_become_spans_of_characters(tmp_path: Path, source_options: dict[str, Any]) -> None:
    """The second span is empty, as are 20 spans of the published test split."""
    spans = [{"start": 3, "end": 5}, {"start": 5, "end": 5}, {"start": 6, "end": 7}]
    folder = write(tmp_path, [[], spans, [], spans[:1], [], [], []])
    module = EraserMovies(str(folder), **source_options)
    module.setup()
    rationales = module.rationales("test", [0, 1, 3])
    assert rationales is not None
    (text,) = module.texts("test", [1])
    assert [[text[start:stop] for start, stop in marks] for marks in rationales] == [
        [],
        ["very good", "don't"],
        ["very good"],
    ]


@pytest.mark.parametrize(
    "span", [{"start": 3, "end": 99}, {"start": 99, "end": 100}, {"start": -2, "end": 3}, {"start": 4, "end": 3}]
)
def test_a_span_beyond_the_text_is_reported(
    span: dict[str, int], tmp_path: Path, source_options: dict[str, Any]
) -> None:
    module = EraserMovies(str(write(tmp_path, [[span]] * 7)), **source_options)
    module.setup()
    with pytest.raises(UserError, match=r"test.parquet: row 3: the column 'rationale' must contain .* end ≤ 8"):
        module.rationales("test", [2])


def test_a_missing_column_is_reported(tmp_path: Path, source_options: dict[str, Any]) -> None:
    write(tmp_path, [[{"start": 0, "end": 1}]] * 7)
    table = pq.read_table(tmp_path / "test.parquet").drop_columns(["rationale"])
    pq.write_table(table, tmp_path / "test.parquet")
    module = EraserMovies(str(tmp_path), **source_options)
    module.setup()
    with pytest.raises(UserError, match="rationale"):
        module.rationales("test", [0])
