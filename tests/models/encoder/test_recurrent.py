"""Recurrent encoders, which do not pack sequences, equal torch's recurrent layers on packed sequences."""

import math

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from heedful.models.encoder.recurrent import CELLS, MinGru, Recurrent

N, L, D, HIDDEN = 5, 11, 3, 7
LENGTHS = torch.tensor([11, 1, 4, 7, 2])


def compute_packed(encoder: Recurrent, cell: str, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """States N×L×D' and final states N×D' of the top layer of torch's stacked module with the same weights."""
    bidirectional = len(encoder.backwards) > 0
    layers = len(encoder.forwards)
    reference = CELLS[cell](D, HIDDEN, num_layers=layers, bidirectional=bidirectional, batch_first=True).double()
    for layer in range(layers):
        directions = [(encoder.forwards[layer], "")] + (
            [(encoder.backwards[layer], "_reverse")] if bidirectional else []
        )
        for module, suffix in directions:
            for name, parameter in module.named_parameters():
                getattr(reference, name.replace("_l0", f"_l{layer}{suffix}")).data.copy_(parameter.data)
    with torch.no_grad():
        output, last = reference(pack_padded_sequence(states, LENGTHS, batch_first=True, enforce_sorted=False))
    hidden = last[0] if isinstance(last, tuple) else last  # layers·directions×N×HIDDEN
    top = hidden[-2:] if bidirectional else hidden[-1:]
    return pad_packed_sequence(output, batch_first=True, total_length=L)[0], torch.cat(list(top), -1)


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 3])
def test_states_and_summary_equal_those_of_packed_sequences(cell: str, bidirectional: bool, layers: int) -> None:
    torch.manual_seed(0)
    encoder = Recurrent(D, cell=cell, hidden_dim=HIDDEN, layers=layers, bidirectional=bidirectional).double()  # type: ignore[arg-type]
    states = torch.randn(N, L, D, dtype=torch.float64)
    mask = torch.arange(L) < LENGTHS.unsqueeze(1)
    expected_states, expected_summary = compute_packed(encoder, cell, states)
    with torch.no_grad():
        encoded = encoder(states, mask)
    assert encoder.output_dim == HIDDEN * (2 if bidirectional else 1)
    assert torch.allclose(encoded.states, expected_states, rtol=0, atol=1e-10)
    assert torch.allclose(encoded.summary, expected_summary, rtol=0, atol=1e-10)


def compute_min_gru(cell: MinGru, states: torch.Tensor) -> torch.Tensor:
    """The states of one text L×D, token by token: L×HIDDEN."""
    state, computed = [0.0] * HIDDEN, []
    for token in states:
        projected = (cell.projection.weight @ token + cell.projection.bias).tolist()
        gates = [1 / (1 + math.exp(-value)) for value in projected[:HIDDEN]]
        state = [(1 - z) * h + z * new for z, h, new in zip(gates, state, projected[HIDDEN:], strict=True)]
        computed.append(state)
    return torch.tensor(computed, dtype=torch.float64)


def test_min_gru_follows_the_formula_in_both_directions() -> None:
    torch.manual_seed(0)
    encoder = Recurrent(D, cell="mingru", hidden_dim=HIDDEN, bidirectional=True).double()
    states = torch.randn(N, L, D, dtype=torch.float64)
    with torch.no_grad():
        encoded = encoder(states, torch.arange(L) < LENGTHS.unsqueeze(1))
        for n, length in enumerate(LENGTHS.tolist()):
            forward, backward = encoder.forwards[0], encoder.backwards[0]
            first, last = (
                compute_min_gru(forward, states[n, :length]),
                compute_min_gru(backward, states[n, :length].flip(0)),
            )
            torch.testing.assert_close(encoded.states[n, :length], torch.cat([first, last.flip(0)], 1))
            torch.testing.assert_close(encoded.summary[n], torch.cat([first[-1], last[-1]]))


def test_min_gru_is_computed_in_float32_within_mixed_precision() -> None:
    torch.manual_seed(0)
    cell, inputs = MinGru(D, HIDDEN, batch_first=True), torch.randn(1, 2000, D)
    cell.projection.bias.data[:HIDDEN] = -5.0  # a slow gate sums thousands of small terms
    with torch.autocast("cpu", torch.bfloat16):
        states, _ = cell(inputs)
    assert states.dtype == torch.bfloat16
    reference, _ = cell.double()(inputs.double())
    difference = (states.double() - reference).abs().max() / reference.abs().max()
    assert difference < 0.02  # the projections and the result are rounded to 8 bits, but not the sums


def test_dropout_applies_to_a_single_layer() -> None:
    torch.manual_seed(0)
    encoder = Recurrent(D, hidden_dim=HIDDEN, dropout=0.5)
    encoded = encoder(torch.randn(N, L, D), torch.ones(N, L, dtype=torch.bool))
    dropped_fraction = (encoded.states == 0).float().mean().item()
    assert 0.35 < dropped_fraction < 0.65
