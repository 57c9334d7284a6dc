"""Data sets of the hub, replaced by local ones."""

from typing import Any

import datasets
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

from src.data import hub
from src.data.sources.hub import Hub
from src.errors import UserError

FEATURES = Features({"sentence": Value("string"), "label": ClassLabel(names=["neg", "pos"])})


@pytest.fixture(autouse=True)
def hub_sets(unset_offline_mode: None, monkeypatch: pytest.MonkeyPatch) -> dict[str, DatasetDict]:
    """The data sets of the hub by name."""
    sets = {
        "owner/named": DatasetDict(
            {
                "train": Dataset.from_dict({"sentence": [f"t{i}" for i in range(20)], "label": [0, 1] * 10}, FEATURES),
                "validation": Dataset.from_dict({"sentence": ["v0", "v1"], "label": [1, 0]}, FEATURES),
                "test": Dataset.from_dict({"sentence": ["x0", "x1"], "label": [-1, -1]}, FEATURES),
            }
        ),
        "plain": DatasetDict({"train": Dataset.from_dict({"text": ["a", "b", "c"], "label": ["y", "x", "y"]})}),
    }

    def load_dataset(name: str, config: str | None) -> DatasetDict:
        if name not in sets or config is not None:
            raise datasets.exceptions.DatasetNotFoundError(f"{name} {config} does not exist\nand more")
        return sets[name]

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(hub, "_responds", lambda address: True)
    return sets


def test_class_names_and_splits_come_from_the_data_set(source_options: dict[str, Any]) -> None:
    module = Hub("owner/named", text="sentence", val_split="validation", test_split=None, **source_options)
    module.setup()
    assert module.class_names == ("neg", "pos")
    assert module.sizes == {"train": 16, "val": 2, "test": 4}
    assert module.texts("val", [1]) == ["v1"]
    assert module.tokenized("val").labels.tolist() == [1, 0]


def test_listed_classes_change_the_order(source_options: dict[str, Any]) -> None:
    module = Hub("owner/named", text="sentence", test_split=None, labels=["pos", "neg"], **source_options)
    corpus = module.read()
    assert corpus.class_names == ("pos", "neg")
    assert corpus.train.labels.tolist() == [1, 0] * 10


def test_labels_of_strings_are_sorted(source_options: dict[str, Any]) -> None:
    corpus = Hub("plain", test_split=None, **source_options).read()
    assert corpus.class_names == ("x", "y")
    assert corpus.train.labels.tolist() == [1, 0, 1]


def test_an_unlabelled_split_is_reported(source_options: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"owner/named \(test\): .*rows 1, 2"):
        Hub("owner/named", text="sentence", **source_options).read()


def test_the_fingerprint_depends_on_the_data_set(
    source_options: dict[str, Any], hub_sets: dict[str, DatasetDict]
) -> None:
    def fingerprint() -> str:
        return Hub("plain", test_split=None, **source_options).fingerprint()

    before = fingerprint()
    assert fingerprint() == before
    hub_sets["plain"]["train"] = hub_sets["plain"]["train"].select([0, 1])
    assert fingerprint() != before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "plain"}, r"no split 'test'.*only train.*data\.test_split"),
        (
            {"name": "plain", "test_split": None, "text": "texts"},
            r"plain \(train\): no column 'texts' .*'text'",
        ),
        (
            {"name": "nobody/nothing"},
            r"data\.name=nobody/nothing: cannot be loaded from the hub \(nobody/nothing None",
        ),
        ({"name": "plain", "config": "other"}, "plain other does not exist"),
        ({"name": "./folder"}, r"is a path.*data=csv data\.path=\./folder"),
    ],
)
def test_mistakes_are_reported(source_options: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Hub(**options, **source_options).read()


def test_texts_and_labels_are_different_columns(source_options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"text='label': is also the column of labels"):
        Hub("plain", text="label", **source_options)


def test_without_a_network_the_message_recommends_a_local_copy(
    source_options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_responds", lambda address: False)
    with pytest.raises(UserError, match=r"does not respond.*hf download owner/none"):
        Hub("owner/none", **source_options).fingerprint()
