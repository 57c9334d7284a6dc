"""Adagrad (Duchi, Hazan & Singer 2011) with efficient updates for row-sparse gradients."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor
from torch.optim import Optimizer

NotNegativeFloat = Annotated[float, Field(ge=0)]


class Adagrad(Optimizer):
    """Adagrad with torch's update rule, but faster on row-sparse gradients (benchmarks/NOTES.md).

    The rule is s ← s + g², p ← p − lr · g / (√s + eps). For a row-sparse gradient, torch adds sparse tensors to dense
    tensors; this class gathers the rows that the gradient contains, updates them and writes them back.
    Sparse gradients do not support the L2 penalty `weight_decay`.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: NotNegativeFloat = 0.01,
        eps: Annotated[float, Field(gt=0)] = 1e-10,
        weight_decay: NotNegativeFloat = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Run one optimizer step; the result is that of `closure`, which computes the gradients first."""
        value = None
        if closure is not None:
            with torch.enable_grad():
                value = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    state = self.state[parameter]
                    if not state:
                        state["sum"] = torch.zeros_like(parameter)
                    _update(parameter, parameter.grad, state["sum"], group)
        return value


def _update(parameter: Tensor, gradient: Tensor, total: Tensor, group: dict[str, Any]) -> None:
    if not gradient.is_sparse:
        gradient = gradient.add(parameter, alpha=group["weight_decay"])
        total.addcmul_(gradient, gradient)
        parameter.addcdiv_(gradient, total.sqrt().add_(group["eps"]), value=-group["lr"])
        return
    gradient = gradient.coalesce()  # sums repeated rows before their gradients are squared
    rows, values = gradient.indices()[0], gradient.values()
    sums = total.index_select(0, rows).addcmul_(values, values)
    total.index_copy_(0, rows, sums)
    updated = parameter.index_select(0, rows).addcdiv_(values, sums.sqrt_().add_(group["eps"]), value=-group["lr"])
    parameter.index_copy_(0, rows, updated)
