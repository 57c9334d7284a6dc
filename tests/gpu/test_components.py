"""Every combination of components on the GPU, against the same computation on the CPU in single precision.

Differences of logits are relative to their spread, and those of gradients to their length. In single precision, they
are rounding errors of 2⁻²⁴, enlarged by sharp attention. bfloat16 has 8 significant bits: on a CPU, the combinations
differ by at most 2 % and 7 %. A GPU rounds at other places, so about twice as much is allowed; a wrong mask, scale or
direction changes the logits of these short texts by far more.
"""

import shutil
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.data.padded_batches import Inputs
from heedful.models.classifier import Classifier
from tests.models import combinations
from tests.models.combinations import ATTENTIONS, ENCODERS, LOGITS, POOLINGS, choices, component, compose, texts

LENGTHS = (7, 1, 19, 5, 13)
LABELS = torch.arange(len(LENGTHS)) % LOGITS
# sizes for which the GPU has fused kernels, such as a multiple of 8 features in each head
SIZES = {
    "filters": 16,
    "hidden_dim": 32,
    "heads": 4,
    "dim": 64,
    "attention_units": 16,
    "attention_dim": 16,
    "feed_forward_dim": 48,
}
SINGLE, HALF = (1e-4, 1e-3), (0.05, 0.15)  # tolerances of logits and gradients
PAIRS = [(encoder, attention) for encoder in ENCODERS for attention in ATTENTIONS]
OTHERS = [(group, name) for group in ("embedding", "position", "normalizer", "head") for name in choices(group)]
IN_A_RUN = ("pretrained", "ngrams")  # embeddings that need a model or the n-grams of texts


@pytest.fixture(autouse=True)
def sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SIZES.items():
        monkeypatch.setitem(combinations.SMALL, name, value)


class WithEveryPooling(nn.Module):
    """A model with all poolings, each of which has a head: P×N×C logits."""

    def __init__(self, model: Classifier) -> None:
        super().__init__()
        self.model = model
        poolings = [component("pooling", name, model.attention.output_dim) for name in POOLINGS]
        heads = [component("head", "linear", pooling.output_dim, LOGITS) for pooling in poolings]
        self.ends = nn.ModuleList(map(nn.Sequential, poolings, heads))

    def forward(self, inputs: Inputs) -> Tensor:
        encoded = self.model.attention(self.model.encode(inputs))
        return torch.stack([end(encoded) for end in self.ends])


def build(encoder: str, attention: str, dropout: float = 0.0) -> WithEveryPooling:
    torch.manual_seed(0)
    return WithEveryPooling(compose(encoder=encoder, attention=attention, dropout=dropout))


def step(model: Any, device: str, bf16: bool = False) -> tuple[Tensor, Tensor]:
    """Return the logits of the texts and the gradient of their loss by all parameters, on the CPU."""
    model.to(device).zero_grad()
    inputs = texts(LENGTHS, device=device)
    with torch.autocast(device, torch.bfloat16, enabled=bf16):
        logits = model(inputs)
    flat = logits.float().reshape(-1, LOGITS)  # P·N×C
    F.cross_entropy(flat, LABELS.to(device).repeat(len(flat) // len(LABELS)), reduction="sum").backward()
    gradients = [parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None]
    return logits.detach().float().cpu(), torch.cat(gradients).cpu()


def assert_close(
    results: tuple[Tensor, Tensor], expected: tuple[Tensor, Tensor], tolerances: tuple[float, float]
) -> None:
    (logits, gradient), (own_logits, own_gradient) = results, expected
    error = (logits - own_logits).square().mean().sqrt() / own_logits.std()
    assert error < tolerances[0], f"logits differ by {error:.2g} of their spread"
    error = (gradient - own_gradient).norm() / own_gradient.norm()
    assert error < tolerances[1], f"gradients differ by {error:.2g} of their length"


@pytest.mark.parametrize(("encoder", "attention"), PAIRS)
def test_every_combination_computes_on_the_gpu_as_on_the_cpu(encoder: str, attention: str, device: str) -> None:
    model = build(encoder, attention)
    expected = step(model, "cpu")
    assert_close(step(model, device), expected, SINGLE)
    assert_close(step(model, device, bf16=True), expected, HALF)


@pytest.mark.parametrize(("group", "name"), [pair for pair in OTHERS if pair[1] not in IN_A_RUN])
def test_every_other_component_computes_on_the_gpu_as_on_the_cpu(group: str, name: str, device: str) -> None:
    if name in ("sparsemax", "entmax15"):
        pytest.importorskip("entmax")
    torch.manual_seed(0)
    attention = "label" if name == "label" else "bahdanau"  # the head `label` reads a state for each class
    model = compose(encoder="transformer", attention=attention, dropout=0.0, **{group: name})
    expected = step(model, "cpu")
    assert_close(step(model, device), expected, SINGLE)
    assert_close(step(model, device, bf16=True), expected, HALF)


@pytest.mark.parametrize(("encoder", "attention"), PAIRS)
@torch.no_grad()
def test_padding_changes_neither_logits_nor_weights(encoder: str, attention: str, device: str) -> None:
    model = build(encoder, attention).eval().to(device)
    inputs = texts((*LENGTHS, 23), padded_length=29, device=device)
    together, weights = model(inputs), model.model.weights(inputs)  # P×N×C, N×H×T×L
    assert not weights.masked_select(~inputs.mask[:, None, None]).any(), "weight on padding"
    for row, length in enumerate(LENGTHS[:2]):
        text = inputs.of_text(row, length)
        torch.testing.assert_close(model(text)[:, 0], together[:, row], rtol=1e-4, atol=1e-4)
        own = model.model.weights(text)[0]  # H×T×L
        torch.testing.assert_close(own, weights[row, :, : own.shape[1], :length], rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("encoder", ENCODERS)
def test_deterministic_steps_are_equal_digit_for_digit(encoder: str, device: str) -> None:
    failed = {}
    for attention in ATTENTIONS:
        try:
            first, second = (step(build(encoder, attention, dropout=0.3), device, bf16=True) for _ in range(2))
            if not all(map(torch.equal, first, second)):
                failed[attention] = "differs"
        except RuntimeError as error:  # an operation without a deterministic algorithm
            failed[attention] = str(error).partition("\n")[0]
    assert not failed


def test_a_compiled_model_computes_the_same(device: str) -> None:
    if device == "cuda" and not (shutil.which("gcc") or shutil.which("cc")):
        pytest.skip("torch.compile needs a C compiler")
    torch.manual_seed(0)
    model = compose(encoder="transformer", attention="bahdanau", dropout=0.0)
    expected = step(model, device)
    compiled = torch.compile(model, backend="inductor" if device == "cuda" else "aot_eager")
    assert_close(step(compiled, device), expected, SINGLE)
