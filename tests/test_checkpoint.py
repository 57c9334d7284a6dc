"""What a checkpoint holds, and what is said of a file that is none."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from src import build
from src.checkpoint import load
from src.errors import UserError
from tests.helpers import small_config, trained


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("checkpoint") / "run")


def test_it_holds_plain_values_and_all_that_its_weights_need(checkpoint: Path) -> None:
    card, weights = load(checkpoint)
    assert card.config["model"]["encoder"]["hidden_dim"] == 6
    assert card.codec.class_names == ("negative", "neutral", "positive")
    assert sum(card.class_counts) == 28
    assert {name.split(".")[0] for name in weights} == {"model"}  # no metric, no copy of anything


def test_the_model_comes_back(checkpoint: Path) -> None:
    card, (model, _) = build.restore(str(checkpoint), small_config(checkpoint).extras)
    _, weights = load(checkpoint)
    for name, value in model.state_dict().items():
        assert torch.equal(value, weights[f"model.{name}"]), name
    assert len(card.codec.tokenizer.vocabulary) == model.embedding.table.num_embeddings


def torchs(content: Any) -> bytes:
    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("letter.txt", "hello")
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"", "the file is empty", id="empty"),
        pytest.param(b"epoch,step\n0,1\n", "is no checkpoint", id="text"),
        pytest.param(zipped(), "is no checkpoint", id="zip"),
        pytest.param(torchs({"a": Path("x")}), "is no checkpoint, or one that holds more than plain", id="objects"),
        pytest.param(torchs(torch.zeros(3)), "is a checkpoint, but not one of Heed's", id="tensor"),
        pytest.param(
            torchs({"state_dict": {}, "epoch": 3}), "is a checkpoint, but not one of Heed's", id="another project's"
        ),
        pytest.param(
            torchs({"state_dict": {}, "heed": {"config": {}}}),
            "was written by another version of Heed",
            id="another age",
        ),
    ],
)
def test_files_of_another_kind_are_told_apart(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.ckpt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=rf"odd\.ckpt:? {said}") as error:
        load(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_checkpoint_cut_short_is_named(share: float, checkpoint: Path, tmp_path: Path) -> None:
    data = checkpoint.read_bytes()
    path = tmp_path / "half.ckpt"
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(UserError, match=r"half\.ckpt: the checkpoint was cut short"):
        load(path)


def test_folders_and_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is a folder: name a file in it, such as .*checkpoints/best\.ckpt"):
        load(tmp_path)
    with pytest.raises(UserError, match=r"gone\.ckpt: no such checkpoint"):
        load(tmp_path / "gone.ckpt")


def test_a_class_that_is_not_trusted_is_not_run(checkpoint: Path, tmp_path: Path) -> None:
    extras = small_config(tmp_path).extras
    content = torch.load(checkpoint, weights_only=True)
    content["heed"]["config"]["model"]["attention"] = {"_target_": "subprocess.Popen", "args": "false"}
    content["heed"]["config"]["extras"]["trusted_modules"] = ["subprocess"]  # it must not say so itself
    torch.save(content, tmp_path / "odd.ckpt")
    with pytest.raises(UserError, match="subprocess is not a trusted module"):
        build.restore(str(tmp_path / "odd.ckpt"), extras)


def test_weights_that_do_not_fit_are_named(checkpoint: Path, tmp_path: Path) -> None:
    extras = small_config(tmp_path).extras
    content = torch.load(checkpoint, weights_only=True)
    content["heed"]["config"]["model"]["encoder"]["hidden_dim"] = 7
    torch.save(content, tmp_path / "odd.ckpt")
    with pytest.raises(UserError, match=r"odd\.ckpt: its weights do not fit this model: size mismatch for"):
        build.restore(str(tmp_path / "odd.ckpt"), extras)


@pytest.mark.parametrize(("option", "said"), [("model.encoder.hidden_dim=7", "do not fit"), ("seed=1", "")])
def test_training_resumes_only_the_same_model(option: str, said: str, checkpoint: Path, tmp_path: Path) -> None:
    resumed = [f"ckpt_path={checkpoint}", option]
    if not said:
        trained(tmp_path / "run", *resumed)
        return
    with pytest.raises(UserError, match=said):
        trained(tmp_path / "run", *resumed)
