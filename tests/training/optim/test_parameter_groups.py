import pytest
from torch import nn

from heedful.models.classifier import Classifier
from heedful.training.optim.parameter_groups import parameter_groups


@pytest.fixture
def model() -> Classifier:
    head = nn.Linear(3, 2)
    frozen = nn.Linear(5, 3).requires_grad_(False)
    return Classifier(nn.Embedding(7, 5), nn.Identity(), frozen, nn.Identity(), nn.Identity(), head)


def test_weight_decay_of_a_component_does_not_apply_to_its_biases(model: Classifier) -> None:
    groups = parameter_groups(model, {"embedding": {"weight_decay": 0.1}, "head": {"weight_decay": 0.1, "lr": 0.5}})
    options_by_shape = {
        tuple(p.shape): {k: v for k, v in g.items() if k != "params"} for g in groups for p in g["params"]
    }
    assert options_by_shape == {
        (7, 5): {"weight_decay": 0.1},
        (2, 3): {"weight_decay": 0.1, "lr": 0.5},
        (2,): {"weight_decay": 0.0, "lr": 0.5},
    }
