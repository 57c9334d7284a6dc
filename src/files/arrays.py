"""Read the arrays of an .npz file, and verify the checksums of zip files."""

import zipfile
from pathlib import Path
from typing import IO

import numpy as np


def require_checksums(file: Path | IO[bytes]) -> None:
    """Check the CRCs of a zip file. NumPy and torch do not always check them, and would load flipped bits.

    Raises:
        Exception: of many kinds, if the file is damaged.
    """
    with zipfile.ZipFile(file) as archive:
        if (damaged := archive.testzip()) is not None:
            raise zipfile.BadZipFile(f"the checksum of {damaged!r} does not match")


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays by name, after a check of their checksums.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is damaged.
    """
    with path.open("rb") as file:
        try:
            require_checksums(file)
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        except Exception as error:  # zipfile, zlib and NumPy raise many kinds for a damaged file
            raise ValueError(f"is damaged: {error or type(error).__name__}") from error
