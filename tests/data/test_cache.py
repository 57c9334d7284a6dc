"""The cache of tokenized data sets."""

import errno
import os
import re
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
from tests.forks import server


def make_corpus(seed: int = 0) -> TokenizedCorpus:
    rng = np.random.default_rng(seed)

    def make_split(n: int, origin: str) -> TokenizedSplit:
        lengths = rng.integers(0, 9, n)
        return TokenizedSplit(
            rng.integers(1, 99, lengths.sum(), dtype=np.int32),
            np.concatenate([[0], lengths.cumsum()]),
            rng.integers(0, 2, n),
            rng.permutation(n),
            rng.integers(0, 99, n),
            rng.integers(0, 9, 99),
            origin,
        )

    splits = {"train": make_split(31, "train"), "val": make_split(7, "train"), "test": make_split(11, "test")}
    return TokenizedCorpus(splits, '{"né": 1}', ("bad", "größer"))


def are_equal(first: TokenizedCorpus, second: TokenizedCorpus) -> bool:
    metadata = all(getattr(first, name) == getattr(second, name) for name in ("tokenizer", "class_names"))
    arrays = all(
        np.array_equal(getattr(first.splits[split], name), getattr(second.splits[split], name))
        and first.splits[split].origin == second.splits[split].origin
        for split in ("train", "val", "test")
        for name in ("tokens", "offsets", "labels", "rows", "digests", "counts")
    )
    return metadata and arrays


def refuse_build() -> TokenizedCorpus:
    raise AssertionError("built again")


def load(folder: Path, key: str, build: Callable[[], TokenizedCorpus]) -> TokenizedCorpus:
    return load_or_build(folder, key, build, lambda _: f"{key} as trained")


def test_an_entry_is_also_read_under_its_alias(tmp_path: Path) -> None:
    load(tmp_path, "key", make_corpus)
    assert are_equal(load(tmp_path, "key as trained", refuse_build), make_corpus())


def test_an_entry_is_built_once(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert are_equal(load(folder, "key", make_corpus), make_corpus())
    assert are_equal(load(folder, "key", refuse_build), make_corpus())


def test_each_key_has_a_separate_entry(tmp_path: Path) -> None:
    load(tmp_path, "first", make_corpus)
    assert are_equal(load(tmp_path, "second", lambda: make_corpus(1)), make_corpus(1))


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "other"])
def test_a_damaged_file_is_rebuilt(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    load(tmp_path, "key", make_corpus)
    path = tmp_path / "key.npz"
    content = path.read_bytes()
    start = content.find(make_corpus().splits["train"].tokens.tobytes())
    assert start > 0
    damaged_content = {
        "truncate": content[: len(content) // 2],
        "flip": content[:start] + bytes([content[start] ^ 255]) + content[start + 1 :],
        "empty": b"",
        "other": b"not a zip file at all",
    }
    path.write_bytes(damaged_content[damage])
    assert are_equal(load(tmp_path, "key", make_corpus), make_corpus())
    assert "damaged" in caplog.text
    assert are_equal(load(tmp_path, "key", refuse_build), make_corpus())


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove"])
def test_a_damaged_byte_never_changes_the_data(tmp_path: Path, damage: str) -> None:
    """Bytes that no checksum covers, such as dates, change nothing."""
    load(tmp_path, "key", make_corpus)
    path, rebuilt = tmp_path / "key.npz", 0
    content = path.read_bytes()
    size = len(content)
    positions = [*range(0, size, 43), *range(size - 22, size)]  # every byte at the end of the zip directory
    for i in positions:
        tails = {"flip": bytes([content[i] ^ 0x81]) + content[i + 1 :], "truncate": b"", "remove": content[i + 1 :]}
        path.write_bytes(content[:i] + tails[damage])
        corpus = cache._read(path)
        rebuilt += corpus is None
        assert corpus is None or are_equal(corpus, make_corpus())
    assert rebuilt > len(positions) / 2 if damage == "flip" else rebuilt == len(positions)


def test_a_failed_build_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        load(tmp_path, "key", refuse_build)
    assert are_equal(load(tmp_path, "key", make_corpus), make_corpus())


def test_a_full_disk_is_reported_with_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_disk_full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", raise_disk_full)
    with pytest.raises(UserError, match=f"data.cache_dir={tmp_path}: .*No space left"):
        load(tmp_path, "key", make_corpus)
    assert not list(tmp_path.glob("*.npz")) and not list(tmp_path.glob("*.part"))


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"data\.cache_dir"):
        load(tmp_path / "file", "key", make_corpus)


def test_an_error_of_the_source_passes_unchanged(tmp_path: Path) -> None:
    def unreadable() -> TokenizedCorpus:
        raise PermissionError("the source")

    with pytest.raises(PermissionError, match="the source"):
        load(tmp_path, "key", unreadable)


def slow_job(folder: Path) -> None:
    def build() -> TokenizedCorpus:
        with (folder / "builds").open("a") as file:
            file.write("x")
        time.sleep(0.3)
        return make_corpus()

    assert are_equal(load(folder, "key", build), make_corpus())


def test_parallel_jobs_build_once(tmp_path: Path) -> None:
    jobs = [server().Process(target=slow_job, args=(tmp_path,)) for _ in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0, 0]
    assert (tmp_path / "builds").read_text() == "x"


def test_the_code_version_depends_on_the_module_of_a_user() -> None:
    assert code_version() == code_version()
    assert code_version(Path) != code_version()
    assert code_version(TokenizedSplit) == code_version()  # its module belongs to this package, and is already included


@pytest.mark.parametrize("name", ["key.lock", "key.npz"])
def test_a_folder_in_place_of_a_file_is_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(UserError, match=rf"data\.cache_dir={tmp_path}: .*Is a directory: .*/{re.escape(name)}"):
        load(tmp_path, "key", make_corpus)
    assert not [path for path in tmp_path.iterdir() if path.is_file() and path.suffix != ".lock"]


def test_a_file_above_the_size_limit_leaves_no_file(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1009, hard))
    try:
        with pytest.raises(UserError, match=f"data.cache_dir={tmp_path}: .*File too large"):
            load(tmp_path, "key", make_corpus)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["key.lock"]
    assert are_equal(load(tmp_path, "key", make_corpus), make_corpus())


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_an_unwritable_folder_is_reported_before_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(cache.filelock.FileLock, "acquire", refuse)
    with pytest.raises(UserError, match=f"data.cache_dir={tmp_path}: .*{os.strerror(code)}"):
        load(tmp_path, "key", refuse_build)


def test_an_entry_is_read_without_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tmp_path, "key", make_corpus)
    monkeypatch.setattr(cache.filelock, "FileLock", pytest.fail)
    assert are_equal(load(tmp_path, "key", refuse_build), make_corpus())


def test_a_folder_name_that_is_too_long_is_reported_without_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(UserError, match="File name too long"):
        load(tmp_path / ("a" * 300), "key", refuse_build)
    assert not caplog.text
