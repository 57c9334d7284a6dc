"""Bundled word vectors, and word vectors of files."""

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest

from heedful.base.errors import UserError
from heedful.models.embedding.glove import read_glove

LINES = ["the 0.5 -1 2e-1", "film 1 2 3", ". . 4 5 6", "don't 7 8 9", "film 0 0 0"]


def write_vectors(tmp_path: Path, lines: list[str]) -> str:
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("lines", "requested", "found"),
    [
        (LINES, ["don't", "film", "absent"], {"film": [1, 2, 3], "don't": [7, 8, 9]}),  # in the order of the file
        (LINES, [". ."], {". .": [4, 5, 6]}),  # a word may contain spaces
        (LINES, ["."], {}),
        (["e\u0301 4 5 6", "\xe9 1 2 3", "o\u0302 7 8 9"], ["\xf4", "\xe9"], {"\xe9": [1, 2, 3], "\xf4": [7, 8, 9]}),
        (["2 3", *LINES[:2]], ["the", "2"], {"the": [0.5, -1, 0.2]}),  # the header of word2vec is not a word
    ],
)
def test_only_requested_words_are_read(
    tmp_path: Path, lines: list[str], requested: list[str], found: dict[str, list[float]]
) -> None:
    words, vectors = read_glove(write_vectors(tmp_path, lines), requested)
    assert words == list(found)
    np.testing.assert_array_equal(vectors, np.array([*found.values()], dtype=np.float32).reshape(-1, 3))


def test_a_zip_of_one_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "vectors.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/vectors.txt", "\n".join(LINES))
    assert read_glove(str(path), ["film"])[1].tolist() == [[1, 2, 3]]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("other.txt", "x 1")
    with pytest.raises(UserError, match=r"vectors\.zip: is not a zip file of one text file"):
        read_glove(str(path), ["film"])


def test_a_file_compressed_with_gzip_is_read(tmp_path: Path) -> None:
    path = tmp_path / "vectors.vec.gz"
    path.write_bytes(gzip.compress("\n".join(LINES).encode()))
    assert read_glove(str(path), ["film"])[1].tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["the 1 2 3", "film 1 2"], "line 2: this is not a word followed by 3 numbers"),
        (["the 1 2 3", "film 1 two 3"], "line 2: could not convert string to float"),
        (["the 1 2 3", "film 1 1e99 3"], "line 2: a number is not finite"),
        (["the", "film"], "line 1: this is not a word followed by its numbers"),
        ([], r"vectors\.txt: the file is empty"),
    ],
)
def test_a_malformed_line_is_reported(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_glove(write_vectors(tmp_path, lines), ["film"])


def test_a_zip_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "vectors.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vectors.txt", "\n".join(LINES * 101))
    content = bytearray(path.read_bytes())
    content[60:73] = b"\xaa" * 13
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"vectors\.zip: is not a zip file of one text file"):
        read_glove(str(path), ["film"])
