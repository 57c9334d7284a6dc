"""What is found below a folder, and what is said of the rest."""

import json
from pathlib import Path

import numpy as np
import pytest

from src.comparison.runs import find_runs
from src.errors import UserError
from tests.comparison.runs import answers, write_run

LABELS = np.array([0, 1, 1, 0, 1])
RIGHT = answers(LABELS, np.array([True, True, False, True, True]))


def test_finds_runs_at_any_depth_once(tmp_path: Path) -> None:
    for name in ("a", "deep/within/b", "deep/c"):
        write_run(tmp_path / name, RIGHT, LABELS, seed=3)
    runs, failed = find_runs([tmp_path, tmp_path / "deep", tmp_path / "a"])
    assert [run.folder.name for run in runs] == ["a", "c", "b"]
    assert not failed
    assert runs[0].seed == 3
    assert runs[0].choices["encoder"] == "lstm"
    held = runs[0].predictions()
    assert held.labels.tolist() == LABELS.tolist()
    assert held.index.tolist() == [0, 1, 2, 3, 4]
    assert (held.probabilities.argmax(1) == LABELS).mean() == pytest.approx(0.8)


def test_whatever_is_not_compared_is_named_with_its_reason(tmp_path: Path) -> None:
    write_run(tmp_path / "good", RIGHT, LABELS)
    write_run(tmp_path / "oom", RIGHT, LABELS, result={"status": "failed", "error": "OutOfMemoryError: 3 GiB"})
    write_run(tmp_path / "stopped", RIGHT, LABELS, result={"status": "interrupted", "error": "stopped by SIGTERM"})
    (write_run(tmp_path / "killed", RIGHT, LABELS) / "result.json").unlink()
    (write_run(tmp_path / "damaged", RIGHT, LABELS) / "result.json").write_text('{"status": "compl')
    (write_run(tmp_path / "list", RIGHT, LABELS) / "result.json").write_text("[1]")
    (write_run(tmp_path / "untested", RIGHT, LABELS) / "predictions" / "test.npz").unlink()
    (write_run(tmp_path / "torn", RIGHT, LABELS) / "predictions" / "test.npz").write_bytes(b"PK")
    (write_run(tmp_path / "bare", RIGHT, LABELS) / "config.yaml").unlink()
    (write_run(tmp_path / "eval", RIGHT, LABELS) / "config.yaml").write_text("seed: 0\n")
    old = write_run(tmp_path / "old", RIGHT, LABELS) / "result.json"
    old.write_text(json.dumps({"status": "completed"}))
    runs, failed = find_runs([tmp_path])
    assert [run.folder.name for run in runs] == ["good"]
    said = {one.folder.name: (one.status, one.error) for one in failed}
    assert said["oom"] == ("failed", "OutOfMemoryError: 3 GiB")
    assert said["stopped"] == ("interrupted", "stopped by SIGTERM")
    assert said["killed"][0] == "unfinished"
    assert "test=true" in said["untested"][1]
    assert "evaluation" in said["eval"][1]
    assert "lacks seed, choices" in said["old"][1]
    for name, file in {"damaged": "result.json", "list": "result.json", "torn": "test.npz", "bare": "config"}.items():
        assert said[name][0] == "unreadable"
        assert file in said[name][1]
        assert "\n" not in said[name][1]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere: no such folder"):
        find_runs([tmp_path, tmp_path / "nowhere"])


def test_no_finished_run_says_why(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no finished run below"):
        find_runs([tmp_path])
    write_run(tmp_path / "a", RIGHT, LABELS, result={"status": "failed", "error": "ValueError: no"})
    with pytest.raises(UserError, match="a: failed: ValueError: no"):
        find_runs([tmp_path])
