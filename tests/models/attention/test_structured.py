"""Structured self-attention against its formulas, computed row by row in float64."""

import pytest
import torch

from heedful.models.attention.structured import StructuredAttention
from heedful.models.component import Encoded
from tests.models.reference import ragged, softmax

ROWS, D, A = 3, 7, 5
LENGTHS = (11, 1, 2)


def test_the_rows_their_contexts_and_the_penalty_follow_the_formulas() -> None:
    torch.manual_seed(0)
    attention = StructuredAttention(D, rows=ROWS, attention_dim=A, penalty=0.5).double()
    encoded = ragged(D, LENGTHS)
    penalties = []
    with torch.no_grad():
        output, weights = attention(encoded), attention.weights(encoded)
        assert weights.shape == (len(LENGTHS), ROWS, 1, max(LENGTHS)) and output.states.shape == (3, 1, ROWS * D)
        for n, length in enumerate(LENGTHS):
            expected = torch.zeros(ROWS, length, dtype=torch.float64)
            for row in range(ROWS):
                hidden = [torch.tanh(attention.hidden.weight @ encoded.states[n, t]) for t in range(length)]
                scores = [float(attention.questions.weight[row] @ each) for each in hidden]
                expected[row] = torch.tensor(softmax(scores))
                context = sum(float(expected[row, t]) * encoded.states[n, t] for t in range(length))
                torch.testing.assert_close(output.states[n, 0, row * D : (row + 1) * D], context)
            torch.testing.assert_close(weights[n, :, 0, :length], expected)
            pairs = [(i, j) for i in range(ROWS) for j in range(ROWS)]
            penalties.append(sum((float(expected[i] @ expected[j]) - (i == j)) ** 2 for i, j in pairs))
    penalty = attention.auxiliary_loss["penalty"]
    assert penalty is not None and float(penalty) == pytest.approx(0.5 * sum(penalties) / 3)
    assert torch.equal(output.summary, output.states[:, 0])


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([[0.0, 0.0], [0.0, 0.0]], 1.0),  # A Aᵀ = [[½, ½], [½, ½]]
        ([[99.0, 0.0], [99.0, 0.0]], 2.0),  # both rows on one token: [[1, 1], [1, 1]]
        ([[99.0, 0.0], [0.0, 99.0]], 0.0),  # each row on its own token
    ],
)
def test_the_penalty_by_hand(scores: list[list[float]], expected: float) -> None:
    attention = StructuredAttention(2, rows=2, penalty=1.0).double()
    with torch.no_grad():
        attention.hidden.weight.copy_(50 * torch.eye(2))  # tanh gives the identity
        attention.questions.weight.copy_(torch.tensor(scores))
        states = torch.eye(2, dtype=torch.float64).expand(2, 2, 2)
        mask = torch.tensor([[True, True], [False, False]])  # the second text, without tokens, adds nothing
        output = attention(Encoded(states, mask, states[:, 0]))
    penalty = attention.auxiliary_loss["penalty"]
    assert penalty is not None and float(penalty) == pytest.approx(expected / 2, abs=1e-9)
    assert output.mask.tolist() == [[True], [False]] and not output.states[1].any()


def test_there_is_no_term_without_penalty_or_in_evaluation() -> None:
    encoded = ragged(D, LENGTHS)
    for attention in (StructuredAttention(D, penalty=0.0).double(), StructuredAttention(D).double().eval()):
        attention(encoded)
        assert set(attention.auxiliary_loss.values()) <= {None}
    assert StructuredAttention(D, penalty=0.0).auxiliary_loss == {}
