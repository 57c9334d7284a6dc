"""Paths in a configuration become absolute, and output paths on a command line are checked without creating them."""

from pathlib import Path

import pytest

from src.config.paths import can_be_written, require_folder_name, require_relative_path
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
    assert list(find_mistakes("task_name=../../x", "hydra.run.dir=other")) == ["task_name=../../x"]
    assert list(tmp_path.iterdir()) == [tmp_path / "run"]


def test_files_cannot_be_created_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not can_be_written(tmp_path / "file" / "below")
    assert can_be_written(tmp_path / "new" / "folder")
    assert not (tmp_path / "new").exists()
