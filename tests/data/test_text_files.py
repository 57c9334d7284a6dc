"""Opening and hashing of files."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from heedful.base.errors import UserError
from heedful.data.text_files import content_hash, existing_path


def test_a_hash_depends_on_contents_and_not_on_names(tmp_path: Path) -> None:
    for name, content in (("a", "xy"), ("b", "xy"), ("c", "x"), ("d", "yx")):
        (tmp_path / name).write_text(content)
    a, b, c, d = (tmp_path / name for name in "abcd")
    assert content_hash([a]) == content_hash([b])
    assert len({content_hash(files) for files in ([a], [c], [d], [a, c], [c, a], [])}) == 6


OTHER = "is a folder, device, pipe or socket; set the path of a file"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkfifo, OTHER),
        (os.mkdir, OTHER),
        (lambda path: path.symlink_to("/dev/zero"), OTHER),
        (lambda path: path.symlink_to("a.csv"), "cannot be read .*symbolic links"),
        (lambda path: path.symlink_to("gone.csv"), "there is no 'a.csv' in"),
    ],
)
def test_only_regular_files_are_opened(tmp_path: Path, make: Callable[[Path], object], message: str) -> None:
    make(tmp_path / "a.csv")
    with pytest.raises(UserError, match=rf"a\.csv: {message}"):
        content_hash([existing_path(tmp_path / "a.csv", "data.path")])


def test_a_file_without_permission_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x")

    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UserError, match=r"a\.csv: cannot be read \(Permission denied\)"):
        content_hash([path])
    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(UserError, match=r"data\.path=.*cannot be read \(Permission denied\)"):
        existing_path(path, "data.path")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "is not a path"),
        ("a\0b", "is not a path"),
        ("~nobody-of-this-name/a.csv", "is not a path"),
        ("a" * 300, "cannot be read .*too long"),
        ("s3://reviews/a.csv", "is an address"),
        ("review.csv", "there is no 'review.csv' in .*did you mean reviews.csv"),
        ("nowhere/a.csv", "there is no 'a.csv' in .*nowhere"),
        ("reviews.csv/a.csv", "there is no 'a.csv' in .*reviews.csv"),
    ],
)
def test_invalid_paths_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str) -> None:
    (tmp_path / "reviews.csv").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=rf"data\.path=.*{message}"):
        existing_path(path, "data.path")


@pytest.mark.parametrize("path", ["a.csv", "~/a.csv/"])
def test_a_path_may_be_relative_start_at_home_or_end_with_a_slash(tmp_path, monkeypatch, path: str) -> None:
    (tmp_path / "a.csv").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert existing_path(path, "data.path") == tmp_path / "a.csv"
