"""The process of a job."""

import atexit
import multiprocessing
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from omegaconf import OmegaConf

from src.sweep import child


def test_a_job_reuses_freed_memory_before_its_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"

    def record(name: str) -> None:
        calls.open("a").write(f"{name} ")

    module = ModuleType("task_of_a_test")
    module.main = SimpleNamespace(__wrapped__=lambda cfg: record("task"))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(child, "reuse_freed_memory", lambda: record("memory"))
    # The child must not run the exit handlers of the tests' process, which can wait for services of the parent.
    monkeypatch.setattr(child, "_set_up_process", lambda hydra, folder: atexit._clear())
    runtime = {"output_dir": str(tmp_path)}
    hydra = OmegaConf.create({"hydra": {"runtime": runtime, "overrides": {"task": ["seed=3"]}}})
    cfg = OmegaConf.create({"train": False, "ckpt_path": None})
    process = multiprocessing.get_context("fork").Process(
        target=child.run_job, args=(module.__name__, cfg, hydra, False)
    )
    process.start()
    process.join()
    assert process.exitcode == 0
    assert calls.read_text().split() == ["memory", "task"]
