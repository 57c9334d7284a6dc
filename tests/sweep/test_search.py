"""A search with Optuna: its space, and a real one with pruning that is stopped and resumed."""

import json
from pathlib import Path

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from src.errors import UserError
from src.sweep.space import Dimension, space
from tests.helpers import CONF
from tests.sweep.sweeps import SMALL, results, swept

optuna = pytest.importorskip("optuna")


def searched(*arguments: str) -> tuple[list[str], list[Dimension]]:
    with initialize_config_dir(CONF, version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        return space({"seed": "1,2"}, arguments, hydra.config_loader)


def test_what_is_chosen_and_what_all_jobs_share() -> None:
    rate, width = "optimizer.lr=tag(log, interval(1e-4, 0.1))", "model.encoder.hidden_dim=range(8, 33, 8)"
    shared, chosen = searched(rate, width, "model/attention=none,bahdanau", "trainer.max_epochs=3", "seed=7")
    assert shared == ["seed=7", "trainer.max_epochs=3"]
    assert chosen == [
        Dimension("optimizer.lr", 1e-4, 0.1, log=True),
        Dimension("model.encoder.hidden_dim", 8, 32, 8),
        Dimension("model/attention", choices=("none", "bahdanau")),
    ]
    distributions = [one.distribution() for one in chosen]
    assert distributions == [
        optuna.distributions.FloatDistribution(1e-4, 0.1, log=True),
        optuna.distributions.IntDistribution(8, 32, step=8),
        optuna.distributions.CategoricalDistribution(("none", "bahdanau")),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["seed=1"], "nothing to search"),
        (["optimizer.lr=tag(log, interval(0, 1))"], "above 0 if it is tagged log"),
        (["seed=range(3, 3)"], "is an empty range"),
    ],
)
def test_a_space_that_is_none(arguments: list[str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        searched(*arguments)


def test_a_search_prunes_and_is_resumed(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    given = ("-m", "hparams_search=optuna", "hydra.sweeper.search.startup=2", "hydra.sweeper.search.warmup=0")
    rate = "optimizer.lr=tag(log, interval(1e-6, 0.1))"
    more = (f"hydra.sweep.dir={sweep}", "trainer.max_epochs=3", *SMALL)
    code, said = swept(tmp_path, *given, "hydra.sweeper.search.trials=3", rate, *more)
    assert code == 0, said
    first = results(sweep)
    assert len(first) == 3
    code, said = swept(tmp_path, f"sweep.resume={sweep}", "hydra.sweeper.search.trials=7")
    assert code == 0, said
    found = results(sweep)
    assert {name: found[name] for name in first} == first  # nothing is repeated
    rates = [line for record in found.values() for line in record["overrides"] if line.startswith("optimizer.lr")]
    assert len(set(rates)) == len(found) == 7
    statuses = [job["status"] for job in json.loads((sweep / "sweep.json").read_text())["jobs"]]
    assert set(statuses) == {"completed", "pruned"}, said
    best = min(record["best"]["value"] for record in found.values() if record["status"] == "completed")
    assert f"val/loss={best:.4g}" in said
