"""The cache of tokenized data."""

import errno
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from src.data import cache
from src.data.cache import code_version, load_or_build
from src.data.tokenized import TokenizedCorpus, TokenizedSplit
from src.errors import UserError


def data(seed: int = 0) -> TokenizedCorpus:
    rng = np.random.default_rng(seed)

    def part(n: int, origin: str) -> TokenizedSplit:
        lengths = rng.integers(0, 9, n)
        return TokenizedSplit(
            rng.integers(1, 99, lengths.sum(), dtype=np.int32),
            np.concatenate([[0], lengths.cumsum()]),
            rng.integers(0, 2, n),
            rng.permutation(n),
            origin,
        )

    return TokenizedCorpus(part(31, "train"), part(7, "train"), part(11, "test"), '{"né": 1}', ("bad", "größer"))


def same(one: TokenizedCorpus, other: TokenizedCorpus) -> bool:
    facts = all(getattr(one, name) == getattr(other, name) for name in ("tokenizer", "class_names"))
    arrays = all(
        np.array_equal(getattr(getattr(one, split), name), getattr(getattr(other, split), name))
        and getattr(one, split).origin == getattr(other, split).origin
        for split in ("train", "val", "test")
        for name in ("tokens", "offsets", "labels", "rows")
    )
    return facts and arrays


def never() -> TokenizedCorpus:
    raise AssertionError("built again")


def keep(folder: Path, key: str, build: Callable[[], TokenizedCorpus]) -> TokenizedCorpus:
    return load_or_build(folder, key, build, lambda _: f"{key} as trained")


def test_what_was_built_is_found_under_its_other_name_too(tmp_path: Path) -> None:
    keep(tmp_path, "key", data)
    assert same(keep(tmp_path, "key as trained", never), data())


def test_the_second_time_nothing_is_built(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert same(keep(folder, "key", data), data())
    assert same(keep(folder, "key", never), data())


def test_another_key_is_another_entry(tmp_path: Path) -> None:
    keep(tmp_path, "one", data)
    assert same(keep(tmp_path, "other", lambda: data(1)), data(1))


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other"])
def test_a_damaged_file_is_built_anew(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    keep(tmp_path, "key", data)
    path = tmp_path / "key.npz"
    content = path.read_bytes()
    at = content.find(data().train.tokens.tobytes())
    assert at > 0
    wrong = {
        "cut": content[: len(content) // 2],
        "flip": content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :],
        "empty": b"",
        "other": b"not a zip file at all",
    }
    path.write_bytes(wrong[damage])
    assert same(keep(tmp_path, "key", data), data())
    assert "damaged" in caplog.text
    assert same(keep(tmp_path, "key", never), data())


@pytest.mark.parametrize("damage", ["flipped", "cut", "out"])
def test_no_damaged_byte_is_read_as_something_else(tmp_path: Path, damage: str) -> None:
    """Bytes that no checksum covers, such as dates, change nothing."""
    keep(tmp_path, "key", data)
    path, rebuilt = tmp_path / "key.npz", 0
    whole = path.read_bytes()
    places = [*range(0, len(whole), 43), *range(len(whole) - 22, len(whole))]  # the end of the directory: every byte
    for place in places:
        rest = {"flipped": bytes([whole[place] ^ 0x81]) + whole[place + 1 :], "cut": b"", "out": whole[place + 1 :]}
        path.write_bytes(whole[:place] + rest[damage])
        read = cache._read(path)
        rebuilt += read is None
        assert read is None or same(read, data())
    assert rebuilt > len(places) / 2 if damage == "flipped" else rebuilt == len(places)


def test_a_failing_build_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        keep(tmp_path, "key", never)
    assert same(keep(tmp_path, "key", data), data())


def test_a_full_disk_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: object, **_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache.np, "savez", full)
    with pytest.raises(UserError, match=f"data.cache_dir={tmp_path}: .*No space left"):
        keep(tmp_path, "key", data)
    assert not list(tmp_path.glob("*.npz")) and not list(tmp_path.glob("*.tmp"))


def test_a_file_in_the_folders_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"data\.cache_dir"):
        keep(tmp_path / "file", "key", data)


def test_an_error_of_the_source_is_not_blamed_on_the_cache(tmp_path: Path) -> None:
    def unreadable() -> TokenizedCorpus:
        raise PermissionError("the source")

    with pytest.raises(PermissionError, match="the source"):
        keep(tmp_path, "key", unreadable)


def slow_job(folder: Path) -> None:
    def build() -> TokenizedCorpus:
        with (folder / "builds").open("a") as file:
            file.write("x")
        time.sleep(0.3)
        return data()

    assert same(keep(folder, "key", build), data())


def test_parallel_jobs_build_once(tmp_path: Path) -> None:
    jobs = [multiprocessing.get_context("spawn").Process(target=slow_job, args=(tmp_path,)) for _ in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0, 0]
    assert (tmp_path / "builds").read_text() == "x"


def test_the_code_version_follows_a_users_own_module() -> None:
    assert code_version() == code_version()
    assert code_version(Path) != code_version()
    assert code_version(TokenizedSplit) == code_version()  # of this package, so counted already


@pytest.mark.parametrize("suffix", ["lock", "npz", "tmp"])
def test_a_folder_in_a_files_place_is_named(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"key.{suffix}").mkdir()
    with pytest.raises(UserError, match=rf"data\.cache_dir={tmp_path}: .*Is a directory: .*key\.{suffix}"):
        keep(tmp_path, "key", data)
    assert not [path for path in tmp_path.iterdir() if path.is_file() and path.suffix != ".lock"]


def test_a_file_that_grows_too_large_leaves_nothing_behind(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1009, hard))
    try:
        with pytest.raises(UserError, match=f"data.cache_dir={tmp_path}: .*File too large"):
            keep(tmp_path, "key", data)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["key.lock"]
    assert same(keep(tmp_path, "key", data), data())


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_folder_that_cannot_be_written_is_named_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(cache.filelock.FileLock, "acquire", refuse)
    with pytest.raises(UserError, match=f"data.cache_dir={tmp_path}: .*{os.strerror(code)}"):
        keep(tmp_path, "key", never)


def test_a_folder_that_can_only_be_read_still_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(tmp_path, "key", data)
    monkeypatch.setattr(cache.filelock, "FileLock", pytest.fail)
    assert same(keep(tmp_path, "key", never), data())


def test_a_name_that_is_too_long_is_no_damage(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(UserError, match="File name too long"):
        keep(tmp_path / ("a" * 300), "key", never)
    assert not caplog.text
