"""The configuration in the log files of runs and sweep jobs."""

from pathlib import Path

import pytest

from tests.sweep.sweeps import SMALL, run_sweep


@pytest.mark.parametrize(
    ("arguments", "logs"), [(["hydra.run.dir=run"], "run"), (["-m", "hydra.sweep.dir=run"], "run/0*")]
)
def test_the_log_file_of_a_run_contains_its_configuration(arguments: list[str], logs: str, tmp_path: Path) -> None:
    code, output = run_sweep(
        tmp_path, *SMALL, *arguments, "seed=7", "trainer.max_epochs=1", "test=false", "extras.print_config=true"
    )
    assert code == 0, output
    (log,) = tmp_path.glob(f"{logs}/train.log")
    assert log.read_text().count("Configuration:\n") == 1
    assert "\nseed: 7\n" in log.read_text() and "\n    hidden_dim: 6\n" in log.read_text()
