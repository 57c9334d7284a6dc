"""Training on a device other than the CPU, and in half precision."""

import json
from typing import Any

import pytest
import torch

from src.models.loss import CrossEntropy
from tests.forks import complete
from tests.helpers import ROOT, command
from tests.models.combinations import ATTENTIONS, ENCODERS, LENGTHS, LOGITS, compose, texts

STEPS = 3


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The errors that tests/models/fake_accelerator.py prints; its device is registered only in its process."""
    backends = pytest.importorskip("torch.utils.backend_registration")
    if not hasattr(backends, "_setup_privateuseone_for_python_backend"):
        pytest.skip("this version of torch registers no device from Python")
    (python, *_), options = command(tmp_path_factory.mktemp("accelerator"), "train")
    arguments = [python, "-m", "tests.models.fake_accelerator"]
    process = complete(arguments, {**options, "cwd": ROOT})
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_every_combination_trains_on_one_device_without_waiting(errors: dict[str, Any]) -> None:
    assert errors["combinations"] == {"all": None}


def test_every_other_component_trains_on_one_device_without_waiting(errors: dict[str, Any]) -> None:
    assert {name.partition("=")[0] for name in errors["choices"]} == {"embedding", "position", "head"}
    assert {name: error for name, error in errors["choices"].items() if error} == {}


def test_a_training_step_of_lightning_does_not_wait(errors: dict[str, Any]) -> None:
    assert errors["training_step"] == {"bilstm": None}


def test_waiting_for_the_device_and_using_two_devices_are_errors(errors: dict[str, Any]) -> None:
    assert len(errors["mistakes"]) == 12
    assert [name for name, error in errors["mistakes"].items() if error is None] == []


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_attention_trains_in_bfloat16_on_the_cpu(encoder: str) -> None:
    """After a few steps, the weights of each real token sum to 1 within the precision of bfloat16."""
    torch.manual_seed(0)
    tokens, mask = texts(padded_length=11)
    labels = torch.arange(len(LENGTHS)) % LOGITS
    loss = CrossEntropy([1] * LOGITS)
    models = {name: compose(encoder=encoder, attention=name, pooling="mean_max", dropout=0.1) for name in ATTENTIONS}
    parameters = [parameter for model in models.values() for parameter in model.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            values = {name: loss(model(tokens, mask), labels) for name, model in models.items()}
        assert {name for name, value in values.items() if not value.isfinite()} == set()
        torch.stack(list(values.values())).sum().backward()
        optimizer.step()
    assert all(parameter.isfinite().all() for parameter in parameters)
    for name, model in models.items():
        model.eval()
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            logits, weights = model.forward_with_weights(tokens, mask)
        assert logits.isfinite().all(), name
        rows = weights.float().sum(-1)  # N×H×T
        real = mask[:, None, :] if model.attention.per_token else torch.ones(1, 1, 1, dtype=torch.bool)
        assert torch.allclose(rows, real.expand_as(rows).float(), rtol=0, atol=1e-2), name
        padding = weights.masked_select(~mask[:, None, None, :].expand_as(weights))
        assert not padding.any(), f"{name}: weight on padding"
