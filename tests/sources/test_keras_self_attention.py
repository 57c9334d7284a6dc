"""The Keras document's model against Keras' own layers, and its slips."""

import inspect

import pytest
import torch

from src.models.attention.keras import KerasAttention
from src.models.masking import masked_mean
from src.models.types import Encoded
from tests.keras_reference import keras
from tests.models.reference import close, padded, ragged

D = 5
FLOAT32 = 1e-6  # Keras' torch backend multiplies matrices in float32


def pooled(texts: Encoded) -> torch.Tensor:
    """The document's attention, sum with the embedding, layer norm and average, of our parts: N×D."""
    attention = KerasAttention(D, residual=True, norm="post", norm_eps=1e-6).double()
    with torch.no_grad():
        return masked_mean(attention(texts).states, texts.mask)


def kerass(states: torch.Tensor) -> torch.Tensor:
    """The same of Keras' layers, which get no mask."""
    layers = keras().layers
    with torch.no_grad():
        attended = layers.Attention(dtype="float64")([states, states])
        normed = layers.LayerNormalization(epsilon=1e-6, dtype="float64")(attended.double() + states)
        return layers.GlobalAveragePooling1D(dtype="float64")(normed)


def test_our_parts_are_the_documents_model_where_nothing_is_padded() -> None:
    texts = ragged(D, (7, 7, 7))
    assert close(pooled(texts), kerass(texts.states).double(), FLOAT32)


def test_slip_padding_is_read_and_averaged() -> None:
    """Without mask_zero the embedding of token 0 is attended to and counted in the average."""
    texts = ragged(D, (7, 7, 7))
    longer = padded(texts, 4)
    assert not torch.allclose(kerass(longer.states), kerass(texts.states), atol=0.01)
    assert close(pooled(longer), pooled(texts))


def test_slip_the_heat_map_shows_outputs() -> None:
    """`attention_layer.output` is L×D, positions × features; weights are L×L and have to be asked for."""
    texts = ragged(D, (7, 7, 7))
    layer = keras().layers.Attention()
    outputs = layer([texts.states, texts.states])
    assert outputs.shape == (3, 7, D)
    assert not torch.allclose(outputs.sum(-1), torch.ones(3, 7), atol=0.01)
    weights = layer([texts.states, texts.states], return_attention_scores=True)[1]
    assert weights.shape == (3, 7, 7)
    ours = KerasAttention(D).weights(texts)[:, 0]
    assert close(ours, weights.double(), FLOAT32)
    assert close(ours.sum(-1), torch.ones(3, 7, dtype=torch.float64))


def test_slip_scores_are_not_scaled() -> None:
    """The document's formula divides by √d_k; Attention() as it calls it divides by nothing."""
    texts = ragged(D, (7, 7, 7))
    layer = keras().layers.Attention()
    assert layer.use_scale is False
    scores = texts.states @ texts.states.transpose(1, 2)
    weights = layer([texts.states, texts.states], return_attention_scores=True)[1].double()
    assert close(weights, scores.softmax(-1), FLOAT32)
    assert not torch.allclose(weights, (scores / D**0.5).softmax(-1), atol=0.01)


@pytest.mark.parametrize("score_mode", ["general", "additive"])
def test_slip_score_modes_that_do_not_exist(score_mode: str) -> None:
    with pytest.raises(ValueError, match="Invalid value for argument score_mode"):
        keras().layers.Attention(score_mode=score_mode)


def test_slip_the_first_approach_names_its_weights_where_the_shape_belongs() -> None:
    """`add_weight("W_q", shape=…)` was TensorFlow's; Keras 3 takes the shape first, and refuses."""
    layer = keras().layers.Layer()
    with pytest.raises((TypeError, ValueError)):
        layer.add_weight("W_q", shape=(D, 3))


def test_slip_the_second_approach_classifies_every_position() -> None:
    """Nothing pools: one distribution a token, where several classes of a text were wanted."""
    layers = keras().layers
    inputs = torch.randn(2, 20, 10)
    query, key, value = (layers.Dense(64)(inputs) for _ in range(3))
    attended = layers.Attention()([query, key, value])
    outputs = layers.Dense(5, activation="softmax")(layers.Dense(32, activation="relu")(attended))
    assert outputs.shape == (2, 20, 5)


def test_slip_key_and_value_change_places() -> None:
    """The document passes [query, key, value], but Keras reads [query, value, key]."""
    query, key, value = torch.randn(3, 2, 7, D).double()
    outputs = keras().layers.Attention()([query, key, value]).double()
    weights = (query @ value.transpose(1, 2)).softmax(-1)
    assert close(outputs, weights @ key, FLOAT32)


def test_slip_the_prediction_forgets_the_offset_of_word_ids() -> None:
    """load_data adds 3 to every id, 1 is the start and 2 a rarer word; predict_sentiment knows none of it."""
    defaults = inspect.signature(keras().datasets.imdb.load_data).parameters
    assert [defaults[name].default for name in ("index_from", "start_char", "oov_char")] == [3, 1, 2]


@pytest.mark.filterwarnings("ignore:__array__:DeprecationWarning")  # Keras' own
def test_slip_the_rate_falls_by_80_percent() -> None:
    """`factor=0.2` leaves 20 % of the rate; the text says that it takes 20 % away."""
    model = keras().Sequential([keras().Input((1,)), keras().layers.Dense(1)])
    model.compile(keras().optimizers.SGD(1.0), "mse")
    callback = keras().callbacks.ReduceLROnPlateau("val_loss", factor=0.2, patience=2, min_lr=1e-5)
    callback.set_model(model)
    callback.on_train_begin()
    for epoch in range(3):
        callback.on_epoch_end(epoch, {"val_loss": 1.0})
    assert float(model.optimizer.learning_rate) == pytest.approx(0.2)
