"""The order and selection of the study's sweeps, and their command lines."""

import subprocess

import pytest

from heedful.base.errors import UserError
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


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.plan.RESULTS", tmp_path / "results")
    monkeypatch.setattr(run, "OUTPUTS", tmp_path / "out")


def task_order(seeds=None):
    return [(task.name, task.seed) for task in run.missing_tasks(PLAN, tuple(PLAN.sweeps), seeds)]


def test_seeds_come_before_sweeps_and_can_be_selected():
    assert task_order() == [("first", 1), ("second", 1), ("second", 2), ("first", 3)]
    assert task_order(seeds=[2, 3]) == [("second", 2), ("first", 3)]


def test_released_sweeps_are_omitted():
    file = release_file("second", 1)
    file.parent.mkdir(parents=True)
    file.touch()
    assert task_order() == [("first", 1), ("second", 2), ("first", 3)]


@pytest.mark.parametrize("argument", ["--only=firts", "--path=imbd=x", "--path=imdb=no/such/folder"])
def test_mistakes_are_reported(argument, capsys):
    with pytest.raises(SystemExit):
        run.main([argument])
    assert argument.rpartition("=")[2] in capsys.readouterr().err


def sweeps():
    """All sweeps; tests/config/test_conf.py composes an experiment alone, and SST-2 has the same sweeps as IMDb."""
    for name, sweep in load_plan().sweeps.items():
        is_usual = len(sweep.overrides) > 1 and not name.endswith("_imdb")
        yield pytest.param(sweep, id=name, marks=() if is_usual else pytest.mark.weekly)


@pytest.mark.parametrize("sweep", [*sweeps()])
def test_the_command_lines_of_the_plan_are_valid(sweep):
    mistakes = repository("train").check(list(sweep.overrides), sweeps=True)[1]
    assert [mistake for mistake in mistakes if mistake.entry != "data.path"] == []


def test_the_folder_of_a_lock_is_no_run(tmp_path, monkeypatch):
    folder = tmp_path / "out" / "second" / "seed_1"
    (folder / ".hydra").mkdir(parents=True)
    run.RunResult(status="completed").save(folder / "0_seed-1")
    monkeypatch.setattr(run.subprocess, "run", lambda command, cwd: subprocess.CompletedProcess(command, 0))
    assert run._run(run.Task("second", PLAN.sweeps["second"], 1), {}, 2) == folder


def test_a_sweep_that_fails_is_not_released(tmp_path, monkeypatch):
    task = run.Task("first", PLAN.sweeps["first"], 1)
    single = run.Task("second", PLAN.sweeps["second"], 1)
    commands = []

    class Failed:
        returncode = 1

    monkeypatch.setattr(run.subprocess, "run", lambda command, cwd: commands.append(command) or Failed())
    with pytest.raises(UserError, match="first, seed 1 is not completed"):
        run._run(task, {"imdb": "/data/imdb"}, 2)
    (tmp_path / "out/first/seed_1").mkdir(parents=True)
    (tmp_path / "out/first/seed_1/sweep.json").touch()
    with pytest.raises(UserError):
        run._run(task, {"imdb": "/data/imdb"}, 2)
    with pytest.raises(UserError):
        run._run(single, {}, 2)
    first, resumed, single_run = (command[3:] for command in commands)
    assert first[:4] == ["-m", "experiment=report", "model/encoder=rnn,lstm", "seed=1"]
    assert not any("launcher" in text for text in single_run)  # a single run uses all threads
    assert "hydra.launcher.n_jobs=2" in first and any("/data/imdb" in text for text in first)
    assert resumed[0].startswith("sweep.resume=") and "-m" not in resumed
