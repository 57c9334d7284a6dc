"""Paths in a configuration become absolute, and output paths on a command line are checked without creating them."""

from pathlib import Path

import pytest

from src.config.paths import require_folder_name, require_relative_path, unwritable_reason
from tests.config.conftest import FindMistakes

LONG = "x" * 300


@pytest.mark.parametrize("name", ["", " ", ".", "..", "../../x", "a/b", "/tmp/x", "a\\b", "a\nb", "a\0b", LONG])
def test_a_name_of_a_folder_is_one_plain_name(name: str) -> None:
    with pytest.raises(ValueError):
        require_folder_name(name)
    assert require_folder_name("näme 1") == "näme 1"


@pytest.mark.parametrize("path", ["", "..", "../../x", "a/../../x", "/tmp/x", "a\nb", "a\0b", LONG, f"a/{LONG}"])
def test_a_relative_path_stays_inside_its_folder(path: str) -> None:
    with pytest.raises(ValueError):
        require_relative_path(path)
    assert [require_relative_path(valid) for valid in ("best", "{epoch}-{step}", "a/b", "..a")]


def test_output_paths_on_the_command_line_are_checked(
    find_mistakes: FindMistakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").touch()  # a file; no mistake if the run has another folder
    assert find_mistakes("hydra.run.dir=other") == {}
    assert list(find_mistakes("hydra.run.dir=")) == ["hydra.run.dir="]
    assert list(find_mistakes("hydra.run.dir=run/x")) == ["hydra.run.dir=run/x"]
    assert list(find_mistakes("hydra.sweep.dir=", "seed=1,2", sweeps=True)) == ["hydra.sweep.dir="]
    assert list(find_mistakes("task_name=../../x", "hydra.run.dir=other")) == ["task_name=../../x"]
    assert list(tmp_path.iterdir()) == [tmp_path / "run"]


@pytest.mark.parametrize("name", ["file", "file/below", "loop", "", "a\0b"])
def test_an_unwritable_folder_has_a_reason(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert unwritable_reason(f"{tmp_path}/{name}" if name else "")
    assert unwritable_reason(tmp_path / "new" / "folder") is None
    assert not (tmp_path / "new").exists()
