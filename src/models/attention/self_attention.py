"""The base class of self-attention, with layer norm, residual connection, dropout and zeroed padding."""

from abc import abstractmethod

from torch import Tensor

from src.kernels.dropout import Dropout
from src.models.component import Attention
from src.models.masking import masked_mean, zero_padding
from src.models.shapes import require_shape
from src.models.sublayer import Norm, Sublayer
from src.models.types import Encoded


class SelfAttention(Attention):
    """Replaces each real state by an attention output, computed from the real states: N×L×D → N×L×D'.

    The summary is the mean of the final outputs.

    A subclass implements `transform` and `weights`. Subclasses that compare queries with keys derive from
    `dot_product.DotProductAttention`, which implements both.

    Args:
        input_dim: D, number of features of a state.
        output_dim: D', number of features of an attention output; None means D.
        residual: add the state to the attention output.
        norm: position of layer norm: before the attention (pre), after the residual connection (post), both or none.
        norm_eps: constant added to the variance in layer norm.
        dropout: probability in [0, 1) of dropping an attention weight while training.
        output_dropout: probability in [0, 1) of dropping a feature of the final output.

    Raises:
        ValueError: if an option is outside its range, or if `residual` is set and D' differs from D.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int | None = None,
        /,
        *,
        residual: bool = False,
        norm: Norm = "none",
        norm_eps: float = 1e-5,
        dropout: float = 0.0,
        output_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.output_dim = input_dim if output_dim is None else output_dim
        self.dropout = Dropout(dropout)
        self.around = Sublayer(
            input_dim,
            output_dim=self.output_dim,
            residual=residual,
            norm=norm,
            norm_eps=norm_eps,
            output_dropout=output_dropout,
        )

    @abstractmethod
    def transform(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the attention outputs, the input of `finish`: N×L×D → N×L×D'. Padding may get any finite values."""

    def forward_with_weights(self, encoded: Encoded) -> tuple[Encoded, Tensor]:
        """Return the results of `forward` and `weights`."""
        return self(encoded), self.weights(encoded)

    def finish(self, encoded: Encoded, outputs: Tensor) -> Tensor:
        """Apply residual connection, norm and dropout to the attention outputs N×L×D', and zero the padding."""
        return zero_padding(self.around.combine(encoded.states, outputs), encoded.mask)

    def forward(self, encoded: Encoded) -> Encoded:
        """Return the final outputs and their mean: N×L×D → N×L×D', N×D'."""
        outputs = self.transform(self.around.prepare(encoded.states), encoded.mask)
        require_shape(self, "transform", outputs, "N×L×D'", (*encoded.mask.shape, self.output_dim))
        return self._with_mean(encoded, outputs)

    def _with_mean(self, encoded: Encoded, outputs: Tensor) -> Encoded:
        """Return the result of `forward` for the attention outputs N×L×D'."""
        states = self.finish(encoded, outputs)
        return Encoded(states, encoded.mask, masked_mean(states, encoded.mask))
