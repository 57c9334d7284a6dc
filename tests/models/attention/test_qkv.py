import math

import pytest
import torch

from src.models.attention.qkv import QkvAttention
from tests.models.reference import attend, close, ragged

D, A = 7, 5
LENGTHS = (3, 1, 2)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("scale", ["dim", "numel", "none"])
def test_states_and_weights_follow_the_formula(scale: str, bias: bool) -> None:
    texts = ragged(D, LENGTHS)
    torch.manual_seed(0)
    attention = QkvAttention(D, attention_units=A, scale=scale, bias=bias).double()  # type: ignore[arg-type]
    names = ["queries", "keys", "values"]
    assert [name for name, _ in attention.named_parameters()] == [
        f"{name}.{kind}" for name in names for kind in (["weight", "bias"] if bias else ["weight"])
    ]
    with torch.no_grad():
        queries, keys, values = (
            texts.states @ linear.weight.T + (linear.bias if bias else 0.0)
            for linear in (attention.queries, attention.keys, attention.values)
        )
        states, all_weights = attention(texts).states, attention.weights(texts)[:, 0]
        for n, length in enumerate(LENGTHS):  # one text at a time, because the scale of numel depends on its length
            root = {"dim": math.sqrt(A), "numel": math.sqrt(A * length), "none": 1.0}[scale]
            row = slice(n, n + 1)
            scaled_queries = queries[row] / root
            weights, expected = attend(
                scaled_queries, keys[row], values[row], texts.mask[row], lambda q, k: float(q @ k)
            )
            assert close(all_weights[row], weights)
            assert close(states[row], expected)
    assert attention.output_dim == A


def test_values_from_keys_start_equal_to_keys_and_are_not_tied_to_them() -> None:
    attention = QkvAttention(D, values_from_keys=True, init_std=0.01)
    assert torch.equal(attention.values.weight, attention.keys.weight)
    optimizer = torch.optim.SGD(attention.parameters(), lr=0.1)
    attention.double()(ragged(D)).states.pow(2).sum().backward()
    optimizer.step()
    assert not torch.equal(attention.values.weight, attention.keys.weight)
    separate = QkvAttention(D)
    assert not torch.equal(separate.values.weight, separate.keys.weight)


def test_init_std_is_the_initial_standard_deviation_of_the_weights() -> None:
    torch.manual_seed(0)
    attention = QkvAttention(101, init_std=0.01)
    for linear in (attention.queries, attention.keys, attention.values):
        assert linear.weight.std().item() == pytest.approx(0.01, rel=0.05)
        assert torch.equal(linear.bias, torch.zeros(101))


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="residual=True cannot add 7 features to an output of 5 features"):
        QkvAttention(D, attention_units=A, residual=True)
    with pytest.raises(ValueError, match="attention_units=0 must be at least 1"):
        QkvAttention(D, attention_units=0)
    with pytest.raises(ValueError, match=r"init_std=0\.0 must be above 0"):
        QkvAttention(D, init_std=0.0)
    with pytest.raises(ValueError, match="scale='root' must be one of dim, numel, none"):
        QkvAttention(D, scale="root")  # type: ignore[arg-type]
