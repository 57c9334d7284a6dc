"""Every listed key exists, and `options_in` omits the options of a list."""

import re
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("key", sorted(keys.UNRELATED_TO_RESULT))
def test_every_key_exists(key: str) -> None:
    from pytorch_lightning import Trainer

    name = key.rpartition(".")[2]
    is_in_conf = any(
        re.search(rf"^[\s+]*(- )?{name}:", path.read_text(), re.MULTILINE) for path in Path(CONF).rglob("*.yaml")
    )
    is_added = key in ("callbacks.pruning", "callbacks.finite_loss", "train")  # by a search; in released records
    assert is_in_conf or is_added or (Path(CONF) / key.replace(".", "/")).is_dir() or name in of_class(Trainer).options


def test_the_components_are_the_options_of_the_classifier() -> None:
    assert list(of_class(Classifier).options) == [*keys.MODEL_COMPONENTS, "branch"]


def test_options_in_omits_unrelated_options() -> None:
    remaining = keys.options_in(CONFIG, keys.UNRELATED_TO_RESULT)
    assert list(remaining) == ["data.limit", "model.head.dims", "callbacks.early_stopping"]
    assert remaining["model.head.dims"] == [1, 2]
    assert remaining["callbacks.early_stopping"] == {}


def test_a_key_with_the_same_first_letters_is_not_within() -> None:
    assert keys.is_within("data.seed", ["data"]) and keys.is_within("data", ["data"])
    assert not keys.is_within("database", ["data"])
