"""Trainings that start with the weights of another model."""

import shutil
from pathlib import Path

import pytest
import torch

from heedful.base.errors import UserError
from heedful.runs.checkpoint import read_checkpoint
from tests.helpers import assert_equal_weights, last_weights, trained

TEXTS = ["good film", "bad film", "so so", "rather good", "quite bad", "not so good"]


def data(folder: Path, classes: str) -> list[str]:
    path = folder / f"{classes}.csv"
    path.write_text(
        "text,label\n" + "".join(f"{text} {i},{classes[i % len(classes)]}\n" for i, text in enumerate(TEXTS * 5))
    )
    return ["data=csv", f"data.path='{path}'", "data.test_fraction=0"]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last checkpoint of another model."""
    folder = tmp_path_factory.mktemp("origin")
    return trained(folder / "run", *data(folder, "abc"))


def test_equal_components_are_taken_and_the_others_are_new(origin: Path, tmp_path: Path, capfd) -> None:
    constant = ["optimizer.lr=0", "trainer.max_epochs=1", f"init_from='{origin.parents[1]}'"]
    options = [*data(tmp_path, "xy"), *constant, "model.embedding.dropout=0.5"]
    last = trained(tmp_path / "run", *options)
    assert "tokenizer, embedding, encoder, attention. New: head." in capfd.readouterr().out
    (before, _), (after, _) = read_checkpoint(origin), read_checkpoint(last)
    assert after.codec.tokenizer.to_json() == before.codec.tokenizer.to_json()
    best = torch.load(origin.with_name("best.ckpt"), weights_only=True)["state_dict"]
    taken = {name: value for name, value in last_weights(tmp_path / "run").items() if not name.startswith("model.head")}
    assert all(torch.equal(value, best[name]) for name, value in taken.items()) and taken
    trained(tmp_path / "same", *data(tmp_path, "abc"), *constant)
    assert all(torch.equal(value, best[name]) for name, value in last_weights(tmp_path / "same").items())
    with pytest.raises(UserError, match=r"init_from=.*: model\.encoder\.hidden_dim: was 6, but is now 5\. Set what"):
        trained(tmp_path / "other", *options, "model.encoder.hidden_dim=5")


def test_a_training_resumes_exactly_without_the_other_model(origin: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copy(origin, tmp_path / "copied.ckpt"))
    options = [*data(tmp_path, "xy"), f"init_from='{copied}'"]
    trained(tmp_path / "whole", *options)
    last = trained(tmp_path / "parts", *options, "trainer.max_epochs=1")
    copied.unlink()
    trained(tmp_path / "parts", *options, f"ckpt_path='{last}'")
    assert_equal_weights(tmp_path / "whole", tmp_path / "parts")
