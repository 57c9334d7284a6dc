"""A search with Optuna: its space, and a search with pruning that is resumed."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from heedful.base.errors import UserError
from heedful.sweep.plan import parse_overrides
from heedful.sweep.search import boundary_jobs, drop_torn_line, parse_space
from heedful.training.callbacks.pruning import open_study
from tests.helpers import repository
from tests.sweep.sweeps import SMALL, read_results, read_statuses, run_sweep

optuna = pytest.importorskip("optuna")


def parse(*overrides: str) -> tuple[list[str], dict[str, Any]]:
    files = repository("train")
    sweep = files.compose(["hydra.mode=MULTIRUN", "hparams_search=optuna"], sweeps=True)
    return parse_space(parse_overrides(files, sweep, ["seed=1,2", "hparams_search=optuna", *overrides]))


def test_overrides_are_split_into_shared_overrides_and_dimensions() -> None:
    rate, hidden_dim = "optimizer.lr=tag(log, interval(1e-4, 0.1))", "model.encoder.hidden_dim=range(8, 33, 8)"
    shared, space = parse(rate, hidden_dim, "model/attention=none,bahdanau", "trainer.max_epochs=3", "seed=7")
    assert shared == ["seed=7", "hparams_search=optuna", "trainer.max_epochs=3"]
    assert space == {
        "optimizer.lr": optuna.distributions.FloatDistribution(1e-4, 0.1, log=True),
        "model.encoder.hidden_dim": optuna.distributions.IntDistribution(8, 32, step=8),
        "model/attention": optuna.distributions.CategoricalDistribution(("none", "bahdanau")),
    }
    assert [job.overrides[len(shared) :] for job in boundary_jobs(shared, space)] == [
        ["optimizer.lr=0.0001", "model.encoder.hidden_dim=8", "model/attention=none"],
        ["optimizer.lr=0.1", "model.encoder.hidden_dim=32", "model/attention=bahdanau"],
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["seed=1"], "nothing to search"),
        (["optimizer.lr=tag(log, interval(0, 1))"], "above 0 if it is tagged log"),
        (
            ["model.encoder.hidden_dim=tag(log, range(8, 33, 8))"],
            r"^model\.encoder\.hidden_dim=tag\(log, range\(8, 33, 8\)\): .*step",
        ),
        (["seed=range(3, 3)"], "has no values"),
    ],
)
def test_an_invalid_space_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse(*arguments)


def test_a_torn_line_of_the_journal_is_dropped(tmp_path: Path) -> None:
    journal = tmp_path / "optuna.journal"
    for _ in range(2):
        drop_torn_line(journal)
        study = open_study(journal, "min", 2, None)
        study.add_trial(optuna.trial.create_trial(value=0.5))
        with journal.open("a") as file:
            file.write('{"op_code": 4, "wor')
    drop_torn_line(journal)
    assert len(open_study(journal, "min", 2, None).trials) == 2


def test_a_search_with_pruning_is_resumed(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    pruning = ("hydra.sweeper.search.n_startup_trials=2", "hydra.sweeper.search.warmup=0")
    arguments = ("-m", "hparams_search=optuna", *pruning)
    rate = "optimizer.lr=tag(log, interval(1e-6, 0.1))"
    options = (f"hydra.sweep.dir={sweep}", "trainer.max_epochs=2", *SMALL)
    code, output = run_sweep(tmp_path, *arguments, "hydra.sweeper.search.trials=2", rate, *options)
    assert code == 0, output
    first = read_results(sweep)
    assert len(first) == 2
    assert all(re.fullmatch(r"\d_lr-[\d.e-]+", name) for name in first), list(first)
    assert len(re.findall(r"^\d_lr-\S+: (?:completed|pruned) \(accuracy", output, re.M)) == 2, output
    code, output = run_sweep(tmp_path, f"sweep.resume={sweep}", "hydra.sweeper.search.trials=6")
    assert code == 0, output
    final = read_results(sweep)
    assert {name: final[name] for name in first} == first  # completed jobs are not repeated
    rates = [line for record in final.values() for line in record["overrides"] if line.startswith("optimizer.lr")]
    assert len(set(rates)) == len(final) == 6
    assert set(read_statuses(sweep)) == {"completed", "pruned"}, output
    completed = {name: record for name, record in final.items() if record["status"] == "completed"}
    name = min(completed, key=lambda name: completed[name]["best"]["value"])
    best = completed[name]["best"]
    assert all(f" {record['best']['value']:.4f} " in output for record in completed.values())
    assert f"Best: val/loss={best['value']:.4g}: {sweep / name / best['checkpoint']}\n" in output
    trained = [line for line in completed[name]["overrides"] if "hparams_search" not in line]
    assert f"To repeat it: {shlex.join(['python', '-m', 'src.train', *trained])}\n" in output


@pytest.mark.parametrize(
    ("option", "message"),
    [("trials=0", "trials: input should be greater than 0"), ("warmup=-1", "warmup: input should be greater than or")],
)
def test_wrong_options_of_a_search_are_reported(option: str, message: str, tmp_path: Path) -> None:
    arguments = ("-m", "hparams_search=optuna", f"hydra.sweeper.search.{option}", "optimizer.lr=interval(0.1, 0.2)")
    code, output = run_sweep(tmp_path, *arguments, f"hydra.sweep.dir={tmp_path / 'sweep'}")
    assert code == 1 and f"Error: hydra.sweeper.search.{message}" in output, output
