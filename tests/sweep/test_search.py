"""A search with Optuna: its space, and a search with pruning that is resumed."""

import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock, create_autospec

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from src.errors import UserError
from src.sweep.runner import SweepRunner
from src.sweep.search import Search
from src.sweep.space import boundary_overrides, parse_space
from src.sweep.sweeper import GridOrSearch
from tests.helpers import CONF
from tests.sweep.sweeps import SMALL, read_results, run_sweep

optuna = pytest.importorskip("optuna")


def parse(*arguments: str) -> tuple[list[str], dict[str, Any]]:
    with initialize_config_dir(CONF, version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        return parse_space(["seed=1,2", *arguments], hydra.config_loader)


def test_overrides_are_split_into_shared_overrides_and_dimensions() -> None:
    rate, hidden_dim = "optimizer.lr=tag(log, interval(1e-4, 0.1))", "model.encoder.hidden_dim=range(8, 33, 8)"
    shared, space = parse(rate, hidden_dim, "model/attention=none,bahdanau", "trainer.max_epochs=3", "seed=7")
    assert shared == ["seed=7", "trainer.max_epochs=3"]
    assert space == {
        "optimizer.lr": optuna.distributions.FloatDistribution(1e-4, 0.1, log=True),
        "model.encoder.hidden_dim": optuna.distributions.IntDistribution(8, 32, step=8),
        "model/attention": optuna.distributions.CategoricalDistribution(("none", "bahdanau")),
    }
    assert [boundary_overrides(key, values) for key, values in space.items()] == [
        ["optimizer.lr=0.0001", "optimizer.lr=0.1"],
        ["model.encoder.hidden_dim=8", "model.encoder.hidden_dim=32"],
        ["model/attention=none", "model/attention=bahdanau"],
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["seed=1"], "nothing to search"),
        (["optimizer.lr=tag(log, interval(0, 1))"], "above 0 if it is tagged log"),
        (["seed=range(3, 3)"], "is an empty range"),
    ],
)
def test_an_invalid_space_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse(*arguments)


@pytest.mark.parametrize(("earlier", "present"), [("at_once", "n_jobs"), ("startup", "n_startup_trials")])
def test_the_earlier_name_of_an_option_is_refused(earlier: str, present: str) -> None:
    sweeper = GridOrSearch(search={"trials": 1, earlier: 1})
    sweeper.runner = create_autospec(SweepRunner, instance=True)
    with pytest.raises(UserError, match=rf"search\.{earlier} is now called hydra\.sweeper\.search\.{present}$"):
        sweeper.sweep(["optimizer.lr=interval(0,1)"])


@pytest.mark.parametrize(("seed", "seeds"), [(3, [3, 5]), (None, [None, None])])
def test_a_resumed_search_samples_other_values(
    seed: int | None, seeds: list[int | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler_seeds: list[Any] = []
    monkeypatch.setattr("src.sweep.search.open_study", lambda *arguments: sampler_seeds.append(arguments[-1]))
    runner = create_autospec(SweepRunner, instance=True, folder=tmp_path)
    runner.config = OmegaConf.create({"callbacks": {"best_checkpoint": {"monitor": "val/acc", "mode": "max"}}})
    runner.composer = Mock()
    with initialize_config_dir(CONF, version_base="1.3"):
        runner.loader = GlobalHydra.instance().hydra.config_loader  # type: ignore[union-attr]
        search = Search(runner, ["seed=1,2"], trials=4, n_jobs=1, n_startup_trials=2, warmup=None, seed=seed)
    for earlier_jobs in (0, 2):
        search._open_study(earlier_jobs)
    assert sampler_seeds == seeds


def test_a_search_with_pruning_is_resumed(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    arguments = (
        "-m",
        "hparams_search=optuna",
        "hydra.sweeper.search.n_startup_trials=2",
        "hydra.sweeper.search.warmup=0",
    )
    rate = "optimizer.lr=tag(log, interval(1e-6, 0.1))"
    options = (f"hydra.sweep.dir={sweep}", "trainer.max_epochs=2", *SMALL)
    code, output = run_sweep(tmp_path, *arguments, "hydra.sweeper.search.trials=2", rate, *options)
    assert code == 0, output
    first = read_results(sweep)
    assert len(first) == 2
    assert all(re.fullmatch(r"\d_lr-[\d.e-]+", name) for name in first), list(first)
    assert len(re.findall(r"^#\d optimizer\.lr=\S+: (?:completed|pruned), acc", output, re.M)) == 2, output
    code, output = run_sweep(tmp_path, f"sweep.resume={sweep}", "hydra.sweeper.search.trials=6")
    assert code == 0, output
    final = read_results(sweep)
    assert {name: final[name] for name in first} == first  # completed jobs are not repeated
    rates = [line for record in final.values() for line in record["overrides"] if line.startswith("optimizer.lr")]
    assert len(set(rates)) == len(final) == 6
    statuses = [job["status"] for job in json.loads((sweep / "sweep.json").read_text())["jobs"]]
    assert set(statuses) == {"completed", "pruned"}, output
    best = min(record["best"]["value"] for record in final.values() if record["status"] == "completed")
    assert f"val/loss={best:.4g}" in output
