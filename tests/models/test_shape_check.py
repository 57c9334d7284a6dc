"""A component of a user that returns a wrong shape is reported before the data are read."""

from pathlib import Path

import pytest
import torch

from src import build
from src.dry_build import dry_build
from src.errors import UserError
from src.models.component import Encoded
from src.models.shape_check import check_shapes
from tests.helpers import small_config, train
from tests.models import wrong_shapes

D = 11
BASIS = {"attention": "none", "encoder": "identity", "pooling": "mean", "head": "linear", "position": "none"}
SIZES = ["model/embedding=learned", f"model.embedding.dim={D}", "model/encoder=identity", "model/attention=none"]


def overrides(group: str, name: str) -> list[str]:
    return [
        *SIZES,
        f"model/{group}={BASIS.get(group, 'learned')}",
        f"model.{group}._target_=tests.models.wrong_shapes.{name}",
        "extras.trusted_modules=[tests]",
    ]


ENCODED = "it must return src.models.component.Encoded(states N×T×D, mask N×T, summary N×D)"
BOOL = "a mask must be torch.bool, True for a real token"
WRONG = [  # group, class, returned value, required value
    ("attention", "ScorePerFeature", "score returned a tensor of shape 3×7×11", "N×T = 3×7"),
    ("attention", "ScorePerText", "score returned a tensor of shape 3", "N×T = 3×7"),
    ("attention", "ScoreOfAll", "score returned a tensor of shape () (a single number)", "N×T = 3×7"),
    ("attention", "ScoreTransposed", "score returned a tensor of shape 7×3", "N×T = 3×7"),
    ("attention", "ScoreUnsqueezed", "score returned a tensor of shape 3×7×1", "N×T = 3×7"),
    ("attention", "ScoreWithoutReturn", "score returned a NoneType, not a tensor", "N×T = 3×7"),
    ("attention", "WeightsWithoutHeads", "weights returned a tensor of shape 3×7", "N×H×T×L = 3×H×T×7"),
    ("attention", "ProjectWithoutHeads", "project (queries) returned a tensor of shape 3×7×11", "N×H×L×d = 3×H×7×d"),
    ("attention", "ScorePerQuery", "score returned a tensor of shape 3×1×7", "N×H×L×L = 3×1×7×7"),
    ("attention", "AttentionOfTensors", "forward returned a Tensor", ENCODED),
    ("attention", "AttentionOfTuples", "forward returned a tuple", ENCODED),
    ("attention", "AttentionWithoutTokens", "forward (states) returned a tensor of shape 3×11", "N×T×D = 3×T×11"),
    ("attention", "AttentionWithALongSummary", "forward (summary) returned a tensor of shape 3×1×11", "N×D = 3×11"),
    ("attention", "AttentionWithANumericMask", "forward returned a mask of torch.float32", BOOL),
    ("attention", "AttentionWithAnotherMask", "forward (mask) returned a tensor of shape 3×7", "N×T = 3×1"),
    ("encoder", "EncoderOfTensors", "forward returned a Tensor", ENCODED),
    ("encoder", "EncoderOfTokensFirst", "forward (states) returned a tensor of shape 7×3×11", "N×T×D = 3×T×11"),
    ("encoder", "EncoderOfBothDirections", "forward (states) returned a tensor of shape 3×7×22", "N×T×D = 3×T×11"),
    ("pooling", "PoolingOfAll", "forward returned a tensor of shape 3×7×11", "N×D = 3×11"),
    ("pooling", "PoolingKeepsTheAxis", "forward returned a tensor of shape 3×1×11", "N×D = 3×11"),
    ("pooling", "PoolingOfAnotherSize", "forward returned a tensor of shape 3×11", "N×D = 3×22"),
    ("pooling", "PoolingOverFeatures", "forward returned a tensor of shape 3×7", "N×D = 3×11"),
    ("head", "HeadSqueezed", "forward returned a tensor of shape 3", "N×num_logits = 3×1"),
    ("head", "HeadOfAnotherSize", "forward returned a tensor of shape 3×5", "N×num_logits = 3×1"),
    ("head", "HeadOfAllTexts", "forward returned a tensor of shape () (a single number)", "N×num_logits = 3×1"),
    ("position", "PositionPooled", "forward returned a tensor of shape 3×11", "N×L×D = 3×7×11"),
    ("embedding", "EmbeddingOfFeaturesFirst", "forward returned a tensor of shape 3×11×7", "N×L×D = 3×7×11"),
]


@pytest.mark.parametrize(("group", "name", "result", "required"), WRONG, ids=[row[1] for row in WRONG])
def test_a_wrong_shape_is_reported(group: str, name: str, result: str, required: str) -> None:
    with pytest.raises(UserError) as error:
        dry_build(small_config(Path("unused"), overrides(group, name)))
    first, message = str(error.value).splitlines()
    assert first == "1 mistake in the configuration; nothing was started."
    assert message.startswith(f"  model   tests.models.wrong_shapes.{name}.{result}; ")
    assert message.endswith(required)


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        ("attention", "AttentionWithoutOutputDim", "None"),
        ("encoder", "EncoderWithoutOutputDim", "None"),
        ("encoder", "EncoderWithATextAsOutputDim", "'11'"),
    ],
)
def test_a_component_without_output_dim_is_reported(group: str, name: str, value: str) -> None:
    with pytest.raises(UserError) as error:
        dry_build(small_config(Path("unused"), overrides(group, name)))
    assert str(error.value).splitlines()[1:] == [
        f"  model.{group}   tests.models.wrong_shapes.{name} must set self.output_dim to an integer, the number of "
        f"features that it returns; the present value is {value}"
    ]


def test_a_wrong_shape_prevents_training(tmp_path: Path) -> None:
    options = [line for line in overrides("attention", "ScorePerFeature") if line != "model/encoder=identity"]
    with pytest.raises(UserError, match=r"ScorePerFeature\.score returned a tensor of shape 3×7×12; the shape must be"):
        train(tmp_path / "run", *options)
    assert not (tmp_path / "cache").exists()


def test_a_component_that_cannot_run_on_the_meta_device_is_checked_in_training() -> None:
    attention = wrong_shapes.ScoreReadsNumbers(D)
    dry_build(small_config(Path("unused"), overrides("attention", "ScoreReadsNumbers")))
    states = torch.randn(3, 7, D)
    with pytest.raises(UserError, match=r"ScoreReadsNumbers\.score returned a tensor of shape 3×7×11; .* N×T = 3×7$"):
        attention(Encoded(states, torch.ones(3, 7, dtype=torch.bool), states.mean(1)))


def test_correct_shapes_and_other_errors_are_not_reported() -> None:
    cfg = small_config(Path("unused"), SIZES)
    model = build.classifier(cfg, ("<pad>", "<unk>"), num_logits=1)
    check_shapes(model, num_logits=1)
    model.head = torch.nn.Linear(D + 2, 1)  # in training, its error is more specific
    check_shapes(model, num_logits=1)
