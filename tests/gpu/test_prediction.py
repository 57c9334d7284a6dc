"""Trained models give the same labels, and probabilities to 1e-3 in single precision, on the GPU and on the CPU."""

from pathlib import Path

import numpy as np
import pytest
import torch

from heedful import load
from heedful.faithfulness.trained import ProbedRun
from tests.helpers import evaluate, saved_predictions, train
from tests.training import kinds

TEXTS = ["A great film, a film to remember", "dull and bad", "?", "one two three " * 300]
MODELS = {
    "bilstm": [],
    "branch": ["model/branch=ngrams"],
    "self_attention": ["model/attention=multi_head", "model.attention.heads=3"],
}


@pytest.fixture(scope="module", params=MODELS)
def trained(request: pytest.FixtureRequest, trainer: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training with the mixed precision of the device."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    train(folder, "callbacks=[checkpoints,graphs]", trainer, "trainer.precision=null", *MODELS[request.param])
    return folder


@pytest.mark.parametrize("tf32", [False, True])
def test_predictions_and_weights_are_the_same(tf32: bool, device: str, trained: Path, monkeypatch) -> None:
    """Also with torch's default, with which cuDNN computes recurrent layers in TF32."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", tf32)
    model = load(trained, device=device)
    assert next(model.members[0].model.parameters()).device.type == device
    for one, other in zip(load(trained, device="cpu").explain(TEXTS), model.explain(TEXTS), strict=True):
        assert one.label == other.label
        assert list(other.probabilities.values()) == pytest.approx(list(one.probabilities.values()), abs=1e-3)
        assert [weight for _, weight in other.tokens] == pytest.approx([weight for _, weight in one.tokens], abs=1e-3)
        assert one.maps.keys() == other.maps.keys()


@pytest.mark.parametrize("kind", [*MODELS, *kinds.KINDS])
def test_evaluations_are_the_same(kind: str, device: str, trainer: str, tmp_path: Path) -> None:
    options = MODELS[kind] if kind in MODELS else kinds.options(kind, tmp_path)
    train(tmp_path / "run", "callbacks=[checkpoints,graphs]", trainer, "trainer.precision=null", *options)
    results = {name: evaluate(tmp_path / name, tmp_path / "run", f"device={name}") for name in {"cpu", device}}
    assert (results[device]["device"] == torch.cuda.get_device_name()) if device == "cuda" else True
    first, second = (saved_predictions(tmp_path / name).probabilities for name in ("cpu", device))
    np.testing.assert_allclose(second, first, atol=1e-3 * max(1, np.abs(first).max()))
    if kind in MODELS:
        assert len({result["metrics"]["test/acc"]["value"] for result in results.values()}) == 1


def test_rankings_of_tokens_are_the_same(device: str, trained: Path) -> None:
    runs = [ProbedRun(trained, device=name) for name in ("cpu", device)]
    sample = runs[0].sample("test", 5, seed=0)
    probabilities = [run.probe.probabilities(sample.texts) for run in runs]
    np.testing.assert_allclose(*probabilities, atol=1e-3)
    classes = probabilities[0].argmax(1)
    for method in ("gradient_times_input", "attention_gradient"):
        one, other = (np.concatenate(getattr(run.probe, method)(sample.texts, classes)) for run in runs)
        np.testing.assert_allclose(other, one, atol=0.01 * np.abs(one).max())
    one, other = (np.concatenate(run.probe.attention(sample.texts)) for run in runs)
    np.testing.assert_allclose(other, one, atol=1e-3)
