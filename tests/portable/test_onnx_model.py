"""Each encoder with each attention is exported to ONNX, with equal outputs for any number of texts and tokens."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from src.errors import UserError
from src.models.attention.edge_query import EdgeQueryAttention
from src.models.embedding.ngrams import NgramEmbedding
from src.models.loss import CrossEntropy
from src.portable.onnx_model import TOLERANCE, PortableModel, convert, feed, largest_difference, load_session
from tests.models.combinations import ATTENTIONS, ENCODERS, LOGITS, VOCABULARY, choices, compose, texts


def build_portable(**components: str) -> PortableModel:
    torch.manual_seed(0)
    return PortableModel(compose(**components), CrossEntropy([1] * LOGITS), len(VOCABULARY), max_length=40).eval()


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_each_encoder_with_each_attention_is_exported(encoder: str, attention: str, tmp_path: Path) -> None:
    model = build_portable(encoder=encoder, attention=attention)
    assert convert(model, tmp_path / "model.onnx") <= TOLERANCE
    tokens, mask = texts((17, 3, 0, 29))
    with torch.no_grad():
        expected = model(tokens, mask)
    probabilities, weights = load_session(tmp_path / "model.onnx").run(None, feed(tokens.numpy(), mask.numpy()))
    np.testing.assert_allclose(probabilities, expected[0].numpy(), atol=TOLERANCE)
    np.testing.assert_allclose(weights, expected[1].numpy(), atol=TOLERANCE)
    assert weights.shape == (4, 29)
    assert not weights[~mask.numpy()].any()


@pytest.mark.parametrize("pooling", choices("pooling"))
def test_each_pooling_is_exported(pooling: str, tmp_path: Path) -> None:
    assert convert(build_portable(encoder="gru", pooling=pooling), tmp_path / "model.onnx") <= TOLERANCE


@pytest.mark.parametrize("position", choices("position"))
def test_each_position_is_exported(position: str, tmp_path: Path) -> None:
    assert convert(build_portable(encoder="transformer", position=position), tmp_path / "model.onnx") <= TOLERANCE


def test_ngrams_without_recurrence_are_exported(tmp_path: Path) -> None:
    model = build_portable(embedding="ngrams", attention="learned_query")
    assert convert(model, tmp_path / "model.onnx") <= TOLERANCE


def test_binary_ngrams_and_scaling_by_length_are_exported(tmp_path: Path) -> None:
    model = build_portable(embedding="ngrams", attention="edge_query")
    assert isinstance(model.model.embedding, NgramEmbedding)
    assert isinstance(model.model.attention, EdgeQueryAttention)
    probabilities = model(*texts((17, 3, 29)))[0]
    model.model.embedding.binary = True
    model.model.attention.reference_length = 11.0
    assert not torch.allclose(model(*texts((17, 3, 29)))[0], probabilities)
    assert convert(model, tmp_path / "model.onnx") <= TOLERANCE


def test_a_model_that_neither_exporter_converts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be exported to ONNX \(tracing: .*; torch.export: "):
        convert(build_portable(embedding="ngrams", encoder="bilstm"), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


class DependsOnTokenCount(PortableModel):
    """A model that tracing exports wrongly without an error: the number of tokens becomes a constant."""

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        probabilities, weights = super().forward(tokens, mask)
        return probabilities * (1 if int(mask.sum()) % 2 else 0.5), weights


def test_a_silent_error_of_an_exporter_is_refused(tmp_path: Path) -> None:
    model = build_portable(encoder="identity", attention="bahdanau")
    model.__class__ = DependsOnTokenCount
    with pytest.raises(UserError, match="tracing: the outputs differ from torch's by"):
        convert(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_largest_difference_from_a_changed_model(tmp_path: Path) -> None:
    model = build_portable(encoder="lstm", attention="bahdanau")
    convert(model, tmp_path / "model.onnx")
    with torch.no_grad():
        model.model.head.linear.bias[0] += 0.25
    assert largest_difference(model, tmp_path / "model.onnx") > 0.01
