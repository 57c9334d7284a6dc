"""`python -m benchmarks.growth`: a step through each attention, and the intersection of curves."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks import growth
from src.models.types import Encoded


def test_the_crossing_of_two_lines_is_interpolated_in_logarithms() -> None:
    lengths = [64, 128, 256]
    assert growth.overtakes(lengths, [1.0, 4.0, 16.0], [2.0, 4.0, 8.0]) == pytest.approx(128)
    crossing = growth.overtakes(lengths, [1.0, 4.0, 16.0], [4.0, 8.0, 8.0])  # ratios of 4/8 and 16/8: half way
    assert crossing == pytest.approx(128 * 2**0.5)
    assert growth.overtakes(lengths, [3.0, 3.0, 3.0], [2.0, 2.0, 2.0]) == 64
    assert growth.overtakes(lengths, [3.0, 3.0, 3.0], [2.0, 2.0, 4.0]) is None


def test_the_peak_is_the_highest_sum() -> None:
    assert growth.peak([3, 5, -4, 2, -6]) == 8
    assert growth.peak([]) == 0


def test_peak_memory_counts_tensors() -> None:
    def run() -> None:
        first = torch.empty(2**20)
        second = torch.empty(2**19)
        del first, second
        torch.empty(2**18)

    assert growth.peak_megabytes(run) == pytest.approx(6, rel=0.01)


def test_the_kind_of_each_attention() -> None:
    kinds = {name: growth.kind(growth.attention(name)) for name in [*growth.ATTENTIONS, growth.PLAIN]}
    expected = {"bahdanau": "query", "multi_head": "pairs", "keras": "pairs", "windowed": "window"}
    expected |= {"elementwise": "elementwise", growth.PLAIN: "stored"}
    assert expected.items() <= kinds.items()
    assert growth.kind(nn.Identity()) == "other"


def test_a_step_computes_the_gradient_of_the_states() -> None:
    inputs: list[Encoded] = []

    class Doubling(nn.Module):
        def forward(self, encoded: Encoded) -> Encoded:
            inputs.append(encoded)
            return encoded._replace(states=2 * encoded.states)

    growth.step(Doubling(), 5)()
    (encoded,) = inputs
    assert encoded.states.shape == (growth.TEXTS, 5, growth.FEATURES)
    torch.testing.assert_close(encoded.states.grad, torch.full_like(encoded.states, 2.0))


def test_every_attention_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(growth, "LENGTHS", [3, 5])
    monkeypatch.setattr(growth, "seconds", lambda run, repeats: 0.001 * (1 + len(names)))
    names: list[str] = []
    attention = growth.attention
    monkeypatch.setattr(growth, "attention", lambda name: names.append(name) or attention(name))  # type: ignore[func-returns-value]
    growth.main(tmp_path, ["--only=length", f"--out={tmp_path}"])
    length = json.loads((tmp_path / "growth.json").read_text())["length"]
    assert names == [row["attention"] for row in length["attentions"]] == [*growth.ATTENTIONS, growth.PLAIN]
    assert all(len(row["seconds"]) == len(row["megabytes"]) == 2 for row in length["attentions"])
    assert length["overtakes"]["multi_head"]["seconds"] == 3  # slower than elementwise, which is measured earlier
    assert length["overtakes"]["bahdanau"]["seconds"] is None
    assert (tmp_path / "growth_length.png").stat().st_size > 10_000
    assert "elementwise" in capsys.readouterr().out


def test_trainings_are_measured_by_number_of_reviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "REVIEWS", [20, 40])
    record_of_training = {"epochs": [1.5], "peak": 500.0, "modules": []}
    monkeypatch.setattr(growth, "training", lambda overrides, folder: record_of_training)
    monkeypatch.setattr(growth.memory, "run", lambda module, job: {"seconds": 2.0} if job else 300.0)
    growth.main(tmp_path, ["--only=reviews", f"--out={tmp_path}"])
    record = json.loads((tmp_path / "growth.json").read_text())["reviews"]
    expected = {"first": [2.0, 2.0], "cached": [2.0, 2.0], "epoch": [1.5, 1.5], "megabytes": [200.0, 200.0]}
    assert record == {"reviews": [20, 40], **expected}
    assert (tmp_path / "growth_reviews.png").exists()
