"""Gradient norms of each component in a CSV file and in the loggers."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from heedful.training.callbacks.gradients import GradientNorms
from tests.helpers import read_csv


def model() -> Any:
    """Two components with gradients of norm 5 and 13, and a frozen component."""
    components = nn.ModuleDict(
        {"encoder": nn.Linear(2, 1, bias=False), "head": nn.Linear(1, 1), "frozen": nn.Linear(1, 1)}
    )
    components["encoder"].weight.grad = torch.tensor([[3.0, 4.0]])
    components["head"].weight.grad, components["head"].bias.grad = torch.tensor([[5.0]]), torch.tensor([12.0])
    return SimpleNamespace(model=components)


def run_steps(callback: GradientNorms, first: int, last: int) -> None:
    module, optimizer = model(), torch.optim.SGD([nn.Parameter(torch.zeros(1))], 0.1)
    for step in range(first, last):
        trainer: Any = SimpleNamespace(global_step=step, is_global_zero=True, loggers=())
        callback.on_before_optimizer_step(trainer, module, optimizer)
    callback.on_train_epoch_end(trainer, module)


def test_norms_of_each_component_with_gradients(tmp_path: Path) -> None:
    path = tmp_path / "gradients.csv"
    run_steps(GradientNorms(str(path), every_n_steps=100), 1, 5)
    assert not path.exists()  # an epoch without a measurement writes nothing
    callback = GradientNorms(str(path), every_n_steps=3)
    run_steps(callback, 0, 5)
    run_steps(callback, 5, 8)
    rows = [(row["step"], row["part"], float(row["norm"])) for row in read_csv(path)]
    assert rows == [(step, component, norm) for step in "036" for component, norm in (("encoder", 5.0), ("head", 13.0))]


def test_another_process_forgets_its_norms_after_an_epoch(tmp_path: Path) -> None:
    callback, module = GradientNorms(str(tmp_path / "gradients.csv"), every_n_steps=1), model()
    trainer: Any = SimpleNamespace(global_step=0, is_global_zero=False, loggers=())
    callback.on_before_optimizer_step(trainer, module, torch.optim.SGD([nn.Parameter(torch.zeros(1))], 0.1))
    assert callback.state_dict()["measured"] == [(0, "encoder", 5.0), (0, "head", 13.0)]
    callback.on_train_epoch_end(trainer, module)
    assert callback.state_dict()["measured"] == []
    assert not (tmp_path / "gradients.csv").exists()
