"""Paths of a user."""

from pathlib import Path

import pytest

from src.data.files import existing_file
from src.data.paths import existing_path
from src.errors import UserError


def test_a_relative_path_starts_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").touch()
    monkeypatch.chdir(tmp_path)
    assert existing_path("a.csv", "data.path") == tmp_path / "a.csv"


def test_a_missing_file_is_reported_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").touch()
    with pytest.raises(UserError, match=r"data\.path=.*did you mean 'reviews\.csv'"):
        existing_path(tmp_path / "review.csv", "data.path")


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no 'a\.csv' in .*nowhere"):
        existing_path(tmp_path / "nowhere" / "a.csv", "data.path")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "is not a path"),
        ("a\0b", "is not a path"),
        ("~nobody-of-this-name/a.csv", "no such home folder"),
        ("a" * 300, "cannot be read .*too long"),
        ("reviews.csv/a.csv", "there is no 'a.csv' in .*reviews.csv"),
    ],
)
def test_invalid_paths_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str) -> None:
    (tmp_path / "reviews.csv").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=rf"data\.path=.*{message}"):
        existing_path(path, "data.path")


def test_a_path_may_start_at_home_and_end_with_a_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert existing_file("~/a.csv/", "data.path") == tmp_path / "a.csv"
