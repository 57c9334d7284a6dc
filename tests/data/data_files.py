"""Functions that write small data files and read their rows."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from heedful.data.source import Source
from heedful.data.tables import TableFile


def ready(source: Source) -> Source:
    """Read the texts of a source, and divide and tokenize them."""
    source.setup()
    return source


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_parquet(path: Path, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def read_columns(path: Path, *names: str, others: bool = False, **options: Any) -> dict[str, list[Any]]:
    """Read a file, and join its chunks."""
    chunks = list(TableFile(path, names, others, **options).read())
    columns = dict.fromkeys(name for rows in chunks for name in rows.columns)
    return {name: [value for rows in chunks for value in rows.cells(name)] for name in columns}


def read_texts(path: Path) -> list[tuple[str, str]]:
    """Return the columns `text` and `label` of each row as strings."""
    chunks = TableFile(path, ("text", "label")).read()
    return [pair for rows in chunks for pair in zip(rows.texts("text"), rows.texts("label"), strict=True)]
