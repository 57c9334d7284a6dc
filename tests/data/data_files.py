"""Functions that write small data files and read their examples."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from src.data.examples import Examples, select_examples
from src.data.readers import read_chunks
from src.data.rows import Rows, join_rows


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_rows(path: Path, columns: Sequence[str] | None, delimiter: str | None = None) -> Rows:
    return join_rows(read_chunks(path, columns, delimiter))


def read_examples(path: Path, on_bad_rows: str = "error") -> Examples:
    return select_examples(read_chunks(path, ("text", "label")), "text", "label", on_bad_rows, path.parent)


def write_parquet(path: Path, text: Any, label: Any) -> Path:
    pq.write_table(pa.table({"text": text, "label": label}), path)
    return path
