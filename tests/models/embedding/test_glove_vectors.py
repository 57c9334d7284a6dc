"""Bundled word vectors, and word vectors of files."""

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest

from src.errors import UserError
from src.models.embedding.glove import read_glove

LINES = ["the 0.5 -1 2e-1", "film 1 2 3", ". . 4 5 6", "don't 7 8 9", "film 0 0 0"]


def write_vectors(tmp_path: Path, lines: list[str]) -> str:
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return str(path)


def test_only_requested_words_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    words, vectors = read_glove(write_vectors(tmp_path, LINES), ["don't", "film", "absent"])
    assert words == ["film", "don't"]
    np.testing.assert_array_equal(vectors, np.array([[1, 2, 3], [7, 8, 9]], dtype=np.float32))


def test_a_word_may_contain_spaces(tmp_path: Path) -> None:
    words, vectors = read_glove(write_vectors(tmp_path, LINES), [". ."])
    assert (words, vectors.tolist()) == ([". ."], [[4, 5, 6]])
    assert read_glove(write_vectors(tmp_path, LINES), ["."])[0] == []


def test_the_header_of_word2vec_is_not_a_word(tmp_path: Path) -> None:
    words, vectors = read_glove(write_vectors(tmp_path, ["2 3", *LINES[:2]]), ["the", "2"])
    assert words == ["the"]
    np.testing.assert_array_equal(vectors, np.array([[0.5, -1, 0.2]], dtype=np.float32))


def test_without_a_known_word_there_are_no_rows(tmp_path: Path) -> None:
    words, vectors = read_glove(write_vectors(tmp_path, LINES), ["absent"])
    assert (words, vectors.shape) == ([], (0, 3))


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
