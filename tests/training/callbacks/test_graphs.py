"""Training steps that are replayed, here with a stand-in for the GPU's graphs; tests/gpu has the real ones."""

import logging
import weakref
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch import Tensor

from heedful.base.errors import UserError
from heedful.data.padded_batches import Inputs
from heedful.training.callbacks import graphs
from heedful.training.callbacks.graphs import GraphedSteps, StepGraph
from heedful.training.lit import LitClassifier
from tests.helpers import assert_equal
from tests.training import kinds
from tests.training.test_script import make, trainer

OPTIONS = ("model.embedding.dropout=0.3", "model.encoder.hidden_dim=7", "data.batch_size=5")


class Memory(graphs.GraphMemory):
    """The shared gradients without the GPU's parts, and how many graphs were recorded in the pool, and live."""

    def __init__(self, module: LitClassifier) -> None:
        self.parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self.gradients: list[Tensor | None] = []
        self.recorded = self.living = 0

    def add(self, graph: Any) -> None:
        """Record a graph; as in CUDA, the last graph to be freed takes the pool with it."""
        assert self.living > 0 or self.recorded == 0, "use_count > 0 INTERNAL ASSERT FAILED"
        self.recorded, self.living = self.recorded + 1, self.living + 1
        weakref.finalize(graph, self.free)

    def free(self) -> None:
        self.living -= 1


class Recomputed(StepGraph):
    """A step whose replay computes it again from its own inputs, and writes to its own outputs, as a graph does."""

    replays = 0

    def __init__(self, module: LitClassifier, inputs: Inputs, targets: Tensor, memory: Any) -> None:
        self.module, self.memory = module, memory
        memory.add(self)
        self._clone(inputs, targets)
        with torch.random.fork_rng(devices=[]):
            self.step = self._compute(module)

    def replay(self, inputs: Inputs, targets: Tensor) -> None:
        Recomputed.replays += 1
        self._copy(inputs, targets)
        with torch.enable_grad():
            step = self._compute(self.module)
        self.step.loss.copy_(step.loss)
        for name, total in step.sums.items():
            self.step.sums[name].copy_(total)


class Graphed(GraphedSteps):
    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.start(pl_module, Memory(pl_module), trainer.train_dataloader.longest())  # type: ignore[union-attr]


def fit(folder: Path, callback: pl.Callback | None, *overrides: str, **options: Any) -> LitClassifier:
    _, data, module = make(folder, *OPTIONS, *overrides)
    trainer(folder, [callback] if callback else [], **{"max_epochs": 3, **options}).fit(module, data)
    return module


def test_replayed_steps_give_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a parameter that takes no part in the loss, clipped gradients and dropout."""
    monkeypatch.setattr(graphs, "StepGraph", Recomputed)
    monkeypatch.setattr(Recomputed, "replays", 0)
    plain = fit(tmp_path, None, gradient_clip_val=0.5)
    callback = Graphed(max_shapes=3)
    module = fit(tmp_path, callback, gradient_clip_val=0.5)
    assert_equal(module.state_dict(), plain.state_dict())
    assert Recomputed.replays > 5 and not callback.graphs and module.run_step is None


def test_a_step_owns_all_tensors_of_its_inputs() -> None:
    step = StepGraph.__new__(StepGraph)
    ids, columns = torch.tensor([[2, 3]]), torch.tensor([[0.5, 7.0, 11.0]])
    first, targets = Inputs(ids, ids > 0, None, columns), torch.tensor([5])
    step._clone(first, targets)
    step._copy(Inputs(ids + 1, ids < 0, None, columns + 1), targets + 1)
    assert (first.ids.tolist(), columns.tolist(), targets.tolist()) == ([[2, 3]], [[0.5, 7.0, 11.0]], [5])
    assert step.inputs.columns is not None and step.inputs.segments is None
    assert (step.inputs.ids.tolist(), step.inputs.mask.tolist()) == ([[3, 4]], [[False, False]])
    assert (step.inputs.columns.tolist(), step.targets.tolist()) == ([[1.5, 8.0, 12.0]], [6])


def test_only_shapes_that_recur_are_recorded_after_the_largest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "StepGraph", Recomputed)
    _, data, module = make(tmp_path, *OPTIONS)
    callback, loader = Graphed(max_shapes=2), data.train_dataloader()
    longest = loader.longest()  # type: ignore[union-attr]
    assert longest.inputs.ids.shape == (5, max(batch.inputs.ids.shape[1] for batch in loader))
    callback.start(module, Memory(module), longest)
    batches = [tensor[:, :length].clone() for length in (2, 3, 2, 3, 2) for tensor in [longest.inputs.ids]]
    recorded = []
    for tokens in batches:
        callback.run_step(Inputs(tokens, tokens > 0), longest.targets)
        recorded.append(len(callback.graphs))
    assert recorded == [0, 0, 2, 2, 2]


def test_thresholds_change_within_the_graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each validation chooses other ones, in the same place of memory; no shape is recorded again."""
    monkeypatch.setattr(graphs, "StepGraph", Recomputed)
    accuracies, chosen, recorded = [], [], []

    class Watch(pl.Callback):
        def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: Any) -> None:
            chosen.append((pl_module.thresholds.data_ptr(), tuple(pl_module.thresholds.tolist())))

        def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
            accuracies.append(float(trainer.callback_metrics["train/acc"]))
            recorded.append((getattr(callback._memory, "recorded", 0), len(callback.graphs)))

    callback, options, epochs = Graphed(), kinds.options("multilabel", tmp_path), 3
    for callbacks in ([Watch()], [Watch(), callback]):
        _, data, module = make(tmp_path, *OPTIONS, *options, "optimizer.lr=0.01")
        trainer(tmp_path, callbacks, max_epochs=epochs).fit(module, data)
    places, values = zip(*chosen[epochs:], strict=True)
    assert accuracies[:epochs] == accuracies[epochs:] and len(set(values)) == epochs and len(set(places)) == 1
    assert all(total == living for total, living in recorded) and recorded[-1][0] > 2
    assert "thresholds" not in module.state_dict()


@pytest.fixture(scope="module")
def without_graphs(tmp_path_factory: pytest.TempPathFactory) -> LitClassifier:
    return fit(tmp_path_factory.mktemp("plain"), None, max_epochs=2)


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (UserError("no such operation"), 0),
        (RuntimeError("not permitted\nwhen capturing"), 1),
        (torch.OutOfMemoryError("no memory"), 1),
    ],
)
def test_a_training_goes_on_without_graphs(error, number, without_graphs, tmp_path, monkeypatch, caplog) -> None:
    """If a recording fails, one warning says so, and the weights are those of a training without graphs."""

    class Failing(Recomputed):
        def _compute(self, module: LitClassifier) -> Any:
            if self.memory.recorded > number:
                raise error
            return super()._compute(module)

    monkeypatch.setattr(graphs, "StepGraph", Failing)
    callback = Graphed()
    with caplog.at_level(logging.WARNING):
        module = fit(tmp_path, callback, max_epochs=2)
    assert_equal(module.state_dict(), without_graphs.state_dict())
    (message,) = [record.getMessage() for record in caplog.records if "CUDA graphs" in record.getMessage()]
    assert str(error).partition("\n")[0] in message and "callbacks.graphs=null" in message
    assert not callback.graphs
