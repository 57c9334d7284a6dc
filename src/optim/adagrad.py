"""Adagrad (Duchi, Hazan & Singer 2011) with efficient updates for row-sparse gradients."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class Adagrad(Optimizer):
    """Adagrad with torch's update rule, but faster on row-sparse gradients (benchmarks/NOTES.md).

    The rule is s ← s + g², p ← p − lr · g / (√s + eps). For a row-sparse gradient, torch adds sparse tensors to dense
    tensors; this class gathers the rows that the gradient contains, updates them and writes them back.

    Args:
        params: parameters, or parameter groups with their own options.
        lr: learning rate (≥ 0).
        eps: constant added to √s (> 0).
        weight_decay: L2 penalty (≥ 0); ignored for sparse gradients.

    Raises:
        ValueError: if an option is outside its range.
    """

    def __init__(self, params: Iterable[Any], lr: float = 0.01, eps: float = 1e-10, weight_decay: float = 0.0) -> None:
        if lr < 0:
            raise ValueError(f"lr={lr} must not be negative")
        if eps <= 0:
            raise ValueError(f"eps={eps} must be above 0")
        if weight_decay < 0:
            raise ValueError(f"weight_decay={weight_decay} must not be negative")
        super().__init__(params, {"lr": lr, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Run one optimizer step.

        If `closure` is given, it is called first to compute the gradients, and its result is returned.
        """
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
