"""Predictions with the attention weights of words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from src import build
from src.checkpoint import Card
from src.data.padded_batches import Truncation
from src.explain.explanation import Explanation, explain
from src.models.attention.self_attention import SimpleSelfAttention
from src.models.classifier import Classifier
from src.models.component import Encoded
from src.models.embedding.glove import GloveEmbedding
from src.models.encoder.identity import Identity
from src.models.loss import Loss
from src.models.pooling import Mean
from src.models.position import NoPosition
from src.records.examples import Example
from tests.helpers import one_batch, small_config, trained

TEXTS = ["An EXCELLENT product, truly", "bad", "so " * 90 + "good", "it works well " * 200, ""]
HEADS = 4


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> tuple[Card, Classifier, Loss]:
    folder = tmp_path_factory.mktemp("explain") / "run"
    path = trained(folder, "model/attention=multi_head", f"model.attention.heads={HEADS}", "data.max_length=600")
    card, (model, loss) = build.restore(str(path), small_config(folder).extras)
    return card, model, loss


@pytest.fixture(scope="module")
def explanations(contents: tuple[Card, Classifier, Loss]) -> list[Explanation]:
    card, model, loss = contents
    return explain(model, loss, card.codec, TEXTS, batch_size=2)


def test_each_word_as_written_has_its_weight(explanations: list[Explanation]) -> None:
    assert explanations[0].words == ["An", "EXCELLENT", "product", ",", "truly"]
    assert [len(each.words) for each in explanations] == [5, 1, 91, 600, 0]
    for each in explanations[:-1]:
        assert len(each.weights) == len(each.words)
        assert sum(each.weights) == pytest.approx(1, abs=1e-5)


def test_batch_and_single_text_agree(contents: tuple[Card, Classifier, Loss], explanations: list[Explanation]) -> None:
    card, model, loss = contents
    for text, explanation in zip(TEXTS, explanations, strict=True):
        (expected,) = explain(model, loss, card.codec, [text])
        assert expected.probabilities == pytest.approx(explanation.probabilities, abs=1e-5)
        assert expected.weights == pytest.approx(explanation.weights, abs=1e-5)
        assert expected.predicted == card.codec.class_names[int(np.argmax(expected.probabilities))]


def test_probabilities_equal_those_of_the_model(
    contents: tuple[Card, Classifier, Loss], explanations: list[Explanation]
) -> None:
    card, model, loss = contents
    batch = one_batch(card.codec, TEXTS)
    with torch.inference_mode():
        probabilities = loss.probabilities(model.eval()(batch.tokens, batch.mask))
    assert torch.tensor([each.probabilities for each in explanations]) == pytest.approx(probabilities, abs=1e-5)


def test_the_shape_of_maps_depends_on_the_length_of_the_text(explanations: list[Explanation]) -> None:
    shapes = [None if each.matrix is None else each.matrix.shape for each in explanations]
    assert shapes == [(HEADS, 5, 5), None, (1, 91, 91), None, None]
    for each in explanations:
        if each.matrix is not None:
            assert each.matrix.sum(-1) == pytest.approx(1, abs=1e-5)
            assert each.matrix.mean((0, 1)) == pytest.approx(each.weights, abs=1e-5)


@pytest.fixture(scope="module")
def transformer(contents: tuple[Card, Classifier, Loss]) -> Classifier:
    card, _, loss = contents
    sizes = ["model.encoder.layers=3", "model.encoder.heads=2", "model.encoder.dim=6"]
    cfg = small_config(Path("unused"), ["model/encoder=transformer", "model/attention=bahdanau", *sizes])
    return build.classifier(cfg, card.codec.tokenizer.vocabulary, loss.num_logits)


def test_encoder_layers_have_maps_for_short_texts(
    contents: tuple[Card, Classifier, Loss], transformer: Classifier
) -> None:
    card, _, loss = contents
    first, word, long, longer, empty = explain(transformer, loss, card.codec, TEXTS)
    assert list(first.layers) == ["encoder 1", "encoder 2", "encoder 3"]
    for layer in first.layers.values():
        assert layer.shape == (2, 5, 5)
        assert layer.sum(-1) == pytest.approx(1, abs=1e-5)
    assert word.layers == long.layers == longer.layers == empty.layers == {}
    (expected,) = explain(transformer, loss, card.codec, TEXTS[:1])
    for name, layer in expected.layers.items():
        assert layer == pytest.approx(first.layers[name], abs=1e-5)


def test_layer_weights_equal_those_of_its_attention(
    contents: tuple[Card, Classifier, Loss], transformer: Classifier
) -> None:
    batch = one_batch(contents[0].codec, TEXTS[:2])
    with torch.inference_mode():
        states = transformer.eval().position(transformer.embedding(batch.tokens, batch.mask), batch.mask)
        encoder: Any = transformer.encoder
        first = encoder.blocks[0].attentions[0]
        encoded = Encoded(first.prepare(encoder.enter(states)), batch.mask, states[:, 0])
        weights = transformer.layer_weights(batch.tokens, batch.mask)["encoder 1"]
        expected = first.attention.weights(encoded)
    assert torch.allclose(weights, expected, atol=1e-6)
    assert not first._forward_pre_hooks


def test_maps_can_be_disabled(contents: tuple[Card, Classifier, Loss]) -> None:
    card, model, loss = contents
    (explanation,) = explain(model, loss, card.codec, TEXTS[:1], maps=False)
    assert explanation.matrix is None and explanation.layers == {}


def test_numbers_of_the_record_are_rounded() -> None:
    explanation = Explanation("good", [0.25, 0.75], ["a"], [1 / 3], np.full((1, 1, 1), 1 / 3, dtype=np.float32))
    record = explanation.to_dict()
    assert (record["weights"], record["matrix"]) == ([0.333333], [[[0.3333]]])


def test_one_pass_equals_separate_logits_and_weights() -> None:
    """Logits and weights from one forward pass equal those from two passes, with dropped words."""
    embedding = GloveEmbedding(("<pad>", "<unk>", "red", "xylographic", "price"), unknown="drop")
    embedding.load_pretrained()
    model = Classifier(
        embedding, NoPosition(50), Identity(50), SimpleSelfAttention(50), Mean(50), torch.nn.Linear(50, 3)
    ).eval()
    tokens, mask = torch.tensor([[2, 3, 4], [4, 2, 0]]), torch.tensor([[1, 1, 1], [1, 1, 0]], dtype=torch.bool)
    with torch.no_grad():
        logits, weights = model.forward_with_weights(tokens, mask)
        assert torch.equal(logits, model(tokens, mask))
        assert torch.equal(weights, model.weights(tokens, mask))


def test_explanations_of_truncated_texts_state_the_number_of_remaining_tokens(
    contents: tuple[Card, Classifier, Loss],
) -> None:
    card, model, loss = contents
    codec = replace(card.codec, truncation=Truncation(3, "last"))
    short, long = explain(model, loss, codec, ["a b c", "a " * 2000])
    assert (short.cut, long.cut) == ("", "last 3 of 2,000 tokens")
    record = {"split": "test", "index": 1, "label": "good"} | long.to_dict()
    example = Example(
        "test", 1, "good", "bad", {"bad": 0.5}, long.words, np.array(long.weights), None, cut=record["cut"]
    )
    assert example.title.endswith(", last 3 of 2,000 tokens")
