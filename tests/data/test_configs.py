"""The YAML files of data sets and tokenizers instantiate the classes that they name."""

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, Features, Value
from omegaconf import DictConfig, OmegaConf

from heedful.config.compose import without_hydra
from heedful.data.source import Source
from heedful.data.tokenizer import Word
from heedful.training import build
from tests.config.nodes import choice_nodes
from tests.data.data_files import ready
from tests.helpers import CONF, repository

SOURCES = sorted({path.stem for path in (Path(CONF) / "data").glob("*.yaml")} - {"base"})
REQUIRED = {
    "rotten_tomatoes": {"path": "file.tsv"},
    "eraser_movies": {"path": "."},
    "csv": {"path": "file.tsv"},
    "hub": {"name": "owner/name"},
}
# Columns of the files on the hub: the names of a ClassLabel, or the text of each label
LABEL_NAMES: dict[str, list[str]] = {
    "mr": ["neg", "pos"],
    "ag_news": ["World", "Sports", "Business", "Sci/Tech"],
    "dbpedia": ["Company", "Artist", "Album"],
    "yelp_polarity": ["1", "2"],
    "tweet_eval": ["negative", "neutral", "positive"],
    "emotion": ["sadness", "joy", "love", "anger", "fear", "surprise"],
}
LABEL_TEXTS: dict[str, list[str]] = {
    "trec": ["abbreviation", "entity", "number"],
    "subj": ["objective", "subjective"],
    "cr": ["negative", "positive"],
    "mpqa": ["negative", "positive"],
    "20_newsgroups": ["alt.atheism", "rec.autos", "sci.med"],
    "banking77": ["activate_my_card", "age_limit", "card_swallowed"],
}
CLASSES = {"mr": ["negative", "positive"], "yelp_polarity": ["negative", "positive"]}


def config(choice: str, **options: Any) -> DictConfig:
    """A configuration with the file of a data set and further options of it."""
    cfg = without_hydra(repository("train").compose(["seed=17"]))
    OmegaConf.set_struct(cfg, False)
    cfg.data = choice_nodes("data")["data"][choice] | {"progress": False, **options}
    return cfg


def make(cfg: DictConfig) -> Any:
    return build.make(cfg, "data")


def save_split(folder: Path, name: str, split: str, texts: int) -> None:
    """Write made-up texts into a file of the format and with the columns that the data set has on the hub."""
    names = LABEL_NAMES.get(name) or LABEL_TEXTS[name]
    numbers = [i % len(names) for i in range(texts)]
    contents = [f"{split} text {i}" for i in range(texts)]
    if name in LABEL_NAMES:
        columns = {"label": numbers, "content" if name == "dbpedia" else "text": contents}
        features = Features({column: Value("string") for column in columns} | {"label": ClassLabel(names=names)})
        Dataset.from_dict(columns, features).to_parquet(folder / f"{split}-00000-of-00001.parquet")
    else:
        label = "label_coarse_text" if name == "trec" else "label_text"
        rows = [{"text": text, "label": i, label: names[i]} for text, i in zip(contents, numbers, strict=True)]
        (folder / f"{split}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.parametrize("name", [*LABEL_NAMES, *LABEL_TEXTS])
def test_local_files_are_read_like_those_of_the_hub(name: str, tmp_path: Path) -> None:
    sizes = {"train": 61, "test": 29}
    if "val_split" in config(name).data:
        sizes["validation"] = 23
    for split, texts in sizes.items():
        save_split(tmp_path, name, split, texts)
    module = ready(make(config(name, path=str(tmp_path), cache_dir=str(tmp_path / "cache"))))
    held_out = 0 if "validation" in sizes else 6
    assert module.sizes == {"train": 61 - held_out, "val": sizes.get("validation", held_out), "test": 29}
    expected = CLASSES.get(name) or LABEL_NAMES.get(name) or LABEL_TEXTS[name]
    assert sorted(module.class_names) == sorted(expected)
    labels = module.tokenized("test").labels
    assert [module.class_names[label] for label in labels] == [expected[i % len(expected)] for i in range(29)]


@pytest.mark.parametrize("name", SOURCES)
def test_each_data_set_is_instantiated(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("file.tsv", "train.parquet", "validation.parquet", "test.parquet"):
        (tmp_path / file).touch()
    module = make(config(name, **REQUIRED.get(name, {}), batch_size=13, limit=99))
    assert isinstance(module, Source)
    assert (module.batch_size, module.splitting.limit, module.seed) == (13, 99, 17)
    assert module.tokenizer == Word()


def test_defaults_in_yaml_and_code_agree() -> None:
    yaml_defaults = OmegaConf.to_container(config("imdb", progress=True, seed=0).data, resolve=True)
    options = inspect.signature(Source.__init__).parameters.values()
    general = [option for option in options if option.kind is option.KEYWORD_ONLY and option.name != "tokenizer"]
    code_defaults = {option.name: option.default for option in general}
    assert {name: value for name, value in yaml_defaults.items() if name in code_defaults} == code_defaults
    assert set(yaml_defaults) - set(code_defaults) == {"_target_", "tokenizer", "path", "name", "labels"}


def test_the_bundled_reviews_are_read_and_split(tmp_path: Path) -> None:
    module = make(config("small_csv", seed=0, cache_dir=str(tmp_path)))
    corpus = module.read()
    assert corpus.task.classes == ("negative", "neutral", "positive")
    assert np.bincount(corpus.train.labels).tolist() == [18, 8, 13]
    assert corpus.train.texts[0] == "i love this speaker"
    module.setup()
    assert module.sizes == {"train": 28, "val": 3, "test": 8}
