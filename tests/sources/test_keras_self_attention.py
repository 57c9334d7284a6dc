"""Heedful's components and training against the document's model in Keras."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from heedful.data.padded_batches import Inputs
from heedful.models.attention.keras import KerasDotAttention
from heedful.models.classifier import Classifier
from heedful.models.component import masked_mean
from heedful.models.sublayer import AttentionSublayer
from heedful.training import build
from tests.helpers import small_config
from tests.keras_reference import keras
from tests.models.reference import close, ragged

D = 5
FLOAT32 = 1e-6  # Keras' torch backend multiplies matrices in float32


def test_the_components_equal_the_documents_model_without_padding() -> None:
    """Attention, residual connection, layer norm and mean: N×D."""
    texts, layers = ragged(D, (7, 7, 7)), keras().layers
    attention = AttentionSublayer(D, KerasDotAttention(D), norm="post", norm_eps=1e-6).double()
    with torch.no_grad():
        output = masked_mean(attention(texts).states, texts.mask)
        attended = layers.Attention(dtype="float64")([texts.states, texts.states])
        normalized = layers.LayerNormalization(epsilon=1e-6, dtype="float64")(attended.double() + texts.states)
        expected = layers.GlobalAveragePooling1D(dtype="float64")(normalized)
    assert close(output, expected.double(), FLOAT32)


def keras_schedule(losses: list[float], rate: float) -> tuple[list[float], int | None]:
    """The rate after each epoch with the document's callbacks, and the epoch in which they stop the training."""
    model = keras().Sequential([keras().Input((1,)), keras().layers.Dense(1)])
    model.compile(keras().optimizers.Adam(rate), "mse")
    reduce = keras().callbacks.ReduceLROnPlateau("val_loss", factor=0.2, patience=2, min_lr=1e-5)
    stop = keras().callbacks.EarlyStopping("val_loss", patience=3)
    rates, last_epoch = [], None
    for callback in (stop, reduce):
        callback.set_model(model)
        callback.on_train_begin()
    for epoch, loss in enumerate(losses):
        for callback in (stop, reduce):
            callback.on_epoch_end(epoch, {"val_loss": loss})
        rates.append(float(model.optimizer.learning_rate))
        if last_epoch is None and stop.stopped_epoch:
            last_epoch = epoch
    return rates, last_epoch


def build_preset(name: str) -> tuple[Any, Classifier]:
    cfg = small_config(Path("unused"), [f"experiment={name}"])
    return cfg, build.classifier(cfg, [f"word{i}" for i in range(997)], num_logits=1)


def heedful_schedule(losses: list[float]) -> tuple[list[float], int | None]:
    """The same values for Heedful's preset."""
    cfg, model = build_preset("keras_self_attention")
    optimizer = build.optimizer(cfg, model)
    scheduler: Any = build.scheduler(cfg, optimizer, steps=1)
    stop = build.make(cfg, "callbacks.early_stopping")
    rates, last_epoch = [], None
    for epoch, loss in enumerate(losses):
        optimizer.step()
        scheduler["scheduler"].step(loss)
        rates.append({group["lr"] for group in optimizer.param_groups}.pop())
        should_stop, _ = stop._evaluate_stopping_criteria(torch.tensor(loss, dtype=torch.float64))
        if last_epoch is None and should_stop:
            last_epoch = epoch
    return rates, last_epoch


@pytest.mark.filterwarnings("ignore:__array__:DeprecationWarning")  # raised in Keras
@pytest.mark.parametrize(
    "losses",
    [
        [0.3, 0.31, 0.32, 0.33],
        [0.3, 0.31, 0.32, 0.29, 0.3, 0.31, 0.32],
        [3.0 - i * 1.2e-4 for i in range(7)],  # gains above 1e-4, but below 1e-4 of the loss
        [0.01, 0.00995, 0.0099, 0.00985, 0.0098],  # gains below 1e-4, but above 1e-4 of the loss
        [0.5, 0.4] + [0.41 + i / 100 for i in range(11)],  # down to min_lr
        (0.4 + np.random.default_rng(0).normal(0, 2e-4, 37)).tolist(),
    ],
    ids=["worse", "reduced_twice", "small_ratio", "small_difference", "min_lr", "random"],
)
def test_the_rate_falls_and_the_training_stops_in_the_same_epochs_as_in_keras(losses: list[float]) -> None:
    rates, last_epoch = heedful_schedule(losses)
    expected, expected_stop = keras_schedule(losses, rate=0.001)
    assert rates == pytest.approx(expected, rel=1e-5)
    assert last_epoch == expected_stop


def assert_same_distribution(values: torch.Tensor, reference: Any) -> None:
    """Both are uniform with the same bound: they reach it, and their standard deviation is that of this bound."""
    expected = torch.from_numpy(np.array(reference))
    bound = expected.abs().max().item()
    assert values.abs().max().item() == pytest.approx(bound, rel=0.01)
    for numbers in (values, expected):
        assert numbers.mean().item() == pytest.approx(0, abs=4 * bound / math.sqrt(3 * numbers.numel()))
        assert numbers.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)


@pytest.mark.filterwarnings("ignore:__array__:DeprecationWarning")  # raised in Keras
@pytest.mark.parametrize("name", ["keras_self_attention", "keras_projected_attention"])
def test_embeddings_and_dense_layers_are_initialized_as_in_keras(name: str) -> None:
    torch.manual_seed(0)
    keras().utils.set_random_seed(0)
    _, model = build_preset(name)
    table = model.embedding.table.weight.detach()
    embedding = keras().layers.Embedding(*table.shape)
    embedding.build()
    assert_same_distribution(table, embedding.get_weights()[0])
    linears = [module for module in model.head.modules() if isinstance(module, nn.Linear)]
    assert len(linears) == 2
    for linear in linears:
        dense = keras().layers.Dense(linear.out_features)
        dense.build((None, linear.in_features))
        weights, biases = dense.get_weights()
        assert not linear.bias.any() and not biases.any()
        assert linear.weight.abs().max().item() <= (6 / (linear.in_features + linear.out_features)) ** 0.5
        if linear.out_features > 1:  # enough numbers to compare
            assert_same_distribution(linear.weight.detach(), weights)


def test_the_unscaled_attention_is_initially_uniform() -> None:
    """With U(-0.05, 0.05), as in Keras, it is uniform; with torch's N(0, 1), a token attends only to itself."""
    torch.manual_seed(0)
    _, model = build_preset("keras_self_attention")
    tokens = torch.arange(2, 2 + 2 * 53).view(2, 53)  # each token once
    inputs = Inputs(tokens, tokens > 0)
    with torch.no_grad():
        weights = model.weights(inputs)[:, 0] * 53
        assert weights.min() > 0.9 and weights.max() < 1.2
        model.embedding.table.weight.normal_()
        assert model.weights(inputs)[:, 0].diagonal(dim1=1, dim2=2).min() > 0.999
