"""Output paths are validated before a run starts, and the validation leaves no file."""

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from src.config.paths import hydra_output_mistakes, output_mistakes, unwritable_reason
from src.config.plain import plain_values
from tests.config.conftest import FindMistakes

LONG = "x" * 300


def mistakes(cfg: dict[str, Any]) -> dict[str, str]:
    return dict(output_mistakes(plain_values(OmegaConf.create(cfg))))


@pytest.mark.parametrize("name", ["", " ", ".", "..", "../../x", "a/b", "/tmp/x", "a\\b", "a\nb", "a\0b", LONG])
def test_a_task_name_that_is_no_plain_name_is_a_mistake(name: str) -> None:
    assert len(mistakes({"task_name": name})) == 1
    assert len(dict(hydra_output_mistakes(OmegaConf.create({"job": {"name": name}}), sweeps=False))) == 1


@pytest.mark.parametrize("name", ["", "..", "../../x", "a/../../x", "/tmp/x", "a\nb", "a\0b", LONG, f"a/{LONG}"])
def test_a_file_name_that_leaves_its_folder_or_is_invalid_is_a_mistake(name: str) -> None:
    assert len(mistakes({"callbacks": {"best_checkpoint": {"filename": name}}})) == 1
    hydra = OmegaConf.create({"sweep": {"dir": "sweep", "subdir": name}, "output_subdir": name})
    assert set(dict(hydra_output_mistakes(hydra, sweeps=True))) == {
        f"hydra.{key}={shorten(name)}" for key in ("sweep.subdir", "output_subdir")
    }


def shorten(name: str) -> str:
    text = name if all(character >= " " for character in name) else repr(name)
    return text if len(text) <= 60 else f"{text[:59]}…"


@pytest.mark.parametrize("name", ["best", "{epoch}-{step}", "a/b", "..a", "näme", None])
def test_other_names_are_allowed(name: str | None) -> None:
    node = {"callbacks": {"best": {"filename": name}}, "logger": {"csv": {"name": name, "version": ""}}}
    assert mistakes({**node, "task_name": "näme 1", "tags": ["a tag", "x" * 64]}) == {}


def test_two_callbacks_with_the_same_file_are_a_mistake() -> None:
    best = {"dirpath": "a", "filename": "last", "enable_version_counter": False}
    last = {**best, "filename": "./last"}
    rule = "is also the file of callbacks.best: choose another name"
    assert mistakes({"callbacks": {"best": best, "last": last}}) == {"callbacks.last.filename=./last": rule}
    assert mistakes({"callbacks": {"best": best, "last": {**last, "dirpath": "b"}, "none": None}}) == {}
    numbered = {"dirpath": "a", "filename": "last"}  # Lightning appends a number to the name of an existing file
    assert mistakes({"callbacks": {"best": numbered, "last": numbered}}) == {}


@pytest.mark.parametrize("tag", ["", "a\nb", "a\0b", "x" * 65])
def test_a_tag_must_be_one_short_line(tag: str) -> None:
    assert list(mistakes({"tags": ["good", tag]}).values()) == ["must be one line of 1 to 64 characters"]


@pytest.mark.parametrize("option", ["name", "version"])
def test_a_logger_outside_its_folder_is_a_mistake(option: str) -> None:
    assert list(mistakes({"logger": {"csv": {option: "../../x"}}})) == [f"logger.csv.{option}=../../x"]


@pytest.mark.parametrize(
    "key",
    ["paths.output_dir", "callbacks.best.dirpath", "logger.csv.save_dir", "data.cache_dir", "data.path", "pictures"],
)
def test_an_empty_path_is_a_mistake(key: str) -> None:
    cfg = OmegaConf.create()
    OmegaConf.update(cfg, key, "")
    assert list(dict(output_mistakes(plain_values(cfg)))) == [f"{key}="]
    OmegaConf.update(cfg, key, "a\0b")
    assert len(dict(output_mistakes(plain_values(cfg)))) == 1


@pytest.mark.parametrize("name", ["file", "file/below", "loop", f"{LONG}/x"])
@pytest.mark.parametrize("key", ["paths.output_dir", "callbacks.best.dirpath", "logger.csv.save_dir", "pictures"])
def test_a_folder_that_cannot_be_created_is_a_mistake(key: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    cfg = OmegaConf.create()
    OmegaConf.update(cfg, key, f"{tmp_path}/{name}")
    assert [message.partition(" (")[0] for message in dict(output_mistakes(plain_values(cfg))).values()] == [
        "cannot be written to"
    ]
    for sweeps, place in ((False, "run"), (True, "sweep")):
        hydra = OmegaConf.create({place: {"dir": f"{tmp_path}/{name}"}})
        assert len(dict(hydra_output_mistakes(hydra, sweeps=sweeps))) == 1


def test_folders_within_an_unwritable_folder_are_no_further_mistakes(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    save_dir = {"logger": {"csv": {"save_dir": "${paths.output_dir}/csv"}}}
    assert list(mistakes({**save_dir, "paths": {"output_dir": f"{tmp_path}/file"}})) == [
        f"paths.output_dir={shorten(f'{tmp_path}/file')}"
    ]


def test_the_reason_for_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_permission_error(**options: Any) -> None:
        assert options == {"dir": tmp_path}
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("src.config.paths.tempfile.TemporaryFile", raise_permission_error)
    assert unwritable_reason(tmp_path / "new" / "folder") == "Permission denied"


def test_the_check_of_a_writable_folder_creates_nothing(tmp_path: Path) -> None:
    assert unwritable_reason(tmp_path / "new" / "folder") is None
    assert list(tmp_path.iterdir()) == []


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
