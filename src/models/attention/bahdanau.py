"""Additive attention (Bahdanau, Cho & Bengio 2015)."""

from src.models.attention.additive import AdditiveAttention


class BahdanauAttention(AdditiveAttention):
    """score(q, h) = vᵀ tanh(W_a q + U_a h) (Bahdanau et al. 2015, appendix A.1.2); the text's summary is the query.

    `QueryAttention` explains `scaled` and `dropout`.

    Args:
        attention_dim: A, size of the hidden layer, which the paper calls n'; None means D, the number of
            features of a state.
        bias: add a bias inside the tanh, as in the twenty-model report's code for eq. 1, but not in the paper.

    Raises:
        ValueError: if an option is outside its range.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        attention_dim: int | None = None,
        bias: bool = True,
        scaled: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(input_dim, attention_dim=attention_dim, bias=bias, scaled=scaled, dropout=dropout)
