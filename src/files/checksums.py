"""Checksums of the zip files in which NumPy and torch store arrays and checkpoints."""

import zipfile
from pathlib import Path
from typing import IO


def require_checksums(file: Path | IO[bytes]) -> None:
    """Check the CRCs of a zip file. NumPy and torch do not always check them, and would load flipped bits.

    Raises:
        Exception: if the file is damaged; zipfile and zlib raise many types.
    """
    with zipfile.ZipFile(file) as archive:
        if (damaged := archive.testzip()) is not None:
            raise zipfile.BadZipFile(f"the checksum of {damaged!r} does not match")
