"""Texts and tokens in temporary files."""

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from src.data.spool import Spool, StoredTexts
from src.errors import UserError

TEXTS = ["good", "", "größer 🙂", "a\nb\0c"]


def test_texts_are_read_by_row(tmp_path: Path) -> None:
    texts = StoredTexts(tmp_path / "new", iter(TEXTS))
    assert texts == TEXTS
    assert texts[2] == "größer 🙂" and texts[-1] == "a\nb\0c" and texts[1:3] == TEXTS[1:3]
    assert texts.take(np.array([3, 0, 3])) == ["a\nb\0c", "good", "a\nb\0c"]
    with pytest.raises(IndexError):
        texts[4]


def test_the_files_have_no_names(tmp_path: Path) -> None:
    texts = StoredTexts(tmp_path, TEXTS)
    assert not list(tmp_path.iterdir())
    assert texts.take(np.array([0])) == ["good"]  # although no file has a name


def test_numbers_are_mapped_as_one_array(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    assert len(spool.array(np.int32)) == 0
    for block in ([3, 5], [], [7]):
        spool.append(np.array(block, dtype=np.int32).tobytes())
    assert spool.array(np.int32).tolist() == [3, 5, 7]


def test_a_full_disk_is_reported_with_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FullFile:
        def write(self, data: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self) -> None: ...

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda dir: FullFile())
    with pytest.raises(UserError, match=rf"data\.cache_dir={tmp_path}: .*No space left.*choose another folder"):
        StoredTexts(tmp_path, TEXTS)
