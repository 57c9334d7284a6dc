"""Every listed key exists, and `options_in` omits the options of a list."""

import re
from pathlib import Path

from heedful.config import keys
from heedful.config.schema import of_class
from heedful.models.classifier import Classifier
from tests.helpers import CONF

CONFIG = {
    "seed": 1,
    "data": {"seed": 1, "path": "a.csv", "limit": 3},
    "model": {"head": {"dims": [1, 2]}},
    "callbacks": {"progress": {"refresh_rate": 2}, "early_stopping": {}},
}


def test_every_key_exists() -> None:
    from pytorch_lightning import Trainer

    text = "\n".join(path.read_text() for path in Path(CONF).rglob("*.yaml"))
    names = {*re.findall(r"^[\s+]*(?:- )?(\w+):", text, re.MULTILINE), *of_class(Trainer).options}
    earlier = {"callbacks.pruning", "callbacks.finite_loss", "train"}  # in records
    for key in {*keys.UNRELATED_TO_RESULT} - earlier:
        assert key.rpartition(".")[2] in names or (Path(CONF) / key.replace(".", "/")).is_dir(), key


def test_the_components_are_the_options_of_the_classifier() -> None:
    assert list(of_class(Classifier).options) == [*keys.MODEL_COMPONENTS, "branch", "segments", "columns"]


def test_options_in_omits_unrelated_options() -> None:
    remaining = keys.options_in(CONFIG, keys.UNRELATED_TO_RESULT)
    assert remaining == {"data.limit": 3, "model.head.dims": [1, 2]}  # the empty node of a callback is no option


def test_a_key_with_the_same_first_letters_is_not_within() -> None:
    assert keys.is_within("data.seed", ["data"]) and keys.is_within("data", ["data"])
    assert not keys.is_within("database", ["data"])


def test_the_classes_of_an_earlier_version_get_their_names_of_today() -> None:
    text = "\n".join(path.read_text() for path in Path(CONF).rglob("*.yaml"))
    today = sorted(set(re.findall(r"_target_: (heedful\.\S+)", text)))
    assert len(today) > 50 and "heedful.training.loggers.wandb.Wandb" in today
    earlier = [re.sub(r"^heedful\.(training\.)?", "src.", name) for name in today]
    nodes = {
        "of": [{"_target_": name, "lr": 0.5} for name in earlier],
        "text": "src.models",
        "_target_": "torch.optim.Adam",
    }
    expected = [{"_target_": name, "lr": 0.5} for name in today]
    assert keys.rename_earlier(nodes) == nodes | {"of": expected}
    assert keys.rename_earlier({"data": {"rationale": "spans"}}) == {"data": {"keep_columns": ["spans"]}}
