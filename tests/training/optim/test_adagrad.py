"""Heedful's Adagrad against torch's."""

import pytest
import torch
from torch import Tensor, nn

from heedful.training.optim.adagrad import Adagrad

ROWS, DIM, STEPS = 11, 3, 7


def train(kind: type, sparse: bool, **options: float) -> list[Tensor]:
    """Return the parameters after a few steps; rows are repeated within a step and between steps."""
    torch.manual_seed(0)
    table = nn.Embedding(ROWS, DIM, sparse=sparse, dtype=torch.float64)
    head = nn.Linear(DIM, 1, dtype=torch.float64)
    optimizer = kind([{"params": table.parameters()}, {"params": head.parameters(), **options}], lr=0.3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        rows = torch.randint(ROWS - 2, (13,))  # two rows are never used
        (head(table(rows)).squeeze() - rows).square().mean().backward()
        optimizer.step()
    return [table.weight.detach(), head.weight.detach(), head.bias.detach()]


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")  # raised in torch
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])  # of dense parameters
@pytest.mark.parametrize("sparse", [False, True])
def test_parameters_equal_those_of_torch(sparse: bool, weight_decay: float) -> None:
    found, reference = (train(kind, sparse, weight_decay=weight_decay) for kind in (Adagrad, torch.optim.Adagrad))
    for actual, expected in zip(found, reference, strict=True):
        assert torch.allclose(actual, expected, rtol=0, atol=1e-12)


def test_training_resumes_from_a_state() -> None:
    first, second = (nn.Parameter(torch.tensor([2.0])) for _ in range(2))
    before, after = Adagrad([first], lr=0.5), Adagrad([second], lr=0.5)
    first.grad = torch.tensor([3.0])
    before.step()
    after.load_state_dict(before.state_dict())
    second.data.copy_(first.data)
    second.grad = torch.tensor([4.0])
    after.step()
    assert second.item() == pytest.approx(1.5 - 0.5 * 4 / 5)  # √(3² + 4²)
