"""The YAML files of data sets and tokenizers instantiate the classes that they name."""

import inspect
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue

from src.data.datamodule import TextDataModule
from src.data.sources.eraser_movies import EraserMovies
from src.data.sources.hub import Hub
from src.data.sources.imdb import Imdb
from src.data.sources.rotten_tomatoes import RottenTomatoes
from src.data.sources.small_csv import SmallCsv
from src.data.sources.sst2 import FILES, Sst2
from src.data.sources.table import Table
from src.data.tokenizer import Bpe, Pretrained, Whitespace, Word, WordPiece

CONF = Path(__file__).parents[2] / "conf"
SOURCES: dict[str, tuple[type[TextDataModule], list[str]]] = {
    "small_csv": (SmallCsv, []),
    "imdb": (Imdb, []),
    "rotten_tomatoes": (RottenTomatoes, ["data.path=file.tsv"]),
    "sst2": (Sst2, []),
    "eraser_movies": (EraserMovies, ["data.path=."]),
    "csv": (Table, ["data.path=file.tsv"]),
    "hub": (Hub, ["data.name=owner/name"]),
}


def config(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", list(overrides))


def make(cfg: DictConfig) -> Any:
    return instantiate(cfg.data, _convert_="all")


def test_every_data_set_is_tested() -> None:
    assert {path.stem for path in (CONF / "data").glob("*.yaml")} == {*SOURCES, "base"}


@pytest.mark.parametrize("name", SOURCES)
def test_each_data_set_is_instantiated(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("file.tsv", *FILES.values()):
        (tmp_path / file).touch()
    source, required = SOURCES[name]
    cfg = config(f"data={name}", *required, "data.batch_size=13", "data.limit=99", "seed=17")
    module = make(cfg)
    assert isinstance(module, source)
    assert (module.batch_size, module.splitting.limit, module.seed) == (13, 99, 17)
    assert module.tokenizer == Word()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("word", Word()),
        ("whitespace", Whitespace()),
        ("bpe", Bpe()),
        ("wordpiece", WordPiece()),
        ("pretrained", Pretrained("some-model")),
    ],
)
def test_each_tokenizer_is_instantiated(name: str, expected: Any) -> None:
    extra = ["data.tokenizer.name_or_path=some-model"] if name == "pretrained" else []
    module = make(config("data=imdb", f"data/tokenizer={name}", *extra))
    assert module.tokenizer == expected


def test_defaults_in_yaml_and_code_agree() -> None:
    yaml_defaults = OmegaConf.to_container(config("data=imdb", "seed=0").data, resolve=True)
    assert isinstance(yaml_defaults, dict)
    options = inspect.signature(TextDataModule.__init__).parameters
    code_defaults = {name: option.default for name, option in options.items() if name not in ("self", "tokenizer")}
    assert {name: value for name, value in yaml_defaults.items() if name in code_defaults} == code_defaults
    assert set(yaml_defaults) - set(code_defaults) == {"_target_", "tokenizer", "path"}


def test_classes_are_listed_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.csv").touch()
    module = make(config("data=csv", "data.path=file.csv", "data.labels=[negative,neutral,positive]"))
    assert module.classes == ("negative", "neutral", "positive")
    assert module.paths == {"train": tmp_path / "file.csv"}


@pytest.mark.parametrize(("name", "key"), [("csv", "path"), ("rotten_tomatoes", "path"), ("hub", "name")])
def test_required_options_are_marked_missing(name: str, key: str) -> None:
    assert OmegaConf.is_missing(config(f"data={name}").data, key)


def test_the_shared_base_has_no_target() -> None:
    with pytest.raises(MissingMandatoryValue):
        _ = config("data=base").data._target_
