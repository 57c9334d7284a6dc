"""The command line of `python -m src.compare`."""

from pathlib import Path

import pytest

from heedful.commands.compare import main
from tests.run_folders import write_sweep

FILES = ["comparison.csv", "comparison.html", "comparison.md"]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    accuracies = {("rnn", "none"): 0.7, ("rnn", "keras"): 0.8}
    return write_sweep(tmp_path_factory.mktemp("sweeps") / "one", accuracies, seeds=2, n=53)


def test_the_comparison_is_printed_and_written_to_the_sweep(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(sweep)])
    assert [path.name for path in sorted(sweep.glob("comparison.*"))] == FILES
    output = capsys.readouterr().out
    assert "keras" in output
    assert "exploratory" in output
    assert "Written to" in output
    main([str(sweep)])  # the files of the first comparison are ignored


def test_out_baseline_and_metric_are_applied(sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(sweep), "--out", str(tmp_path / "new" / "folder"), "--baseline", "keras", "--metric", "auroc"])
    assert [path.name for path in sorted((tmp_path / "new" / "folder").iterdir())] == FILES
    assert "Differences in AUROC from keras" in capsys.readouterr().out


def test_several_folders_write_to_the_default_folder(sweep: Path, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    main([str(run) for run in sorted(sweep.iterdir()) if run.is_dir()])
    assert [path.name for path in sorted(tmp_path.glob("outputs/compare/*/*"))] == FILES


@pytest.mark.parametrize(
    ("options", "message"),
    [(["nowhere"], "Error: nowhere: no such folder"), (["--out", "/dev/null/x"], "Error: /dev/null/x: Not a dir")],
)
def test_mistakes_are_reported_in_one_message(sweep: Path, options: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=f"^{message}"):
        main([str(sweep), *options])
