"""What a run writes into its folder, and when."""

from pathlib import Path

import pytest
from pytorch_lightning.utilities import rank_zero_only

from src.run_folder import RunFolder
from src.run_result import RunResult


def read(path: Path) -> tuple[str, int | None]:
    return (path / "config.yaml").read_text(), RunResult.load(path).seed


def test_a_new_folder_is_written_at_once(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", {"seed": 1})
    folder.create()
    folder.write_result(RunResult(seed=1))
    assert read(tmp_path / "run") == ("seed: 1\n", 1)


def test_an_earlier_run_is_replaced_on_request_only(tmp_path: Path) -> None:
    for seed in (1, 2):
        folder = RunFolder(tmp_path, {"seed": seed})
        folder.create()
        folder.write_result(RunResult(seed=seed))
    assert read(tmp_path) == ("seed: 1\n", 1)
    folder.replace_earlier_run()
    folder.write_result(RunResult(seed=2))
    assert read(tmp_path) == ("seed: 2\n", 2)


def test_only_the_main_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    folder = RunFolder(tmp_path, {"seed": 1})
    folder.create()
    folder.replace_earlier_run()
    folder.write_result(RunResult(seed=1))
    assert not list(tmp_path.iterdir())
