"""Steps that run as CUDA graphs train like plain steps."""

from pathlib import Path

import numpy as np
import pytest
import torch

from heedful.data.padded_batches import Batch, Inputs
from heedful.runs.run_files import read_gradients, read_history
from heedful.training.callbacks.graphs import GraphedSteps, GraphMemory
from tests.gpu.test_training import SINGLE, assert_near, train_interrupted
from tests.helpers import train
from tests.training import kinds
from tests.training.test_script import make

OPTIONS = ("callbacks=[checkpoints,gradient_norms,graphs]", "callbacks.gradient_norms.every_n_steps=1", SINGLE)
SGD = ("optimizer=sgd", "optimizer.lr=0.1")
MODELS = {
    "bahdanau": ["model/attention=bahdanau"],
    "dropout": ["model.embedding.dropout=0.3"],  # the same random numbers are drawn
    "multi_head": ["model/attention=multi_head", "model.attention.heads=3", "model.attention.dropout=0"],
    "structured": ["model/attention=structured", "model.attention.rows=3"],  # with a term in the loss
}
ONE_BATCH = ("data.batch_size=64", "optimizer.lr=0", "trainer.max_epochs=12")  # the same step twelve times


def norms(folder: Path) -> np.ndarray:
    """The norms of the gradients of the components in each step."""
    by_component = read_gradients(folder)
    return np.stack([rows[:, 1] for rows in by_component.values()])


def losses(folder: Path) -> list[float]:
    """The training loss of each epoch."""
    history = read_history(folder)
    return list(history["train/loss"].values())


def assert_same(first: Path, second: Path) -> None:
    """Compare two trainings step by step: rounding may differ, and is enlarged by later steps."""
    np.testing.assert_allclose(norms(second), norms(first), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(losses(second), losses(first), rtol=1e-5)
    assert_near(first, second)


@pytest.mark.parametrize("name", [*MODELS, *kinds.KINDS])
def test_steps_have_the_same_losses_and_gradients(name: str, trainer: str, tmp_path: Path) -> None:
    """Some lengths occur once only, and batches of 4 have 4 or 3 texts; multilabel thresholds change within a graph."""
    if name in MODELS:  # 56 steps
        data = [*MODELS[name], "data.batch_size=4", "trainer.max_epochs=8"]
    else:
        data = [*kinds.options(name, tmp_path), "data.batch_size=5", "trainer.max_epochs=4"]
    train(tmp_path / "plain", *OPTIONS, *SGD, trainer, *data, "callbacks.graphs=null")
    train(tmp_path / "graphs", *OPTIONS, *SGD, trainer, *data)
    assert norms(tmp_path / "plain").shape[1] >= 40
    assert_same(tmp_path / "plain", tmp_path / "graphs")


def test_each_step_drops_other_features(trainer: str, tmp_path: Path) -> None:
    train(tmp_path / "none", *OPTIONS, *SGD, *ONE_BATCH, trainer)
    np.testing.assert_allclose(losses(tmp_path / "none"), losses(tmp_path / "none")[0], rtol=1e-5)
    train(tmp_path / "dropout", *OPTIONS, *SGD, *ONE_BATCH, trainer, "model.embedding.dropout=0.5")
    assert len(set(losses(tmp_path / "dropout"))) == 12


def test_shorter_batches_use_the_memory_of_the_longest(device: str, tmp_path: Path) -> None:
    """With memory of their own, 23 shapes of up to 512 tokens would take eight times as much."""
    if device == "cpu":
        pytest.skip("graphs need a GPU")
    *_, module = make(tmp_path, "model.encoder.hidden_dim=128")
    module.to(device).train()
    ids = torch.full((64, 512), 2, device=device)
    longest = Batch(Inputs(ids, ids > 0), torch.zeros(64, dtype=torch.long, device=device), ids[:, 0])
    callback = GraphedSteps()
    callback.start(module, GraphMemory(module, torch.device(device)), longest)
    reserved = []
    for length in (512, *range(20, 512, 22)):
        inputs = Inputs(ids[:, :length].clone(), ids[:, :length] > 0)
        for _ in range(2):
            callback.run_step(inputs, longest.targets).loss.backward()
        torch.cuda.empty_cache()
        reserved.append(torch.cuda.memory_reserved())
    assert len(callback.graphs) == 24
    assert reserved[-1] < 2 * reserved[0], [size // 2**20 for size in reserved]


def test_a_training_with_graphs_resumes_within_an_epoch(trainer: str, tmp_path, monkeypatch) -> None:
    options = (*OPTIONS, *SGD, trainer, "data.batch_size=5")
    train(tmp_path / "whole", *options)
    train_interrupted(tmp_path / "resumed", monkeypatch, *options)
    assert_same(tmp_path / "whole", tmp_path / "resumed")
