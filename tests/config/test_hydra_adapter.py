"""The loader that composes each file once returns the same configurations as Hydra's loader."""

import pickle
from pathlib import Path

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from src.config.hydra_adapter import Loader
from tests.config.conftest import TEST_CONF
from tests.helpers import CONF, ROOT

SEARCH_PATH = f"hydra.searchpath=[file://{CONF}]"


@pytest.fixture(scope="module")
def loader() -> Loader:
    """One loader for all tests, so that later tests use the cached compositions of earlier tests."""
    return Loader(TEST_CONF, "train")


def compose(loader: ConfigLoaderImpl, overrides: list[str], mode: RunMode = RunMode.RUN) -> DictConfig:
    return loader.load_configuration("train", list(overrides), mode)


def hydra_loader(loader: Loader) -> ConfigLoaderImpl:
    return ConfigLoaderImpl(loader.get_search_path())


LINES = [
    [],
    ["seed=3", "model/encoder=narrow", "model.encoder.hidden_dim=5"],
    ["model.encoder.hidden_dim=5", "model/encoder=narrow", "seed=3"],
    ["experiment=good", "+model.encoder.bias=false", "~model.encoder.dropout"],
    ["logger=[csv,other]", "++logger.other.names=[a]", "logger.csv={folder: x}"],
    ["~logger.csv", "++data={path: x}"],
    ["hydra.run.dir=elsewhere", "hydra/job_logging=disabled", "hydra.job.env_copy=[HOME]", "seed=4"],
    ["hydra.job.config.override_dirname.exclude_keys=[seed]", "seed=4", "train=false"],
    [SEARCH_PATH, "model/encoder=transformer", "seed=5"],
    ["seed=${oc.decode:'3'}", "tags=[a,b]"],
]


@pytest.mark.parametrize("lines", LINES)
def test_a_composition_equals_the_composition_of_hydra(loader: Loader, lines: list[str]) -> None:
    expected = OmegaConf.to_container(compose(hydra_loader(loader), lines), resolve=False)
    for _ in range(2):  # composed, then read from the cache
        cfg = compose(loader, lines)
        assert OmegaConf.to_container(cfg, resolve=False) == expected
        assert OmegaConf.is_struct(cfg)
        cfg.hydra.job.name, cfg.seed = "changed", None  # must not change the next result


def test_the_composition_of_a_sweep_equals_the_composition_of_hydra(loader: Loader) -> None:
    lines = ["seed=1,2", "model/encoder=wide,narrow", "model/attention=none", "train=false"]
    expected = compose(hydra_loader(loader), lines, RunMode.MULTIRUN)
    assert compose(loader, lines, RunMode.MULTIRUN) == expected
    job = ["seed=2", "model/encoder=narrow", "model/attention=none", "train=false"]
    assert loader.load_sweep_config(expected, job) == hydra_loader(loader).load_sweep_config(expected, job)


@pytest.mark.parametrize(
    "line", ["sede=1", "seed=1,2", "model/encoder=nowhere", "~sede", "+seed=1", "seed=${", "~data=x"]
)
def test_errors_equal_the_errors_of_hydra(loader: Loader, line: str) -> None:
    with pytest.raises(HydraException) as expected:
        compose(hydra_loader(loader), [line])
    with pytest.raises(HydraException) as error:
        compose(loader, [line])
    assert (type(error.value), str(error.value)) == (type(expected.value), str(expected.value))


def test_a_pickled_loader_contains_no_compositions(loader: Loader) -> None:
    size = len(pickle.dumps(loader))
    compose(loader, ["model/attention=none", "logger=none"])
    restored = pickle.loads(pickle.dumps(loader))
    assert len(pickle.dumps(loader)) == size
    assert compose(restored, ["seed=3"]) == compose(loader, ["seed=3"])


def test_no_other_module_imports_hydras_private_packages() -> None:
    modules = [path for path in (ROOT / "src").rglob("*.py") if "hydra._internal" in path.read_text(encoding="utf-8")]
    assert [path.relative_to(ROOT) for path in modules] == [Path("src/config/hydra_adapter.py")]


def test_a_composition_does_not_depend_on_earlier_compositions() -> None:
    loader = Loader(CONF, "train")
    compose(loader, ["experiment=best_bilstm"])  # fills the node param_groups of the primary config
    assert compose(loader, ["model/encoder=rnn"]).param_groups == {}
