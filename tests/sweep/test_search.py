"""A search with Optuna: its space, and a search with pruning that is resumed."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from heedful.base.errors import UserError
from heedful.sweep.plan import parse_overrides
from heedful.sweep.search import SearchOptions, boundary_jobs, create_sampler, drop_torn_line, parse_space
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
        study = open_study(str(journal), "study", "min", 2, None)
        study.add_trial(optuna.trial.create_trial(value=0.5))
        with journal.open("a") as file:
            file.write('{"op_code": 4, "wor')
    drop_torn_line(journal)
    assert len(open_study(str(journal), "study", "min", 2, None).trials) == 2


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
    [
        ("hparams_search.trials=0", "hparams_search.trials: input should be greater than 0"),
        ("hydra.sweeper.search.warmup=-1", "hparams_search.warmup: input should be greater than or"),
        ("+hparams_search.directions=[minimize,maximize]", "; a search has one objective: callbacks.best_checkpoint"),
        ("callbacks.best_checkpoint.monitor=null", "a search needs callbacks.best_checkpoint.monitor, the metric"),
        ("hparams_search.sampler=random", "optuna.samplers has no random (did you mean RandomSampler?)"),
        ("hparams_search.storage=sqlite:///nowhere/s.db", "storage=sqlite:///nowhere/s.db: (sqlite3.OperationalError)"),
    ],
)
def test_wrong_options_of_a_search_are_reported(option: str, message: str, tmp_path: Path) -> None:
    arguments = ("-m", "hparams_search=optuna", option, "optimizer.lr=interval(0.1, 0.2)")
    code, output = run_sweep(tmp_path, *arguments, f"hydra.sweep.dir={tmp_path / 'sweep'}")
    assert code == 1 and output.startswith("Error: ") and message in output, output
    assert not (tmp_path / "sweep").exists()


def options(**changes: Any) -> SearchOptions:
    plain = {"trials": 3, "n_jobs": 1, "n_startup_trials": 5, "warmup": 1, "seed": 7, "storage": None}
    return SearchOptions(**{"sampler": "TPESampler", "study_name": None, **plain, **changes})


def samples(sampler: Any) -> list[float]:
    study = optuna.create_study(sampler=sampler)
    space = {"x": optuna.distributions.FloatDistribution(0, 1)}
    return [study.ask(space).params["x"] for _ in range(3)]


def test_a_search_uses_any_sampler_of_optuna_with_its_seed() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    target = {"_target_": "optuna.samplers.RandomSampler"}
    of_optuna = samples(optuna.samplers.RandomSampler(seed=7))
    assert samples(create_sampler(options(sampler="RandomSampler"), {"optuna"})) == of_optuna
    assert samples(create_sampler(options(sampler={**target, "seed": 7}, seed=1), {"optuna"})) == of_optuna
    later = samples(create_sampler(options(sampler=target), {"optuna"}, trials=3))  # of a search that was resumed
    assert not set(later) & set(of_optuna)
    default = optuna.samplers.TPESampler(seed=7, n_startup_trials=5, constant_liar=True)
    assert samples(create_sampler(options(), {"optuna"})) == samples(default)


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        ("optuna.study.Study", "_target_=optuna.study.Study: is not a sampler of Optuna"),
        ("os.system", "os is not a trusted module"),
        ({"_target_": "GridSampler"}, "sampler.search_space +is required"),
        ({"multivariat": True}, "no such option .did you mean hparams_search.sampler.multivariate"),
        ({"n_ei_candidates": "many"}, "sampler.n_ei_candidates=many +must be a valid integer"),
        ({"_target_": "NSGAIISampler", "population_size": 1}, "sampler: NSGAIISampler: .*population_size"),
    ],
)
def test_a_wrong_sampler_is_refused(sampler: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        create_sampler(options(sampler=sampler), {"optuna"})


def test_a_study_in_a_database_is_resumed_and_continued(tmp_path: Path) -> None:
    """A grid sampler ends the search after its last value, before all trials."""
    rate = "optimizer.lr=interval(1e-6, 0.1)"
    shared = (rate, "trainer.max_epochs=1", "test=false", *SMALL, "hparams_search.storage=sqlite:///s.db")
    line = ("-m", "hparams_search=optuna", "hparams_search.trials=1", *shared)
    code, output = run_sweep(tmp_path, *line, "hydra.sweep.dir=first")
    assert code == 0, output
    code, output = run_sweep(tmp_path, "sweep.resume=first", "hparams_search.trials=2")
    assert code == 0, output
    code, output = run_sweep(tmp_path, *line, "hydra.sweep.dir=again/first")
    assert code == 1 and "has a study first: hparams_search.study_name" in output, output
    grid = ("hparams_search.sampler._target_=GridSampler", "+hparams_search.sampler.search_space={optimizer.lr:[0.05]}")
    line = ("-m", "hparams_search=optuna", "hparams_search.trials=7", *shared, "hparams_search.study_name=first", *grid)
    code, output = run_sweep(tmp_path, *line, "hydra.sweep.dir=second")
    assert code == 0, output
    study = optuna.load_study(study_name="first", storage=f"sqlite:///{tmp_path}/s.db")
    values = [value for name in ("first", "second") for value in read_values(tmp_path / name)]
    assert [trial.value for trial in study.trials] == values and len(values) == 3
    assert study.trials[2].params == {"optimizer.lr": 0.05}
    (tmp_path / "s.db").unlink()
    code, output = run_sweep(tmp_path, "sweep.resume=first", "hparams_search.trials=3")
    assert code == 1 and "the study first does not contain the trial of job 0_lr" in output, output


def read_values(sweep: Path) -> list[float]:
    return [record["best"]["value"] for record in read_results(sweep).values()]
