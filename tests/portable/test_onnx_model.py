"""Each encoder with each attention is exported to ONNX, with equal outputs for any number of texts and tokens."""

from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from heedful.base.errors import UserError
from heedful.data.padded_batches import BatchBuilder, Truncation
from heedful.models.attention.edge_query import EdgeQueryAttention
from heedful.models.branch import NgramBranch
from heedful.models.embedding.ngrams import NgramEmbedding
from heedful.models.loss import CrossEntropy
from heedful.portable.onnx_model import TOLERANCE, PortableModel, convert, feed, load_session
from heedful.tasks.multiclass import Multiclass
from tests.models.combinations import LOGITS, PAIRS, VOCABULARY, choices, compose, texts


def build_portable(**components: str) -> PortableModel:
    torch.manual_seed(0)
    return PortableModel(compose(**components), Multiclass(), len(VOCABULARY), max_length=40).eval()


@pytest.mark.parametrize(("encoder", "attention"), PAIRS)
def test_each_encoder_with_each_attention_is_exported(encoder: str, attention: str, tmp_path: Path) -> None:
    model = build_portable(encoder=encoder, attention=attention)
    assert convert(model, tmp_path / "model.onnx") <= TOLERANCE
    inputs = texts((17, 3, 0, 29))
    with torch.no_grad():
        expected = model(*inputs[:2])
    outputs = load_session(tmp_path / "model.onnx").run(None, feed(inputs))
    for output, each in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(output, each.numpy(), atol=TOLERANCE)
    weights, *by_class = outputs[1:]
    assert weights.shape == (4, 29) and [each.shape for each in by_class] == [(4, LOGITS, 29)] * (attention == "label")
    assert not weights[~inputs.mask.numpy()].any()


PARTS = [*zip(choices("pooling"), cycle(choices("position")), cycle(choices("normalizer")), strict=False)]


@pytest.mark.parametrize(("pooling", "position", "normalizer"), PARTS)
def test_each_pooling_position_and_normalizer_is_exported(pooling, position, normalizer, tmp_path) -> None:
    parts = {"pooling": pooling, "position": position, "normalizer": normalizer}
    model = build_portable(encoder="gru", attention="windowed", **parts)
    assert convert(model, tmp_path / "model.onnx") <= TOLERANCE


def test_binary_ngrams_and_scaling_by_length_are_exported(tmp_path: Path) -> None:
    model = build_portable(embedding="ngrams", encoder="bigru", attention="edge_query")
    assert isinstance(model.model.embedding, NgramEmbedding)
    assert isinstance(model.model.attention, EdgeQueryAttention)
    probabilities = model(*texts((17, 3, 29))[:2])[0]
    model.model.embedding.binary = True
    model.model.attention.reference_length = 11.0
    assert not torch.allclose(model(*texts((17, 3, 29))[:2])[0], probabilities)
    assert convert(model, tmp_path / "model.onnx") <= TOLERANCE


@pytest.mark.skipif(torch.__version__.startswith("2.6."), reason="torch 2.6 cannot export torch.lerp for any size")
@pytest.mark.parametrize("encoder", ["identity", "bigru"])
def test_a_linear_branch_is_exported(encoder: str, tmp_path: Path) -> None:
    model = build_portable(encoder=encoder)
    inputs = texts((17, 3, 29, 5))
    without = model(*inputs[:2])[0]
    offsets, labels = np.cumsum([0, 17, 3, 29, 5]), np.arange(4) % LOGITS
    data = BatchBuilder(inputs.ids[inputs.mask].int().numpy(), offsets, labels, Truncation(40, "first"))
    model.model.branch = NgramBranch(VOCABULARY, LOGITS, max_gap=2, head=2, tail=[3, 7]).eval()
    model.model.branch.fit(data, data, CrossEntropy([1] * LOGITS))
    assert not torch.allclose(model(*inputs[:2])[0], without)
    assert convert(model, tmp_path / "model.onnx") <= TOLERANCE


@pytest.mark.weekly  # takes 8 seconds
def test_the_second_exporter_converts_what_the_first_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = torch.onnx.export
    monkeypatch.setattr(
        "torch.onnx.export", lambda *args, dynamo, **options: export(*args, dynamo=dynamo or 1 / 0, **options)
    )
    assert convert(build_portable(attention="learned_query"), tmp_path / "model.onnx") <= TOLERANCE
    assert b".py" not in (tmp_path / "model.onnx").read_bytes()  # no source code or path of this machine


class DependsOnTokenCount(PortableModel):
    """A model that tracing exports wrongly without an error: the number of tokens becomes a constant."""

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        probabilities, weights = super().forward(tokens, mask)
        return probabilities * (1 if int(mask.sum()) % 2 else 0.5), weights


def test_a_model_that_neither_exporter_converts_is_refused(tmp_path: Path) -> None:
    model = build_portable(encoder="identity", attention="bahdanau")
    model.__class__ = DependsOnTokenCount
    with pytest.raises(UserError, match=r"\(tracing: the outputs differ from torch's by .*; torch.export: "):
        convert(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
