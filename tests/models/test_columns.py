"""Further features of a text, which are added to its pooled vector."""

import torch
from omegaconf import OmegaConf

from heedful.models.columns import ColumnEmbedding
from heedful.training import build
from tests.models.combinations import BASIS, LOGITS, VOCABULARY, small_options, texts


def test_sum_by_hand():
    layer = ColumnEmbedding(3, 2)
    pooled, columns = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([[1.0, 0.0], [-2.0, 1.0]])
    assert torch.equal(layer(pooled, columns), pooled)  # the weights are 0 at first
    layer.weight.data = torch.tensor([[1.0, 0.0], [0.0, 10.0], [0.5, -1.0]])
    assert layer(pooled, columns).tolist() == [[2.0, 2.0, 3.5], [2.0, 15.0, 4.0]]


def test_logits_with_columns():
    """A linear head adds its image of the vector of each feature; the columns stay as they are with other weights."""
    components = {group: small_options(group, choice) for group, choice in BASIS.items()}
    model = build.classifier(OmegaConf.create({"model": components}), VOCABULARY, LOGITS, features=2).eval().double()
    inputs = texts()
    columns = torch.arange(2.0 * len(inputs.ids)).view(-1, 2).double()
    plain = model(inputs._replace(columns=0 * columns))
    torch.nn.init.normal_(model.columns.weight)
    logits = model(inputs._replace(columns=columns))
    torch.testing.assert_close(logits - plain, columns @ model.columns.weight.T @ model.head.linear.weight.T)
    encoded = model.encode(inputs._replace(columns=columns))
    torch.testing.assert_close(model.classify(encoded, columns, model.attention.weights(encoded)), logits)
