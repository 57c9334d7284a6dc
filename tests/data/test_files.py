"""Paths as users write them."""

import errno
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from src.data.files import content_hash, existing_file, read_text
from src.data.listing import listed
from src.data.paths import existing_path
from src.data.utf8 import decode
from src.errors import UserError


def test_a_relative_path_starts_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").touch()
    monkeypatch.chdir(tmp_path)
    assert existing_path("a.csv", "data.path") == tmp_path / "a.csv"


def test_a_missing_file_is_explained_by_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").touch()
    with pytest.raises(UserError, match=r"data\.path=.*did you mean 'reviews\.csv'"):
        existing_path(tmp_path / "review.csv", "data.path")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no folder .*nowhere"):
        existing_path(tmp_path / "nowhere" / "a.csv", "data.path")


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


@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "loop", "dangling", "folder"])
def test_only_regular_files_are_opened(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.csv"
    with closing(socket.socket(socket.AF_UNIX)) as unix:
        make: dict[str, tuple[Callable[[], object], str]] = {
            "pipe": (lambda: os.mkfifo(path), "is a named pipe, not a file"),
            "device": (lambda: path.symlink_to("/dev/zero"), "is a device, not a file"),
            "socket": (lambda: unix.bind(str(path)), "is a socket, not a file"),
            "loop": (lambda: path.symlink_to("a.csv"), "cannot be read .*symbolic links"),
            "dangling": (lambda: path.symlink_to("gone.csv"), "is a link to gone.csv, which does not exist"),
            "folder": (path.mkdir, "is a folder, not a file"),
        }
        make[kind][0]()
        with pytest.raises(UserError, match=rf"data\.path=.*a\.csv: {make[kind][1]}"):
            existing_file(path, "data.path")
        with pytest.raises(UserError, match=r"a\.csv: "):
            content_hash([path])


def test_a_pipe_is_read_where_the_caller_allows_it(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as writer:
        writer.submit(path.write_text, "good\n")
        assert read_text(path, pipes=True) == "good\n"


def test_a_file_without_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x")

    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UserError, match=r"data\.path=.*a\.csv: cannot be read \(Permission denied\)"):
        existing_file(path, "data.path")
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
        ("~nobody-of-this-name/a.csv", "no such home folder"),
        ("a" * 300, "cannot be read .*too long"),
        ("reviews.csv/a.csv", "reviews.csv is a file, not a folder"),
    ],
)
def test_paths_that_are_none_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str
) -> None:
    (tmp_path / "reviews.csv").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=rf"data\.path=.*{message}"):
        existing_path(path, "data.path")


def test_a_path_may_start_at_home_and_end_with_a_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert existing_file("~/a.csv/", "data.path") == tmp_path / "a.csv"


TEXT = "text,label\ngood film,pos\nbad film,neg\n"
SPARSE = "这是一部非常好的电影 我很喜欢它\n" * 3  # few ASCII characters, and one whose code ends with a zero byte


@pytest.mark.parametrize("text", [TEXT, SPARSE])
@pytest.mark.parametrize(
    ("encoding", "mark", "name"),
    [
        ("utf-16-le", b"\xff\xfe", "UTF-16"),
        ("utf-16-be", b"\xfe\xff", "UTF-16"),
        ("utf-32-le", b"\xff\xfe\0\0", "UTF-32"),
        ("utf-32-be", b"\0\0\xfe\xff", "UTF-32"),
        ("utf-16-le", b"", "UTF-16LE"),
        ("utf-16-be", b"", "UTF-16BE"),
        ("utf-32-le", b"", "UTF-32LE"),
        ("utf-32-be", b"", "UTF-32BE"),
    ],
)
def test_the_encoding_that_zero_bytes_show_is_named(text: str, encoding: str, mark: bytes, name: str) -> None:
    with pytest.raises(UserError, match=f"^a.csv: is {name} text; .*iconv -f {name} -t UTF-8"):
        decode(mark + text.encode(encoding), "a.csv")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"text\na\0b\n", r"byte 6 \(line 2\) is zero"),
        (b"ab\0\t1\n", r"byte 2 \(line 1\) is zero"),
        (b"PK\3\4\x14\0\0\0\x08\0" + bytes(range(256)), r"byte 5 \(line 1\) is zero"),
        (bytes(1000), r"byte 0 \(line 1\) is zero"),
        ("text\ncafé\n".encode("cp1252"), r"byte 8 \(line 2\) is not UTF-8; .*WINDOWS-1252"),
    ],
)
def test_bytes_that_are_no_text_are_placed(data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=f"^a.csv: {message}"):
        decode(data, "a.csv")


def test_utf8_needs_no_mark_and_may_have_one() -> None:
    assert decode(SPARSE.encode(), "a.csv") == decode(b"\xef\xbb\xbf" + SPARSE.encode(), "a.csv") == SPARSE


def test_long_lists_are_counted_and_long_values_cut() -> None:
    assert listed(["a"]) == "'a'"
    assert listed(list(range(20_000))) == "0, 1, 2, 3, 4 and 19,995 more"
    assert len(listed(["x" * 10**6, {"a": "y" * 10**6}])) < 100
    assert listed(["a", "b\n"], plain=True) == r"a, b\n"
