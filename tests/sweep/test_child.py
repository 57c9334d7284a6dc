"""The process of a job."""

import atexit
import json
import multiprocessing
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from omegaconf import OmegaConf

from src.sweep import child


def run_job(task: Callable[[Any], None], folder: Path, monkeypatch: pytest.MonkeyPatch) -> int | None:
    """Run a task as a job in a forked process, and return the exit code."""
    module = ModuleType("task_of_a_test")
    module.main = SimpleNamespace(__wrapped__=task)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    # The child must not run the exit handlers of the tests' process, which can wait for services of the parent.
    monkeypatch.setattr(child, "_set_up_process", lambda hydra, folder: atexit._clear())
    runtime = {"output_dir": str(folder)}
    hydra = OmegaConf.create({"hydra": {"runtime": runtime, "overrides": {"task": ["seed=3"]}}})
    cfg = OmegaConf.create({"train": False, "ckpt_path": None})
    process = multiprocessing.get_context("fork").Process(
        target=child.run_job, args=(module.__name__, cfg, hydra, False)
    )
    process.start()
    process.join()
    return process.exitcode


def test_a_job_reuses_freed_memory_before_its_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"

    def record(name: str) -> None:
        calls.open("a").write(f"{name} ")

    monkeypatch.setattr(child, "reuse_freed_memory", lambda: record("memory"))
    assert run_job(lambda cfg: record("task"), tmp_path, monkeypatch) == 0
    assert calls.read_text().split() == ["memory", "task"]


@pytest.mark.parametrize(
    ("code", "reason"), [(143, "stopped by SIGTERM"), (200, "the job ended without an error message")]
)
def test_an_exit_code_is_a_signal_only_if_the_signal_exists(
    code: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(cfg: Any) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(child, "reuse_freed_memory", lambda: None)
    assert run_job(end, tmp_path, monkeypatch) == code
    assert json.loads((tmp_path / "result.json").read_text())["error"] == reason
