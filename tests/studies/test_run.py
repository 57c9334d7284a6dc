"""The order, selection and estimated time of the study's sweeps, and their command lines."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from src.errors import UserError
from studies import run
from studies.plan import Plan, load_plan, release_file
from tests.helpers import repository

PLAN = Plan.model_validate(
    {
        "sweeps": {
            "first": {"seeds": [1, 3], "overrides": ["experiment=report", "model/encoder=rnn,lstm"]},
            "second": {"seeds": [1, 2], "overrides": ["experiment=speedrun"], "data": "rotten_tomatoes"},
        }
    }
)


def write_seconds(results, sweep, seed, *seconds):
    file = release_file(sweep, seed, results)
    file.parent.mkdir(parents=True, exist_ok=True)
    records = [json.dumps({"seconds": {"total": value}}) for value in seconds]
    pq.write_table(pa.table({"result": records}), file)


def task_order(results, **options):
    return [(task.name, task.seed) for task in run.missing_tasks(PLAN, results, tuple(PLAN.sweeps), **options)]


def test_seeds_come_before_sweeps(tmp_path):
    assert task_order(tmp_path) == [("first", 1), ("second", 1), ("second", 2), ("first", 3)]


def test_released_sweeps_are_omitted(tmp_path):
    write_seconds(tmp_path, "second", 1, 5.0)
    assert task_order(tmp_path) == [("first", 1), ("second", 2), ("first", 3)]


def test_seeds_and_a_quick_trial_can_be_selected(tmp_path):
    assert task_order(tmp_path, seeds=[2, 3]) == [("second", 2), ("first", 3)]
    assert task_order(tmp_path, is_quick=True) == [("first", 1), ("second", 1)]


def test_estimate_is_the_mean_over_released_seeds_divided_by_jobs(tmp_path):
    write_seconds(tmp_path, "first", 1, 100.0, 140.0)
    tasks = list(run.missing_tasks(PLAN, tmp_path, tuple(PLAN.sweeps)))
    text = run.describe(tasks, PLAN, 2, tmp_path)
    assert "first, seed 3: 2 min" in text
    assert "second, seed 1: no earlier run" in text
    assert "3 sweeps will take about 2 min, plus an unknown time for 2 of them" in text


def test_estimate_of_a_quick_trial_counts_the_runs(tmp_path):
    write_seconds(tmp_path, "first", 1, 100.0, 140.0)  # whole runs
    tasks = list(run.missing_tasks(PLAN, tmp_path, tuple(PLAN.sweeps), is_quick=True))
    assert [task.name for task in tasks] == ["second"]  # seed 1 of `first` is already released
    tasks += [run.Task("first", PLAN.sweeps["first"], 3)]
    text = run.describe(tasks, PLAN, 5, tmp_path, is_quick=True)
    assert "second, seed 1: 17 s" in text and "first, seed 3: 17 s" in text  # one run, and two parallel runs
    assert "2 sweeps will take about 34 s" in text


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--only=firts"], "--only firts: no such sweep"),
        (["--path=imbd=x"], "expects imdb=<folder>"),
        (["--path=imdb=no/such/folder"], "no such file or folder"),
    ],
)
def test_mistakes_are_reported(arguments, message, capsys):
    with pytest.raises(SystemExit) as error:
        run.main(arguments)
    assert message in str(error.value.code) + capsys.readouterr().err


@pytest.mark.parametrize("sweep", load_plan().sweeps.values(), ids=load_plan().sweeps)
def test_the_command_lines_of_the_plan_are_valid(sweep):
    mistakes = repository("train").check(list(sweep.overrides), sweeps=True)[1]
    assert [mistake for mistake in mistakes if mistake.entry != "data.path"] == []


def test_a_sweep_that_fails_is_not_released(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = run.Task("first", PLAN.sweeps["first"], 1)
    single = run.Task("second", PLAN.sweeps["second"], 1)
    commands = []

    class Failed:
        returncode = 1

    monkeypatch.setattr(run.subprocess, "run", lambda command, cwd: commands.append(command) or Failed())
    with pytest.raises(UserError, match="first, seed 1 is not completed"):
        run._run(task, tmp_path / "out", {"imdb": "/data/imdb"}, 2, ())
    (tmp_path / "out/first/seed_1").mkdir(parents=True)
    (tmp_path / "out/first/seed_1/sweep.json").touch()
    with pytest.raises(UserError):
        run._run(task, tmp_path / "out", {"imdb": "/data/imdb"}, 2, ())
    with pytest.raises(UserError):
        run._run(single, tmp_path / "out", {}, 2, ())
    first, resumed, single_run = (command[3:] for command in commands)
    assert first[:4] == ["-m", "experiment=report", "model/encoder=rnn,lstm", "seed=1"]
    assert not any("launcher" in text for text in single_run)  # a single run uses all threads
    assert "hydra.launcher.n_jobs=2" in first and any("/data/imdb" in text for text in first)
    assert resumed[0].startswith("sweep.resume=") and "-m" not in resumed
