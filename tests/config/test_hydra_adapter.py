"""The loader that composes files once gives what Hydra's own gives."""

import pickle
from pathlib import Path

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from src.config.hydra_adapter import Loader
from tests.config.conftest import FAKE
from tests.helpers import CONF, ROOT

ADDED = f"hydra.searchpath=[file://{CONF}]"


@pytest.fixture(scope="module")
def loader() -> Loader:
    """One for all tests, so that later ones find compositions of earlier ones."""
    return Loader(FAKE, "train")


def compose(loader: ConfigLoaderImpl, overrides: list[str], mode: RunMode = RunMode.RUN) -> DictConfig:
    return loader.load_configuration("train", list(overrides), mode)


def as_hydra(loader: Loader) -> ConfigLoaderImpl:
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
    [ADDED, "model/encoder=transformer", "seed=5"],
    ["seed=${oc.decode:'3'}", "tags=[a,b]"],
]


@pytest.mark.parametrize("lines", LINES)
def test_a_composition_equals_hydras(loader: Loader, lines: list[str]) -> None:
    expected = OmegaConf.to_container(compose(as_hydra(loader), lines), resolve=False)
    for _ in range(2):  # composed, then from memory
        cfg = compose(loader, lines)
        assert OmegaConf.to_container(cfg, resolve=False) == expected
        assert OmegaConf.is_struct(cfg)
        cfg.hydra.job.name, cfg.seed = "changed", None  # a change of a result does not reach the next one


def test_a_sweeps_composition_equals_hydras(loader: Loader) -> None:
    lines = ["seed=1,2", "model/encoder=wide,narrow", "model/attention=none", "train=false"]
    expected = compose(as_hydra(loader), lines, RunMode.MULTIRUN)
    assert compose(loader, lines, RunMode.MULTIRUN) == expected
    job = ["seed=2", "model/encoder=narrow", "model/attention=none", "train=false"]
    assert loader.load_sweep_config(expected, job) == as_hydra(loader).load_sweep_config(expected, job)


@pytest.mark.parametrize(
    "line", ["sede=1", "seed=1,2", "model/encoder=nowhere", "~sede", "+seed=1", "seed=${", "~data=x"]
)
def test_errors_are_hydras(loader: Loader, line: str) -> None:
    with pytest.raises(HydraException) as expected:
        compose(as_hydra(loader), [line])
    with pytest.raises(HydraException) as error:
        compose(loader, [line])
    assert (type(error.value), str(error.value)) == (type(expected.value), str(expected.value))


def test_a_loader_is_sent_without_its_compositions(loader: Loader) -> None:
    before = len(pickle.dumps(loader))
    compose(loader, ["model/attention=none", "logger=none"])
    received = pickle.loads(pickle.dumps(loader))
    assert len(pickle.dumps(loader)) == before
    assert compose(received, ["seed=3"]) == compose(loader, ["seed=3"])


def test_no_other_module_imports_hydras_private_packages() -> None:
    modules = [path for path in (ROOT / "src").rglob("*.py") if "hydra._internal" in path.read_text(encoding="utf-8")]
    assert [path.relative_to(ROOT) for path in modules] == [Path("src/config/hydra_adapter.py")]


def test_a_composition_does_not_depend_on_earlier_ones() -> None:
    loader = Loader(CONF, "train")
    compose(loader, ["experiment=best_bilstm"])  # fills the node param_groups of the primary config
    assert compose(loader, ["model/encoder=rnn"]).param_groups == {}
