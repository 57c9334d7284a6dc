"""Training steps as CUDA graphs: one launch starts all kernels of a step, which Python would start one by one."""

import logging
from collections import Counter
from typing import Annotated, Any

import pytorch_lightning as pl
import torch
from pydantic import Field
from pytorch_lightning.strategies import SingleDeviceStrategy
from torch import Tensor, nn

from heedful.data.padded_batches import Batch, Inputs, ShuffledBatches
from heedful.training.lit import LitClassifier, Step

log = logging.getLogger(__name__)


class GraphedSteps(pl.Callback):
    """Records the forward and the backward pass of each shape of batches as a CUDA graph, and then replays it.

    Padded lengths are few, so most steps are replays (https://pytorch.org/docs/stable/notes/cuda.html#cuda-graphs). A
    shape is recorded when it occurs for the second time. All graphs share the memory of the largest one, which is
    recorded first; they can, because one is finished before the next starts. Dropout draws the same random numbers with
    and without graphs.

    A step that waits for the GPU cannot be recorded, nor can gradients that are accumulated, scaled or sparse: then, or
    whatever else goes wrong in a recording, one warning says so, and the training goes on without graphs, as it does on
    other devices and with several processes. Graphs are not freed one by one: the last one to go takes their pool of
    memory with it, in which no later graph can be recorded.
    """

    def __init__(self, *, max_shapes: Annotated[int, Field(ge=1)] = 128) -> None:
        self.max_shapes = max_shapes
        self.graphs: dict[torch.Size, StepGraph] = {}
        self._seen = Counter[torch.Size]()
        self._memory: GraphMemory | None = None
        self._longest: Batch | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, LitClassifier)
        device = trainer.strategy.root_device
        if device.type != "cuda" or not isinstance(trainer.strategy, SingleDeviceStrategy):
            return
        if reason := _obstacle(trainer, pl_module):
            log.warning("Training steps are not recorded as CUDA graphs: %s", reason)
            return
        loader = trainer.train_dataloader
        longest = trainer.strategy.batch_to_device(loader.longest()) if isinstance(loader, ShuffledBatches) else None
        self.start(pl_module, GraphMemory(pl_module, device), longest)

    def start(self, module: LitClassifier, memory: "GraphMemory", longest: Batch | None) -> None:
        """Run the next steps of a module as graphs; `longest` is a batch of the largest shape, None if unknown."""
        self._module, self._memory, self._longest = module, memory, longest
        module.run_step = self.run_step

    def stop(self, module: LitClassifier) -> None:
        """Run the next steps of a module without graphs, and free their memory."""
        module.run_step = None
        self.graphs, self._memory, self._longest = {}, None, None
        self._seen.clear()

    def on_train_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        self.stop(pl_module)

    def on_exception(self, trainer: pl.Trainer, pl_module: Any, exception: BaseException) -> None:
        self.stop(pl_module)

    def run_step(self, inputs: Inputs, targets: Tensor) -> Step:
        """Return what `compute_step` returns; after a replay, `loss.backward()` only hands the gradients over."""
        shape = inputs.ids.shape
        self._seen[shape] += 1
        if self._seen[shape] == 2 and len(self.graphs) < self.max_shapes:
            try:
                if self._longest is not None:
                    self._record(self._longest.inputs, self._longest.targets)
                    self._longest = None
                self._record(inputs, targets)
            except Exception as error:  # of torch, the device or a component
                # after an operation that fails, the end of the recording fails, too
                cause = str(error.__context__ or error).partition("\n")[0]
                log.warning(
                    "The training goes on without CUDA graphs, because a step could not be recorded (%s: %s); "
                    "callbacks.graphs=null leaves out the attempt",
                    *(type(error).__name__, cause),
                )
                self.stop(self._module)
        if (graph := self.graphs.get(shape)) is None:
            return self._module.compute_step(inputs, targets)
        loss = _Replay.apply(graph, inputs, targets, *graph.memory.parameters)
        return Step(loss, graph.step.sums)

    def _record(self, inputs: Inputs, targets: Tensor) -> None:
        assert self._memory is not None
        if inputs.ids.shape not in self.graphs:
            self.graphs[inputs.ids.shape] = StepGraph(self._module, inputs, targets, self._memory)


class GraphMemory:
    """What all graphs of a training share: the gradients that they write, a pool of memory, and a stream.

    Attributes:
        parameters: the trained parameters.
        gradients: of each parameter, or None if the loss does not depend on it.
    """

    def __init__(self, module: LitClassifier, device: torch.device) -> None:
        self.parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self.gradients: list[Tensor | None] = []
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream(device)

    def write(self, gradients: tuple[Tensor | None, ...]) -> None:
        """Copy the gradients of a step to those that all graphs share; the first step creates them."""
        if not self.gradients:
            self.gradients = [None if gradient is None else torch.empty_like(gradient) for gradient in gradients]
        pairs = zip(self.gradients, gradients, strict=True)
        known = [(shared, gradient) for shared, gradient in pairs if shared is not None and gradient is not None]
        # one kernel for all, as in torch's optimizers; torch has no public name for it
        torch._foreach_copy_([shared for shared, _ in known], [gradient for _, gradient in known])


class StepGraph:
    """A training step of one shape of batches, with its own inputs and outputs in the device's memory."""

    def __init__(self, module: LitClassifier, inputs: Inputs, targets: Tensor, memory: GraphMemory) -> None:
        self.memory = memory
        self._clone(inputs, targets)
        device = targets.device
        random_state = torch.cuda.get_rng_state(device)
        generator = torch.cuda.default_generators[device.index or 0]
        unused = generator.clone_state()
        main = torch.cuda.current_stream(device)
        memory.stream.wait_stream(main)
        try:
            with torch.cuda.stream(memory.stream):
                self._rehearse(module)  # sets up libraries, which must not happen in the recording
                self._record(module)
        except BaseException:  # the generator's state may take the failed recording for unfinished, and refuse to draw
            generator.graphsafe_set_state(unused)
            raise
        finally:
            main.wait_stream(memory.stream)
            torch.cuda.set_rng_state(random_state, device)

    def _record(self, module: LitClassifier) -> None:
        self.graph = torch.cuda.CUDAGraph()
        self.graph.capture_begin(self.memory.pool)
        try:
            self.step = self._compute(module)
        finally:
            self.graph.capture_end()

    def _clone(self, inputs: Inputs, targets: Tensor) -> None:
        """Create the step's own inputs and targets."""
        self.inputs: Inputs = Inputs._make(tensor if tensor is None else tensor.clone() for tensor in inputs)
        self.targets = targets.clone()

    def _copy(self, inputs: Inputs, targets: Tensor) -> None:
        """Overwrite the step's own inputs and targets."""
        for recorded, given in zip((*self.inputs, self.targets), (*inputs, targets), strict=True):
            if recorded is not None and given is not None:
                recorded.copy_(given, non_blocking=True)

    def _rehearse(self, module: LitClassifier) -> None:
        """Compute the step without a recording, and leave the module's buffers, such as running means, as they were."""
        buffers = [(buffer, buffer.clone()) for buffer in nn.Module.buffers(module)]
        mode = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("error")
        try:
            self._compute(module)
        finally:
            torch.cuda.set_sync_debug_mode(mode)
            for buffer, value in buffers:
                buffer.copy_(value)

    def _compute(self, module: LitClassifier) -> Step:
        """Compute a step, and write its gradients to the memory of all graphs."""
        step = module.compute_step(self.inputs, self.targets)
        with torch.autocast("cuda", enabled=False):
            self.memory.write(torch.autograd.grad(step.loss, self.memory.parameters, allow_unused=True))
        return Step(step.loss.detach(), step.sums)

    def replay(self, inputs: Inputs, targets: Tensor) -> None:
        """Compute the step for other inputs: its results are in `step`, its gradients in the memory of all graphs."""
        self._copy(inputs, targets)
        self.graph.replay()


class _Replay(torch.autograd.Function):
    """Replays a step, both passes at once; the backward pass returns the gradients that the replay has computed."""

    @staticmethod
    def forward(ctx: Any, graph: StepGraph, inputs: Inputs, targets: Tensor, *parameters: Tensor) -> Tensor:
        ctx.memory = graph.memory
        graph.replay(inputs, targets)
        return graph.step.loss.detach()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the loss, whose own gradient is 1."""
        of_parameters = [None if shared is None else shared.detach() for shared in ctx.memory.gradients]
        return None, None, None, *of_parameters


def _obstacle(trainer: pl.Trainer, module: LitClassifier) -> str:
    """Return why the steps of a training cannot be recorded; an empty string if they can."""
    obstacles = {
        "gradients are accumulated": trainer.accumulate_grad_batches > 1,
        "gradients are scaled in 16-mixed precision": getattr(trainer.precision_plugin, "scaler", None) is not None,
        "the states of a frozen encoder are read from disk": module.model.stored_states is not None,
        "gradients are sparse": any(getattr(part, "sparse", False) for part in module.model.modules()),
    }
    return next((reason for reason, applies in obstacles.items() if applies), "")
