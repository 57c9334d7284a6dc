"""Discovery of runs below a folder, and the reasons why runs are excluded."""

import json
from pathlib import Path

import pytest

from heedful.base.errors import UserError
from heedful.records.runs import find_runs, summarize_excluded
from heedful.runs.sweep_record import Job, Sweep
from tests.run_folders import LABELS, write_run


def test_runs_at_any_depth_are_discovered_once(tmp_path: Path) -> None:
    for name in ("a", "deep/within/b", "deep/c"):
        write_run(tmp_path / name, seed=3)
    (tmp_path / ".hydra").mkdir()
    (tmp_path / "sweep.json").touch()
    runs, excluded = find_runs([tmp_path, tmp_path / "deep", tmp_path / "a"])
    assert [run.folder.name for run in runs] == ["a", "c", "b"]
    assert not excluded
    assert runs[0].seed == 3
    assert runs[0].choices["encoder"] == "lstm"
    predictions = runs[0].predictions()
    assert predictions.labels.tolist() == LABELS.tolist()
    assert predictions.index.tolist() == [0, 1, 2, 3, 4]
    assert (predictions.probabilities.argmax(1) == LABELS).mean() == pytest.approx(0.8)


def test_excluded_runs_are_listed_with_their_reasons(tmp_path: Path) -> None:
    write_run(tmp_path / "good")
    write_run(tmp_path / "oom", result={"status": "failed", "error": "OutOfMemoryError: 3 GiB"})
    write_run(tmp_path / "stopped", result={"status": "interrupted", "error": "stopped by SIGTERM"})
    (write_run(tmp_path / "killed") / "result.json").unlink()
    (write_run(tmp_path / "damaged") / "result.json").write_text('{"status": "compl')
    (write_run(tmp_path / "list") / "result.json").write_text("[1]")
    (write_run(tmp_path / "untested") / "predictions" / "test.npz").unlink()
    (write_run(tmp_path / "torn") / "predictions" / "test.npz").write_bytes(b"PK")
    (write_run(tmp_path / "bare") / "config.yaml").unlink()
    (write_run(tmp_path / "eval") / "config.yaml").write_text("seed: 0\n")
    write_run(tmp_path / "ungrouped", options={"data.group": "review"})
    old = write_run(tmp_path / "old") / "result.json"
    old.write_text(json.dumps({"status": "completed"}))
    runs, excluded = find_runs([tmp_path])
    assert [run.folder.name for run in runs] == ["good"]
    reasons = {run.folder.name: (run.status, run.error) for run in excluded}
    assert reasons["oom"] == ("failed", "OutOfMemoryError: 3 GiB")
    assert reasons["stopped"] == ("interrupted", "stopped by SIGTERM")
    assert reasons["killed"][0] == "unfinished"
    assert "test=true" in reasons["untested"][1]
    assert "evaluation" in reasons["eval"][1]
    assert "lacks the groups of data.group" in reasons["ungrouped"][1]
    assert "lacks seed, choices" in reasons["old"][1]
    for name, file in {"damaged": "result.json", "list": "result.json", "torn": "test.npz", "bare": "config"}.items():
        assert reasons[name][0] == "unreadable"
        assert file in reasons[name][1]
        assert "\n" not in reasons[name][1]


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere: no such folder"):
        find_runs([tmp_path, tmp_path / "nowhere"])


def test_without_finished_runs_the_reasons_are_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"no run below {tmp_path}: name folders of runs"):
        find_runs([tmp_path])
    write_run(tmp_path / "a", result={"status": "failed", "error": "ValueError: no"})
    with pytest.raises(UserError, match=r"1 of 1 runs is not compared: 1 failed\.\n  a: ValueError: no"):
        find_runs([tmp_path])


def test_the_jobs_that_an_unfinished_sweep_lacks_are_counted(tmp_path: Path) -> None:
    names = [f"{number}_x" for number in range(13)]
    jobs = [Job(number=number, overrides=[], folder=name) for number, name in enumerate(names)]
    Sweep(arguments=["-m"], jobs=jobs).write(tmp_path)
    for name in ("0_x", "10_x"):
        write_run(tmp_path / name)
    stopped = {"status": "interrupted", "error": "stopped by SIGTERM"}
    for name in ("2_x", "11_x"):
        write_run(tmp_path / name, result=stopped)
    _, excluded = find_runs([tmp_path])
    pending = [run.folder.name for run in excluded if run.status == "pending"]
    assert pending == ["1_x", *names[3:10], "12_x"]
    assert summarize_excluded(excluded, 13) == [
        "11 of 13 runs are not compared: 9 pending, 2 interrupted.",
        f"To run them: heedful train sweep.resume={tmp_path}",
        "2_x: stopped by SIGTERM",
        "11_x: stopped by SIGTERM",
    ]


def test_several_unfinished_sweeps_are_summarized_in_five_lines(tmp_path: Path) -> None:
    write_run(tmp_path / "good")
    for sweep in ("s10", "s9", "s1"):
        for number in (10, 9):
            failed = {"status": "failed", "error": "ValueError: no\nmore"}
            write_run(tmp_path / sweep / f"{number}_x", result=failed)
        Sweep(arguments=["-m"], jobs=[]).write(tmp_path / sweep)
    _, excluded = find_runs([tmp_path])
    assert summarize_excluded(excluded, 7) == [
        "6 of 7 runs are not compared: 6 failed.",
        f"To run them: heedful train sweep.resume={tmp_path / 's1'} (and 2 more sweeps)",
        *("s1/9_x: ValueError: no", "s1/10_x: ValueError: no", "s9/9_x: ValueError: no"),
    ]
