"""The from-scratch document's forward and backward pass in NumPy, its errors, and autograd.

As in the document, a text is d×n with one column per token; the last row of x is the index of the token. Q, K, V and W
are the weights and Qb, Kb, Vb and b the biases of queries, keys, values and the classifier.
"""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from heedful.models.attention.qkv import QkvAttention
from heedful.models.component import Encoded

Array = NDArray[np.float64]
D, CLASSES = 5, 3
ATTENTION = ("Q", "K", "V", "Qb", "Kb", "Vb")
LENGTHS = (1, 2, 7)


class Pass(NamedTuple):
    q: Array  # d×n
    k: Array
    v: Array
    alpha: Array  # n×n, one row per query
    z: Array  # d×n
    p: Array  # C×1
    root: float  # the divisor of the scores


def make_case(n: int) -> tuple[Array, Array, dict[str, Array]]:
    random = np.random.default_rng(n)
    x = np.vstack([random.normal(size=(D - 1, n)), np.arange(n, dtype=float)])
    shapes = {"Q": (D, D), "K": (D, D), "V": (D, D), "W": (CLASSES, D)}
    weights = {name: 0.7 * random.normal(size=shape) for name, shape in shapes.items()}
    biases = {f"{name}b": 0.7 * random.normal(size=(D, 1)) for name in "QKV"}
    y = np.eye(CLASSES)[:, [1]]
    return x, y, {**weights, **biases, "b": random.normal(size=(CLASSES, 1))}


def softmax(scores: Array, axis: int) -> Array:
    powers = np.exp(scores - scores.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def forward(x: Array, w: dict[str, Array], scale: str) -> Pass:
    q, k, v = (w[name] @ x + w[f"{name}b"] for name in "QKV")
    root = float(np.sqrt(q.size if scale == "numel" else len(q)))
    alpha = softmax(q.T @ k / root, 1)
    z = v @ alpha.T
    f = w["W"] @ z + w["b"]
    return Pass(q, k, v, alpha, z, softmax(f.mean(1, keepdims=True), 0), root)


def row_jacobians(alpha: Array, d_alpha: Array) -> Array:
    """Correct gradients of the scores: the Jacobian of each row of scores depends on its row of weights."""
    rows = [(np.diag(row) - np.outer(row, row)) @ d for row, d in zip(alpha, d_alpha, strict=True)]
    return np.array(rows)


def first_column_jacobian(alpha: Array, d_alpha: Array) -> Array:
    """The document's gradients of the scores: α[j] is an element of the first column, for every query."""
    column = alpha.flatten(order="F")[: len(alpha)]
    jacobian = np.empty_like(alpha)
    for k in range(len(alpha)):
        for j in range(len(alpha)):
            jacobian[j, k] = column[j] * (1 - column[j]) if j == k else -column[k] * column[j]
    return d_alpha @ jacobian


def backward(
    x: Array, y: Array, w: dict[str, Array], result: Pass, *, by_row: bool = True, scaled: bool = True
) -> tuple[dict[str, Array], Array]:
    """Gradients of the parameters and of the scores; with both options False, they are those of the document."""
    d_f = (result.p - y) @ np.full((1, x.shape[1]), 1 / x.shape[1])  # C×n
    d_z = w["W"].T @ d_f
    d_alpha = d_z.T @ result.v
    d_e = (row_jacobians if by_row else first_column_jacobian)(result.alpha, d_alpha)
    root = result.root if scaled else 1.0
    d = {"Q": (d_e @ result.k.T).T / root, "K": (d_e.T @ result.q.T).T / root, "V": d_z @ result.alpha}
    biases = {f"{name}b": gradient.sum(1, keepdims=True) for name, gradient in d.items()}
    weights = {name: gradient @ x.T for name, gradient in d.items()}
    return {**weights, **biases, "W": d_f @ result.z.T, "b": d_f.sum(1, keepdims=True)}, d_e


def document_gradients(x: Array, y: Array, w: dict[str, Array]) -> dict[str, Array]:
    return backward(x, y, w, forward(x, w, "numel"), by_row=False, scaled=False)[0]


def autograd_gradients(x: Array, y: Array, w: dict[str, Array], scale: str) -> dict[str, Array]:
    """Gradients of Heedful's component with the same weights, followed by mean pooling and the linear head."""
    attention = QkvAttention(D, scale=scale).double()  # type: ignore[arg-type]
    linears = dict(zip("QKV", (attention.queries, attention.keys, attention.values), strict=True))
    with torch.no_grad():
        for name, linear in linears.items():
            linear.weight.copy_(torch.from_numpy(w[name]))
            linear.bias.copy_(torch.from_numpy(w[f"{name}b"][:, 0]))
    states = torch.from_numpy(x.T.copy()).unsqueeze(0)
    text = Encoded(states, torch.ones(1, x.shape[1], dtype=torch.bool), states[:, 0])
    logits = attention(text).summary @ torch.from_numpy(w["W"]).T + torch.from_numpy(w["b"][:, 0])
    torch.nn.functional.cross_entropy(logits, torch.from_numpy(y.argmax(0))).backward()
    gradients = {}
    for name, linear in linears.items():
        gradients |= {name: linear.weight.grad.numpy(), f"{name}b": linear.bias.grad.numpy()[:, None]}
    return gradients


def is_close(actual: Array, expected: Array, tolerance: float = 1e-10) -> bool:
    return actual.shape == expected.shape and bool(np.allclose(actual, expected, rtol=0, atol=tolerance))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("scale", ["dim", "numel"])
def test_the_corrected_gradients_equal_those_of_autograd(scale: str, n: int) -> None:
    x, y, w = make_case(n)
    gradients, _ = backward(x, y, w, forward(x, w, scale))
    automatic = autograd_gradients(x, y, w, scale)
    for name in ATTENTION:
        assert is_close(gradients[name], automatic[name]), name


@pytest.mark.parametrize("n", LENGTHS)
def test_the_documents_gradients_of_values_and_classifier_are_correct(n: int) -> None:
    x, y, w = make_case(n)
    gradients = document_gradients(x, y, w)
    correct, _ = backward(x, y, w, forward(x, w, "numel"))
    for name in ("V", "Vb", "W", "b"):
        assert is_close(gradients[name], correct[name]), name


def test_error_the_scale_counts_every_element_of_q() -> None:
    """√length(q) is √(d n), not √d: the scores shrink as the text gets longer."""
    x, _, w = make_case(7)
    documented, paper = forward(x, w, "numel"), forward(x, w, "dim")
    assert documented.root == pytest.approx(np.sqrt(D * 7))
    assert paper.root == pytest.approx(np.sqrt(D))
    assert not is_close(documented.alpha, paper.alpha, 1e-3)


@pytest.mark.parametrize("scale", ["dim", "numel"])
def test_error_one_softmax_jacobian_for_every_query(scale: str) -> None:
    x, y, w = make_case(7)
    result = forward(x, w, scale)
    correct, d_e = backward(x, y, w, result)
    incorrect, incorrect_d_e = backward(x, y, w, result, by_row=False)
    for name in ("Q", "K", "Qb", "Kb"):
        assert not is_close(incorrect[name], correct[name], 1e-3), name
    # Softmax is invariant to a constant added to a row: correct gradients sum to 0, and the document's do not.
    assert is_close(d_e.sum(1), np.zeros(7))
    assert np.abs(incorrect_d_e.sum(1)).max() > 1e-3


def test_the_single_jacobian_is_correct_for_equal_weights() -> None:
    """Weights are equal for n = 1 and for queries of zero; the document's initial weights, about 1/100, are similar."""
    for n, zero_names in ((1, ()), (7, ("Q", "Qb"))):
        x, y, w = make_case(n)
        w.update({name: np.zeros_like(w[name]) for name in zero_names})
        result = forward(x, w, "numel")
        correct, incorrect = backward(x, y, w, result)[0], backward(x, y, w, result, by_row=False)[0]
        for name in ATTENTION:
            assert is_close(incorrect[name], correct[name]), name


@pytest.mark.parametrize("n", [2, 7])
def test_error_the_gradients_of_queries_and_keys_lack_the_scale(n: int) -> None:
    """∂e/∂q = k and ∂e/∂k = q lack 1/√(d n): the gradients of queries and keys are √(d n) times too large."""
    x, y, w = make_case(n)
    result = forward(x, w, "numel")
    correct, incorrect = backward(x, y, w, result)[0], backward(x, y, w, result, scaled=False)[0]
    for name in ("Q", "K", "Qb"):
        assert is_close(incorrect[name], np.sqrt(D * n) * correct[name]), name
        assert np.abs(correct[name]).max() > 1e-6


def test_error_the_key_bias_has_a_gradient() -> None:
    """b_k adds q·b_k to every score of a query, and softmax is invariant to this constant: its gradient is 0."""
    x, y, w = make_case(7)
    assert is_close(autograd_gradients(x, y, w, "numel")["Kb"], np.zeros((D, 1)))
    assert np.abs(document_gradients(x, y, w)["Kb"]).max() > 1e-3
    changed = {**w, "Kb": w["Kb"] + 3.0}
    assert is_close(forward(x, changed, "numel").alpha, forward(x, w, "numel").alpha)
