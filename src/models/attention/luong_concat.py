"""Concat attention (Luong, Pham & Manning 2015)."""

from src.models.attention.additive import AdditiveAttention


class LuongConcatAttention(AdditiveAttention):
    """score(q, h) = vᵀ tanh(W_a [q; h]) (Luong et al. 2015, section 3.1, 'concat').

    The score equals that of Bahdanau's attention. The two papers use the context vector differently; see `attentional`.
    The other options are those of `AdditiveAttention`.

    Args:
        bias: add a bias inside the tanh, as in the twenty-model report's code for eq. 10, but not in the paper.
        attentional: return tanh(W_c [c; q]), as in the paper (eq. 5), instead of the context vector c, as in
            the report.
    """
