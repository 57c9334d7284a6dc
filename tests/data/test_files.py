"""Paths as users write them."""

from pathlib import Path

import pytest

from src.data.files import content_hash, existing, existing_file
from src.errors import UserError


def test_a_relative_path_starts_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").touch()
    monkeypatch.chdir(tmp_path)
    assert existing("a.csv", "data.path") == tmp_path / "a.csv"


def test_a_missing_file_is_explained_by_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").touch()
    with pytest.raises(UserError, match=r"data\.path=.*did you mean 'reviews\.csv'"):
        existing(tmp_path / "review.csv", "data.path")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no folder .*nowhere"):
        existing(tmp_path / "nowhere" / "a.csv", "data.path")


def test_a_hash_follows_content_and_not_names(tmp_path: Path) -> None:
    for name, content in (("a", "xy"), ("b", "xy"), ("c", "x"), ("d", "yx")):
        (tmp_path / name).write_text(content)
    a, b, c, d = (tmp_path / name for name in "abcd")
    assert content_hash([a]) == content_hash([b])
    assert len({content_hash(files) for files in ([a], [c], [d], [a, c], [c, a], [])}) == 6


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").touch()
    (tmp_path / "within").mkdir()
    with pytest.raises(UserError, match=r"is a folder, not a file; name one of its files: train\.tsv$"):
        existing_file(tmp_path, "data.path")
    with pytest.raises(UserError, match=r"is a folder, not a file$"):
        existing_file(tmp_path / "within", "data.path")
    assert existing_file(tmp_path / "train.tsv", "data.path") == tmp_path / "train.tsv"
