"""Reading the arrays of an .npz file, all or none."""

import zipfile
from pathlib import Path

import numpy as np


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays by their names.

    NumPy alone stops where an array's own header says that it ends, and then checks no checksum.

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
