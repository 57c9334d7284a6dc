"""Single-head attention with projections of the states, as in the from-scratch document."""

from typing import Annotated, Any, Literal

from pydantic import Field
from torch import Tensor, nn

from heedful.kernels.layers import Linear
from heedful.models.attention.self_attention import SelfAttention
from heedful.models.component import Size


class QkvAttention(SelfAttention):
    """softmax(q kᵀ / s) v with q = W_q x + b_q, k = W_k x + b_k, v = W_v x + b_v.

    With A = `attention_units`, the divisor s is √A if scale=dim (Vaswani et al. 2017, eq. 1), √(A × number of real
    tokens of the text) if scale=numel, which reproduces an error in the from-scratch document, and 1 if scale=none, as
    in Keras' `Attention` layer. If `init_std` is set, the initial biases are zero. Without rotary position embeddings,
    b_k has no effect, because it adds the same number to all scores of a query.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        attention_units: Size | None = None,
        bias: bool = True,
        scale: Literal["dim", "numel", "none"] = "dim",
        values_from_keys: bool = False,
        init_std: Annotated[float, Field(gt=0)] | None = None,
        **options: Any,
    ) -> None:
        units = attention_units or input_dim
        super().__init__(input_dim, units, **options)
        self.head_dim = units
        self.scale = scale
        self.queries = Linear(input_dim, units, bias)
        self.keys = Linear(input_dim, units, bias)
        self.values = Linear(input_dim, units, bias)
        if init_std is not None:
            for linear in (self.queries, self.keys, self.values):
                nn.init.normal_(linear.weight, std=init_std)
                if bias:
                    nn.init.zeros_(linear.bias)
        if values_from_keys:
            self.values.load_state_dict(self.keys.state_dict())

    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, values = self.queries(states), self.keys(states), self.values(states)  # N×L×A
        if self.scale != "none":
            queries = queries * self.head_dim**-0.5
        if self.scale == "numel":
            queries = queries / mask.sum(1).clamp(min=1).to(queries.dtype).sqrt()[:, None, None]
        return queries.unsqueeze(1), keys.unsqueeze(1), values.unsqueeze(1)
