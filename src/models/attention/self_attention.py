"""The base class of self-attentions: norms, residual connection, dropout and zeroed padding."""

from abc import abstractmethod

from torch import Tensor

from src.kernels.dropout import Dropout
from src.models.component import Attention
from src.models.masking import masked_mean, zero_padding
from src.models.shapes import require_shape
from src.models.sublayer import Norm, Sublayer
from src.models.types import Encoded


class SelfAttention(Attention):
    """Replaces each real state by a mixture of real states: N×L×D → N×L×D'. The summary is the mean of the results.

    A subclass implements `transform` and `weights`. Subclasses that compare queries with keys derive from
    `dot_product.DotProductAttention`, which implements both.

    Args:
        input_dim: D, features of a state.
        output_dim: D', features of a mixture; None means D.
        residual: add the state to its mixture.
        norm: layer norm of the states before mixing (pre), of the result (post), both or none.
        norm_eps: added to the variance in layer norm.
        dropout: probability in [0, 1) of dropping an attention weight while training.
        output_dropout: probability in [0, 1) of dropping a feature of the result, as the last step.

    Raises:
        ValueError: if an option is outside its range.
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
        """Return the mixtures without norms and residual: N×L×D → N×L×D'. Padding may get any finite values."""

    def forward_with_weights(self, encoded: Encoded) -> tuple[Encoded, Tensor]:
        """Return the results of `forward` and `weights`."""
        return self(encoded), self.weights(encoded)

    def finish(self, encoded: Encoded, mixed: Tensor) -> Tensor:
        """Return the states from the mixtures N×L×D' by residual connection, norm and dropout, with zero padding."""
        return zero_padding(self.around.combine(encoded.states, mixed), encoded.mask)

    def forward(self, encoded: Encoded) -> Encoded:
        """Replace the states by their mixtures: N×L×D → N×L×D'."""
        mixed = self.transform(self.around.prepare(encoded.states), encoded.mask)
        require_shape(self, "transform", mixed, "N×L×D'", (*encoded.mask.shape, self.output_dim))
        return self._with_mean(encoded, mixed)

    def _with_mean(self, encoded: Encoded, mixed: Tensor) -> Encoded:
        """Return the result of `forward` from the mixtures N×L×D'; the summary is the mean of the resulting states."""
        states = self.finish(encoded, mixed)
        return Encoded(states, encoded.mask, masked_mean(states, encoded.mask))
