"""Read and verify the arrays of an .npz file."""

import zipfile
from pathlib import Path

import numpy as np


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays by name, after a check of their checksums.

    NumPy skips the checksum if the header of an array gives a shorter length.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is damaged.
    """
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                if (damaged := archive.testzip()) is not None:
                    raise zipfile.BadZipFile(f"the checksum of {damaged!r} does not match")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        except Exception as error:  # zipfile, zlib and NumPy raise many kinds for a damaged file
            raise ValueError(f"is damaged: {error or type(error).__name__}") from error
