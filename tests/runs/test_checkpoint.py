"""The content of a checkpoint, and the messages for files that are not valid checkpoints."""

import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from heedful.base.errors import UserError
from heedful.config.keys import MODEL_COMPONENTS
from heedful.data.schema import Schema
from heedful.data.tokenizer import Word
from heedful.data.trained_texts import TrainedTexts
from heedful.inference.api import restore_ensemble
from heedful.runs.checkpoint import HASHED, Card, read_checkpoint
from heedful.training import restoring
from tests.helpers import change_card, evaluate, small_config


def test_a_checkpoint_contains_configuration_codec_and_weights(checkpoint: Path) -> None:
    card, content = read_checkpoint(checkpoint)
    weights = content["state_dict"]
    assert card.config["model"]["encoder"]["hidden_dim"] == 6
    assert card.codec.class_names == ("negative", "neutral", "positive")
    assert sum(card.class_counts) == 28
    assert {name.split(".")[0] for name in weights} == {"model"}  # neither metrics nor copies of the weights


def serialize(content: Any) -> bytes:
    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()


def zip_archive(zeros: int = 0) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("letter.txt", b"hello" + bytes(zeros))
    return file.getvalue()


def small_checkpoint(**changes: Any) -> dict[str, Any]:
    """The content of a small checkpoint."""
    config = {"model": {name: {"_target_": "some.Class"} for name in MODEL_COMPONENTS}, "loss": {}, "data": {}}
    tokenizer = Word(vocab_size=5).train(["good bad film"] * 2)
    codec = Schema(tokenizer=tokenizer, class_names=("a", "b"), max_length=7, keep="first")
    weights = {"model.weight": torch.arange(6.0).reshape(2, 3), "model.number": torch.tensor([7])}
    card = Card(config=config, codec=codec, class_counts=[3, 5]).model_dump_json()
    return {"heedful": card, "state_dict": weights, **changes}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "is damaged, or is not a checkpoint", id="empty"),
        pytest.param(zip_archive(), "is damaged, or is not", id="zip"),
        pytest.param(zip_archive(10**8), r"is damaged, or .* \(its entries are larger than the file", id="zip bomb"),
        pytest.param(serialize(torch.zeros(3)), "is not a checkpoint of Heedful", id="tensor"),
        pytest.param(serialize({"state_dict": {}, "epoch": 3}), "is not a checkpoint of Heedful", id="another project"),
        *(
            (serialize(small_checkpoint(heedful=card)), "was written by another version of Heedful")
            for card in ('{"config": {}}', "[" * 100_000, "\x00", {"config": {}}, 7, None)
        ),
    ],
)
def test_files_that_are_not_checkpoints_are_reported(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.ckpt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=rf"odd\.ckpt:? {message}") as error:
        read_checkpoint(path)
    assert "\n" not in str(error.value)


def test_a_mistake_in_the_configuration_is_reported_with_the_file(checkpoint: Path, tmp_path: Path) -> None:
    path = str(change_card(checkpoint, "config.model.encoder.dropout", 2, tmp_path / "model.ckpt"))
    message = r"1 mistake in the configuration.*\n  model\.encoder\.dropout=2 +must be less than 1"
    with pytest.raises(UserError, match=rf"^{path}: {message}"):
        restore_ensemble([str(checkpoint), path], small_config(tmp_path).extras)
    path = str(change_card(checkpoint, "config.data.wrong", 1, tmp_path / "data.ckpt"))
    with pytest.raises(UserError, match=rf"^{path}: 1 mistake in the configuration.*\n  data\.wrong=1 +no such option"):
        evaluate(tmp_path / "eval", path)


def test_a_file_with_a_changed_or_a_missing_byte_is_reported(tmp_path: Path) -> None:
    original, path = small_checkpoint(), tmp_path / "odd.ckpt"
    data = serialize(original)
    number = data.index(original["state_dict"]["model.weight"].numpy().tobytes()) + 7
    for damaged in (data[:number] + bytes([data[number] ^ 1]) + data[number + 1 :], data[:-1]):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"odd\.ckpt: is damaged") as error:
            read_checkpoint(path)
        assert "\n" not in str(error.value)


def value_paths(node: Any, path: str = "") -> Iterator[str]:
    """The dotted paths of all values in nested mappings."""
    for key, value in node.items() if isinstance(node, dict) else ():
        yield f"{path}{key}"
        yield from value_paths(value, f"{path}{key}.")


def test_any_wrong_value_in_a_card_is_reported_in_one_line(tmp_path: Path) -> None:
    path, errors = tmp_path / "odd.ckpt", 0
    torch.save(small_checkpoint(), tmp_path / "right.ckpt")
    values = cycle((None, True, -1, 10**600, float("nan"), "x", [], [None], {}, {"a": 1}, 0.5))
    for location in value_paths(json.loads(small_checkpoint()["heedful"])):
        for value in islice(values, 4):
            change_card(tmp_path / "right.ckpt", location, value, path)
            try:
                read_checkpoint(path)
            except UserError as error:
                assert "\n" not in str(error) and len(str(error)) < 600
                assert "odd.ckpt: was written by another version of Heedful, or is damaged (" in str(error)
                errors += 1
    assert errors > 40


def tokenizer_json(**changes: Any) -> str:
    state = json.loads(json.loads(small_checkpoint()["heedful"])["codec"]["tokenizer"])
    model = {**state["model"], **changes.pop("model", {})}
    return json.dumps({**state, "model": model, **changes})


def sequence(name: str, step: dict[str, Any]) -> str:
    """Return a tokenizer with a step that is repeated, so that the length of a text grows exponentially."""
    return tokenizer_json(**{name: {"type": "Sequence", f"{name.replace('_', '')}s": [step] * 30}})


TOKENIZERS = {
    "no vocabulary": tokenizer_json(model={"vocab": {}}),
    "no unknown token": tokenizer_json(model={"unk_token": "other"}),
    "token number of 32 bits": tokenizer_json(model={"vocab": {"<pad>": 0, "<unk>": 1, "a": 2**32 - 1}}),
    "another type": tokenizer_json(pre_tokenizer={"type": "Other"}),
    "pattern with an empty alternative": tokenizer_json().replace('"<br', '"|<br'),
    "nesting": "[" * 200_000,
    "growth": sequence("normalizer", {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}),
    "growth between characters": sequence("normalizer", {"type": "Replace", "pattern": {"Regex": ""}, "content": "a"}),
    "growth of bytes": sequence("pre_tokenizer", {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}),
    "growth of unknown words": tokenizer_json(model={"vocab": {"a": 0, "u" * 999: 1}, "unk_token": "u" * 999}),
}


@pytest.mark.parametrize(
    ("location", "value", "message"),
    [
        ("config", [], r"config: input should be"),
        ("config.data.text", [None], r"data\.text"),
        ("codec.max_length", 0, r"codec\.max_length: input should be"),
        ("codec.max_length", 10**30, r"codec\.max_length: input should be"),
        ("codec.task", {}, r"empty sequence"),
        ("codec.task", {"classes": ["a", "a"]}, r"classes: two have the same name"),
        ("codec.task", {"classes": ["a", "b"], "temperature": 0.0}, r"temperature"),
        ("codec.task", {"name": "regression", "scale": float("nan")}, r"scale"),
        ("codec.task", {"name": "multilabel", "classes": ["a", "b"], "thresholds": [None, 0.5]}, r"thresholds"),
        ("codec.task", {"name": "multilabel", "classes": ["a", "b"], "thresholds": [0.5, 0.5, 0.5]}, r"shapes"),
        ("codec.columns", [{"name": "age", "scale": 0.0}], r"columns\.0\.(number\.)?scale"),
        *(
            pytest.param(
                "codec.tokenizer", text, rf"tokenizer: cannot be used{' .it may make a' * ('growth' in name)}", id=name
            )
            for name, text in TOKENIZERS.items()
        ),
        ("class_counts", [3, -1], r"class_counts\.1: input should be greater than or equal to 0"),
        ("class_counts", [3, 5, 7], r"class_counts: expects 2 numbers, one for each class"),
    ],
)
def test_a_damaged_card_is_reported(location: str, value: Any, message: str, tmp_path: Path) -> None:
    torch.save(small_checkpoint(), tmp_path / "odd.ckpt")
    change_card(tmp_path / "odd.ckpt", location, value)
    with pytest.raises(
        UserError, match=rf"odd\.ckpt: was written by another version of Heedful, or is damaged \(.*{message}"
    ):
        read_checkpoint(tmp_path / "odd.ckpt")


@pytest.mark.parametrize(
    "weights",
    [
        [torch.zeros(2)],
        None,
        {"model.weight": [0.0, 1.0]},
        {"a": torch.zeros(2).to_sparse()},
        {"a": torch.tensor([1e300], dtype=torch.float64)},
        {7: torch.zeros(2)},
        {"a": torch.zeros(2, device="meta")},
        {"a": torch.zeros(1).expand(10**12)},
        {"a": torch.tensor([0.0, float("nan")])},
        {"a": torch.tensor([0.0, float("-inf")])},
        {"a": torch.tensor([1j])},
    ],
    ids=range(11),
)
def test_weights_that_are_not_dense_tensors_of_finite_numbers_are_reported(weights: Any, tmp_path: Path) -> None:
    torch.save(small_checkpoint(state_dict=weights), tmp_path / "odd.ckpt")
    with pytest.raises(UserError, match=r"odd\.ckpt(:| is not) .*(not a dense tensor|lacks the weights)"):
        read_checkpoint(tmp_path / "odd.ckpt")


@pytest.mark.parametrize("name", HASHED)
def test_the_hashes_of_the_training_texts_are_stored_up_to_a_number(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("heedful.runs.checkpoint.MAX_HASHES", 3)
    card = Card.model_validate_json(small_checkpoint()["heedful"], strict=True)
    path = tmp_path / "a.ckpt"
    for digests, expected in (([7, -5, 7], ([-5, 7], 2)), ([7, -5, 2**62, 3], ([-5, 3, 7], 4))):
        own = card.model_copy(update={name: TrainedTexts.of(np.array(digests))})
        torch.save(small_checkpoint(**own.content()), path)
        texts = getattr(read_checkpoint(path)[0], name)
        assert texts is not None and (texts.hashes.tolist(), texts.distinct) == expected
    torch.save(small_checkpoint(), path)
    assert getattr(read_checkpoint(path)[0], name) is None


@pytest.mark.parametrize(
    "stored",
    [
        *([], torch.zeros(2), {}, {"hashes": torch.tensor([3])}, {"hashes": [3], "distinct": 1}),
        *(
            {"hashes": hashes, "distinct": 3}
            for hashes in (
                *(torch.tensor([]), torch.tensor(3), torch.tensor([[3]]), torch.zeros(2), torch.arange(4)),
                *(torch.arange(2, device="meta"), torch.tensor([0, 3]).to_sparse(), torch.tensor(3).expand(10**12)),
            )
        ),
        {"hashes": torch.tensor([3]), "distinct": True},
        {"hashes": torch.arange(100_001), "distinct": 100_001},
    ],
    ids=range(15),
)
def test_wrong_hashes_of_training_texts_are_reported(stored: Any, tmp_path: Path) -> None:
    torch.save(small_checkpoint(trained_texts=stored), tmp_path / "odd.ckpt")
    with pytest.raises(UserError, match=r"odd\.ckpt: the hashes of its training texts are damaged"):
        read_checkpoint(tmp_path / "odd.ckpt")


@pytest.mark.parametrize("create", [os.mkfifo, os.mkdir, lambda path: os.symlink("odd.ckpt", path), str])
def test_a_path_that_is_not_a_file_is_reported(create: Callable[[Path], object], tmp_path: Path) -> None:
    create(tmp_path / "odd.ckpt")
    with pytest.raises(UserError, match=r"odd\.ckpt: no such checkpoint"):
        read_checkpoint(tmp_path / "odd.ckpt")
    with pytest.raises(UserError, match="no such checkpoint"):
        read_checkpoint("a" * 5000)


@pytest.mark.parametrize("size", [13, 10**9, 10**18])
def test_sizes_of_a_card_are_compared_before_memory_is_allocated(size: int, checkpoint: Path, tmp_path: Path) -> None:
    extras = small_config(tmp_path).extras
    change_card(checkpoint, "config.model.encoder.hidden_dim", size, tmp_path / "odd.ckpt")
    with pytest.raises(UserError, match=r"odd\.ckpt: (its weights do not fit|model\.encoder: needs more memory)"):
        restoring.restore(str(tmp_path / "odd.ckpt"), extras)
