"""A search with Optuna: its space, the values that it chooses, and a search that is resumed."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from heedful.base.errors import UserError
from heedful.config.overrides import parse_override
from heedful.sweep.plan import parse_overrides
from heedful.sweep.search import SearchOptions, boundary_jobs, parse_space, sample
from tests.helpers import repository
from tests.sweep.sweeps import SMALL, read_results, run_sweep

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


def test_a_search_is_resumed(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    arguments = ("-m", "hparams_search=optuna", "hydra.sweeper.search.n_startup_trials=2")
    rate = "optimizer.lr=tag(log, interval(1e-6, 0.1))"
    database = f"sqlite:///{tmp_path}/studies.db"
    options = (f"hydra.sweep.dir={sweep}", "trainer.max_epochs=1", f"hparams_search.storage={database}", *SMALL)
    output = run_sweep(tmp_path, *arguments, "hydra.sweeper.search.trials=2", rate, *options)
    first = read_results(sweep)
    assert len(first) == 2
    assert all(re.fullmatch(r"\d_lr-[\d.e-]+", name) for name in first), list(first)
    assert len(re.findall(r"^\d_lr-\S+: completed \(accuracy", output, re.M)) == 2, output
    output = run_sweep(tmp_path, f"sweep.resume={sweep}", "hydra.sweeper.search.trials=3")
    final = read_results(sweep)
    assert {name: final[name] for name in first} == first  # completed jobs are not repeated
    rates = [line for record in final.values() for line in record["overrides"] if line.startswith("optimizer.lr")]
    assert len(set(rates)) == len(final) == 3
    (study,) = optuna.get_all_study_summaries(database)  # as optuna-dashboard reads it
    trials = optuna.load_study(storage=database, study_name=study.study_name).trials
    stored = {f"optimizer.lr={trial.params['optimizer.lr']}": trial.value for trial in trials}
    assert stored == dict(zip(rates, [record["best"]["value"] for record in final.values()], strict=True))
    name = min(final, key=lambda name: final[name]["best"]["value"])
    best = final[name]["best"]
    assert all(f" {record['best']['value']:.4f} " in output for record in final.values())
    assert f"Best: val/loss={best['value']:.4g}: {sweep / name / best['checkpoint']}\n" in output
    trained = [line for line in final[name]["overrides"] if "hparams_search" not in line]
    assert f"To repeat it: {shlex.join(['python', '-m', 'src.train', *trained])}\n" in output


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("hydra/sweeper=optuna", "it must be one of basic, heedful; a search is hparams_search=optuna"),
        ("hparams_search.trials=0", "hparams_search.trials: input should be greater than 0"),
        ("hparams_search.storage=nowhere", "hparams_search.storage=nowhere: Could not parse"),
        ("+hparams_search.directions=[minimize,maximize]", "; a search has one objective: callbacks.best_checkpoint"),
        ("callbacks.best_checkpoint.monitor=null", "a search needs callbacks.best_checkpoint.monitor, the metric"),
    ],
)
def test_wrong_options_of_a_search_are_reported(option: str, message: str, tmp_path: Path) -> None:
    arguments = ("-m", "hparams_search=optuna", option, "optimizer.lr=interval(0.1, 0.2)")
    output = run_sweep(tmp_path, *arguments, f"hydra.sweep.dir={tmp_path / 'sweep'}", code=1)
    assert "Error: " in output and message in output, output
    assert not (tmp_path / "sweep").exists()


def test_values_are_chosen_near_the_best_earlier_ones() -> None:
    search = SearchOptions(trials=100, n_jobs=3, n_startup_trials=5, seed=7)
    lines = ("optimizer.lr=interval(0.0, 1.0)", "model.encoder.hidden_dim=range(8, 33, 8)", "model/attention=a,b")
    space = parse_space([parse_override(line, {}) for line in lines])[1]
    values = {}  # the best ones are near 0.9, 32 and b
    for i in range(40):
        rate, dim, attention = i / 40, 8 + 8 * (i % 4), "ab"[i % 2]
        overrides = (
            "seed=1",
            f"optimizer.lr={rate}",
            f"model.encoder.hidden_dim={dim}",
            f"model/attention={attention}",
        )
        values["~callbacks.lr_monitor", *overrides] = abs(rate - 0.9) + (32 - dim) / 8 + (attention == "a")
    found = sample(search, "minimize", space, values, jobs=40)
    assert found == sample(search, "minimize", space, values, jobs=40) and len(found) == 3
    for rate, dim, attention in found:
        assert abs(float(rate.partition("=")[2]) - 0.9) < 0.3
        assert dim.partition("=")[2] in ("24", "32") and attention == "model/attention=b"
    other = sample(search, "maximize", space, values, jobs=98)
    assert len(other) == 2 and "model/attention=b" not in [line for job in other for line in job]
