"""Concat attention (Luong, Pham & Manning 2015)."""

from src.models.attention.additive import AdditiveAttention


class LuongConcatAttention(AdditiveAttention):
    """score(q, h) = vᵀ tanh(W_a [q; h]) (Luong et al. 2015, section 3.1, 'concat').

    The score equals Bahdanau's. The two papers differ in how they use the context vector; see `attentional`.

    Args:
        input_dim: D, features of a state.
        attention_dim: A, size of the hidden layer; None means D.
        bias: add a bias inside the tanh. The paper has no bias; the code of the twenty-model report (eq. 10) has one.
        scaled: divide the scores by √D.
        dropout: probability in [0, 1) of dropping a weight while training.
        attentional: return tanh(W_c [c; q]) (the paper's eq. 5); the report uses c itself.
    """
