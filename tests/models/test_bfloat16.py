"""Training in half precision on the CPU; tests/training/test_waiting.py concerns other devices."""

import pytest
import torch

from heedful.models.loss import CrossEntropy
from tests.models.combinations import LENGTHS, LOGITS, PAIRS, compose, texts

STEPS = 3


@pytest.mark.parametrize(("encoder", "attention"), PAIRS)
def test_every_attention_trains_in_bfloat16_on_the_cpu(encoder: str, attention: str) -> None:
    """After a few steps, the weights of each real token sum to 1 within the precision of bfloat16."""
    torch.manual_seed(0)
    inputs = texts(padded_length=11)
    labels = torch.arange(len(LENGTHS)) % LOGITS
    loss = CrossEntropy([1] * LOGITS)
    model = compose(encoder=encoder, attention=attention, pooling="mean_max", dropout=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            value = loss(model(inputs), labels)
        assert value.isfinite()
        value.backward()
        optimizer.step()
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        logits, weights = model.forward_with_weights(inputs)
    assert logits.isfinite().all()
    rows = weights.float().sum(-1)  # N×H×T
    real = inputs.mask[:, None, :] if model.attention.per_token else torch.ones(1, 1, 1, dtype=torch.bool)
    assert torch.allclose(rows, real.expand_as(rows).float(), rtol=0, atol=1e-2)
    assert not weights.masked_select(~inputs.mask[:, None, None, :].expand_as(weights)).any(), "weight on padding"
