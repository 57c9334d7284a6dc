"""Concat attention (Luong, Pham & Manning 2015)."""

from src.models.attention.additive import AdditiveAttention


class LuongConcatAttention(AdditiveAttention):
    """score(q, h) = vᵀ tanh(W_a [q; h]) (Luong et al. 2015, section 3.1, 'concat').

    The score equals that of Bahdanau's attention. The two papers use the context vector differently; see `attentional`.

    Args:
        input_dim: D, number of features of a state.
        attention_dim: A, size of the hidden layer; None means D.
        bias: add a bias inside the tanh. The paper has none; the code for eq. 10 of the twenty-model report has one.
        scaled: divide the scores by √D.
        dropout: probability in [0, 1) of dropping a weight while training.
        attentional: return tanh(W_c [c; q]), as in the paper (eq. 5), instead of c, as in the report.
    """
