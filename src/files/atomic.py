"""Write files atomically."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file in the same folder; after the block, this file replaces `path`.

    A reader sees either the previous file or the complete new file. After an exception in the block, the previous file
    is unchanged, and the temporary file is removed. Only one process at a time may write to `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
