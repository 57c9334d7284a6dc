"""The process of a job."""

import json
import multiprocessing
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from omegaconf import OmegaConf

from src.sweep import run


def run_task(task: Callable[[Any], None], folder: Path, monkeypatch: pytest.MonkeyPatch) -> int | None:
    """Run a task as a job in a forked process, and return the exit code."""
    module = ModuleType("task_of_a_test")
    module.main = SimpleNamespace(__wrapped__=task)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(run, "COMMAND", module.__name__)
    monkeypatch.setattr(run, "_set_up_process", lambda *args: None)
    for name in ("configure_log", "HydraConfig"):
        monkeypatch.setattr(run, name, Mock())
    node = {"runtime": {"output_dir": str(folder)}, "overrides": {"task": ["seed=3"]}, "run": {}}
    hydra = {"hydra": {**node, "job_logging": {}}}
    cfg = OmegaConf.create({"train": False, "ckpt_path": None, "trainer": {"devices": 1}})
    process = multiprocessing.get_context("fork").Process(target=run.run_job, args=(cfg, hydra, False, {}))
    process.start()
    process.join()
    return process.exitcode


def test_a_job_reuses_freed_memory_before_its_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"

    def record(name: str) -> None:
        calls.open("a").write(f"{name} ")

    monkeypatch.setattr(run, "reuse_freed_memory", lambda: record("memory"))
    assert run_task(lambda cfg: record("task"), tmp_path, monkeypatch) == 0
    assert calls.read_text().split() == ["memory", "task"]


@pytest.mark.parametrize(
    ("code", "reason"), [(143, "stopped by SIGTERM"), (200, "the job ended without an error message")]
)
def test_an_exit_code_is_a_signal_only_if_the_signal_exists(
    code: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(cfg: Any) -> None:
        raise SystemExit(code)

    assert run_task(end, tmp_path, monkeypatch) == code
    assert json.loads((tmp_path / "result.json").read_text())["error"] == reason


def test_a_job_that_another_process_completed_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "result.json").write_text('{"status": "completed"}')
    assert run_task(lambda cfg: tmp_path.joinpath("ran").touch(), tmp_path, monkeypatch) == 0
    assert not (tmp_path / "ran").exists()
