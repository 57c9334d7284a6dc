"""The start of a W&B run."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
from wandb.sdk.wandb_run import Run

from src.errors import UserError
from src.loggers.wandb import LAUNCH_HOOK, Wandb
from tests.helpers import one_class_data, train


@pytest.mark.parametrize(
    ("mode", "offline", "setting"),
    [("online", True, "WANDB_MODE=online"), (None, False, r"logger\.wandb\.offline=false")],
)
def test_an_online_run_without_an_account_is_refused_before_data_are_read(
    mode: str | None, offline: bool, setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_MODE")
    if mode:
        monkeypatch.setenv("WANDB_MODE", mode)
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with pytest.raises(UserError, match=rf"^{setting} needs a W&B account: run `wandb login`"):
        train(tmp_path / "run", "logger=wandb", f"logger.wandb.offline={offline}", *one_class_data(tmp_path))
    assert not (tmp_path / "run" / "wandb").exists()


def test_offline_runs_upload_no_checkpoints() -> None:
    with pytest.raises(ValueError, match="log_model=all needs an online run: offline=false"):
        Wandb(log_model="all")


@pytest.mark.parametrize("is_imported", [False, True])
def test_launch_is_used_only_if_a_script_has_imported_it(
    is_imported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Run] = []
    monkeypatch.setattr(Run, LAUNCH_HOOK, lambda run: calls.append(run))  # a function, so that it becomes a method
    monkeypatch.delitem(sys.modules, "wandb.sdk.launch", raising=False)
    if is_imported:
        monkeypatch.setitem(sys.modules, "wandb.sdk.launch", ModuleType("launch"))
    run = Wandb(save_dir=str(tmp_path)).experiment
    run.finish()
    assert len(calls) == is_imported
    run._detect_and_apply_job_inputs()  # the method of W&B is restored
    assert len(calls) == is_imported + 1
