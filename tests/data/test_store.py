"""The cache: folders that are built once, and rebuilt if they are damaged."""

import resource
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from heedful.base.errors import UserError
from heedful.data import store
from heedful.data.corpus import TokenizedSplit
from heedful.data.store import CHECKSUMS, code_version, load_or_build
from tests.forks import server

NUMBERS = np.arange(2003, dtype=np.int32)


def build(folder: Path) -> None:
    np.save(folder / "numbers.npy", NUMBERS)


def refuse_build(folder: Path) -> None:
    raise AssertionError("built again")


def read(folder: Path) -> list[int]:
    numbers = np.load(folder / "numbers.npy", mmap_mode="c")
    return numbers.tolist()


def test_an_entry_is_built_once_and_read_without_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new" / "key"
    assert load_or_build(path, read, build) == NUMBERS.tolist()
    monkeypatch.setattr(store.filelock, "FileLock", pytest.fail)
    assert load_or_build(path, read, refuse_build) == NUMBERS.tolist()


@pytest.mark.parametrize("name", ["numbers.npy", CHECKSUMS])
@pytest.mark.parametrize("damage", ["truncated", "empty", "other", "byte", "missing", "file", "dangling"])
def test_a_damaged_or_foreign_entry_is_rebuilt(tmp_path, damage: str, name: str, caplog) -> None:
    path = tmp_path / "key"
    load_or_build(path, read, build)
    file = path / name
    if damage in ("file", "dangling"):
        shutil.rmtree(path)
        path.touch() if damage == "file" else path.symlink_to("gone")
    elif damage == "missing":
        file.unlink()
    else:
        content = file.read_bytes()
        flipped = content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]
        damaged = {"truncated": content[:-1], "empty": b"", "other": b"PK" * 99, "byte": flipped}
        file.write_bytes(damaged[damage])
    assert load_or_build(path, read, build) == NUMBERS.tolist()
    assert len(caplog.messages) == 1 and "damaged" in caplog.text
    assert load_or_build(path, read, refuse_build) == NUMBERS.tolist()


def test_a_failed_build_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        load_or_build(tmp_path / "key", read, refuse_build)
    assert [path.name for path in tmp_path.iterdir()] == ["key.lock"]
    assert load_or_build(tmp_path / "key", read, build) == NUMBERS.tolist()


def test_a_full_disk_is_reported_with_the_folder(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1009, hard))
    try:
        with pytest.raises(UserError, match=f"data.cache_dir={tmp_path}: .*choose another folder"):
            load_or_build(tmp_path / "key", read, build)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["key.lock"]


def slow_job(folder: Path) -> None:
    def slow_build(part: Path) -> None:
        with (folder / "builds").open("a") as file:
            file.write("x")
        time.sleep(0.3)
        build(part)

    assert load_or_build(folder / "key", read, slow_build) == NUMBERS.tolist()


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
