"""Write the arrays of an .npz file so that they can be mapped into memory, and map them."""

import mmap
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from src.files import require_checksums

ALIGNMENT = 64  # bytes
HEADER = 30  # bytes; the fixed part of the header of a zip member
ZIP64_FIELD = 20  # bytes
EMPTY_FIELD = 4  # bytes; an extra field without content
PADDING_FIELD = 0xD935  # the registered ID of padding fields in zip files


def write_arrays(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Write an .npz file whose arrays are uncompressed and aligned, so that they can be mapped into memory.

    Raises:
        OSError: if the file cannot be written.
    """
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            padding = -(file.tell() + HEADER + len(member.filename) + EMPTY_FIELD + ZIP64_FIELD) % ALIGNMENT
            member.extra = struct.pack("<HH", PADDING_FIELD, padding) + bytes(padding)
            with archive.open(member, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def map_arrays(path: Path) -> dict[str, np.ndarray]:
    """Verify the checksums of an .npz file, map it into memory, and return its arrays by name.

    Changes to the arrays are not written to the file.

    Raises:
        OSError: if the file cannot be opened.
        ValueError: if the file is damaged or cannot be read, or an array is compressed, unaligned, not one-dimensional
            or not of integers.
    """
    with path.open("rb") as file:
        try:
            require_checksums(file)
            with zipfile.ZipFile(file) as archive:
                members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            return {name: _map_array(file, content, member) for name, member in members.items()}
        except Exception as error:  # zipfile, zlib and NumPy raise many types for a damaged file
            raise ValueError(f"is damaged: {error or type(error).__name__}") from error


def _map_array(file: IO[bytes], content: mmap.mmap, member: zipfile.ZipInfo) -> np.ndarray:
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{member.filename!r} is compressed")
    file.seek(member.header_offset)
    lengths = struct.unpack("<26x2H", file.read(HEADER))  # of the name and the extra fields
    file.seek(member.header_offset + HEADER + sum(lengths))
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if len(shape) != 1 or dtype.kind not in "iu" or file.tell() % dtype.itemsize:
        raise ValueError(f"{member.filename!r} is not a flat, aligned array of integers")
    return np.frombuffer(content, dtype, shape[0], file.tell())
