"""The heads, which compute the logits from the features of a pooled text."""

import itertools
from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from heedful.kernels.layers import Dropout
from heedful.models.component import Head, Rate, Size

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh}


class LinearHead(Head):
    """A linear layer W x + b after dropout; with `init_std`, the initial b is zero."""

    def __init__(
        self,
        input_dim: int,
        num_logits: int,
        *,
        dropout: Rate = 0.0,
        init_std: Annotated[float, Field(ge=0)] | None = None,
        freeze: bool = False,
    ) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.linear = nn.Linear(input_dim, num_logits).requires_grad_(not freeze)
        if init_std is not None:
            nn.init.normal_(self.linear.weight, std=init_std)
            nn.init.zeros_(self.linear.bias)

    def forward(self, features: Tensor) -> Tensor:
        return self.linear(self.dropout(features))


class MlpHead(Head):
    """Hidden layers (each with dropout, linear layer and activation), then dropout and a linear layer for the logits.

    With init=glorot_uniform (Glorot & Bengio 2010, eq. 16), the biases are zero, as in Keras' Dense.
    """

    def __init__(
        self,
        input_dim: int,
        num_logits: int,
        *,
        hidden_dims: Sequence[Size] = (64,),
        activation: Literal["relu", "gelu", "tanh"] = "relu",
        dropout: Rate = 0.0,
        init: Literal["glorot_uniform"] | None = None,
    ) -> None:
        super().__init__()
        sizes = [input_dim, *hidden_dims]
        layers: list[nn.Module] = []
        for inputs, outputs in itertools.pairwise(sizes):
            layers += [Dropout(dropout), nn.Linear(inputs, outputs), ACTIVATIONS[activation]()]
        layers += [Dropout(dropout), nn.Linear(sizes[-1], num_logits)]
        self.layers = nn.Sequential(*layers)
        if init == "glorot_uniform":
            for layer in self.layers:
                if isinstance(layer, nn.Linear):
                    nn.init.xavier_uniform_(layer.weight)
                    nn.init.zeros_(layer.bias)

    def forward(self, features: Tensor) -> Tensor:
        return self.layers(features)


class LabelHead(Head):
    """logit_c = w_c · v_c + b_c after dropout, with the features v_c of class c alone (Mullenbach et al. 2018, eq. 4).

    Feature j of class c is in column jC + c, where `model/attention=label` and any pooling put it.
    """

    def __init__(self, input_dim: int, num_logits: int, *, dropout: Rate = 0.0) -> None:
        if input_dim % num_logits:
            raise ValueError(
                f"{input_dim} features are not those of {num_logits} logits: use model/attention=label, or another head"
            )
        super().__init__()
        bound = (num_logits / input_dim) ** 0.5
        self.dropout = Dropout(dropout)
        self.weight = nn.Parameter(torch.empty(input_dim // num_logits, num_logits).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(num_logits))

    def forward(self, features: Tensor) -> Tensor:
        return (self.dropout(features).unflatten(-1, self.weight.shape) * self.weight).sum(1) + self.bias
