"""Conversion of a trained model to ONNX, with a check that both models give the same outputs."""

import errno
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from heedful.base.errors import UserError
from heedful.data.padded_batches import Inputs
from heedful.models.classifier import Classifier, mean_weights
from heedful.tasks.task import Task

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

# of the inputs and outputs of an ONNX file: segments exist if the texts are pairs, columns if the model reads any, and
# the last output if each class has weights of its own
NAMES, OUTPUTS = ("tokens", "mask", "segments", "columns"), ("probabilities", "weights", "class_weights")
OPSET = 18
TOLERANCE = 1e-5  # largest allowed difference from torch's outputs; of outputs above 1, relative to the largest
TRACED = (3, 7)  # numbers of texts and tokens in the traced batch; the batches in CHECKED have other shapes
CHECKED = ((1, 1), (2, 1), (5, 13), (2, 61), (11, 2))


class PortableModel(nn.Module):
    """The module that is exported: the tensors of `Inputs` by NAMES → probabilities N×C and weights N×L.

    If the attention has weights for each class, they are a third output, N×C×L.

    Args:
        task: converts the model's logits into probabilities.
        max_length: maximum of L.
        pairs: whether the model reads pairs of texts.
        features: the number of features of the columns beside the text.
    """

    def __init__(
        self, model: Classifier, task: Task, vocab_size: int, max_length: int, pairs: bool = False, features: int = 0
    ) -> None:
        super().__init__()
        self.model = model
        self.task = task
        self.vocab_size = vocab_size
        self.max_length = max_length
        self.pairs, self.features = pairs, features

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        tokens, mask, *others = tensors
        segments = others.pop(0) if self.pairs else None
        columns = others.pop() if self.features else None
        logits, weights = self.model.forward_with_weights(Inputs(tokens, mask, segments, columns))
        outputs = self.task.probabilities(logits).float(), mean_weights(weights.float())
        return (*outputs, weights[:, :, 0].float()) if self.model.attention.per_class else outputs


class OnnxClassifier(nn.Module):
    """An ONNX model, which computes on the CPU, with those attributes of a `Classifier` that an `Ensemble` uses.

    Its weights are those of each class, if it has them, or else the means over heads and states.
    """

    used_branch = None

    def __init__(self, session: "InferenceSession", task: Task, unknown_ids: Sequence[int]) -> None:
        super().__init__()
        self.session, self.task = session, task
        self.unknown_ids = torch.tensor(unknown_ids)
        self.attention = nn.Module()
        self.attention.per_token = False  # type: ignore[assignment]
        self.attention.per_class = len(session.get_outputs()) == len(OUTPUTS)  # type: ignore[assignment]
        self.place = nn.Parameter(torch.empty(0))  # the device of the inputs and outputs

    def forward(self, inputs: Inputs) -> Tensor:
        return self.forward_with_weights(inputs)[0]

    def forward_with_weights(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Return the logits N×C and the weights N×1×1×L or N×C×1×L of texts."""
        (texts, length), size = inputs.ids.shape, len(self.task.outputs)
        shapes = [(texts, size), (texts, length), (texts, size, length)][: 2 + bool(self.attention.per_class)]
        try:
            outputs = [torch.from_numpy(output) for output in self.session.run(None, feed(inputs))]
            if (found := [tuple(output.shape) for output in outputs]) != shapes:
                raise ValueError(f"its outputs have the sizes {found} instead of {shapes}")
        except Exception as error:  # onnxruntime raises many types
            reason = str(error).strip().partition("\n")[0][:200]
            raise UserError(
                f"the model cannot be run, or does not suit config.json ({reason}): export it again"
            ) from error
        probabilities, mean, *by_class = (output.to(inputs.ids.device) for output in outputs)
        return self.task.logits(probabilities), by_class[0][:, :, None] if by_class else mean[:, None, None]

    def layer_weights(self, inputs: Inputs) -> dict[str, Tensor]:
        return {}

    def has_known_token(self, inputs: Inputs, unknown_id: int | None) -> Tensor:
        """Return whether each text has a token that the model uses, N bool."""
        return (inputs.mask & ~torch.isin(inputs.ids, self.unknown_ids.to(inputs.ids.device))).any(1)


def convert(portable: PortableModel, path: Path) -> float:
    """Write an ONNX file that accepts any number of texts and tokens, and compare its outputs with torch's.

    Torch has two exporters, and neither converts every component. The tracing exporter is tried first, although torch
    has deprecated it: only with it do recurrent layers process texts of any length. The second exporter is based on
    torch.export. The first ONNX model whose outputs differ from torch's by at most TOLERANCE remains.

    Args:
        portable: a trained model on the CPU, in evaluation mode.

    Returns:
        The largest difference from torch's outputs, on batches of other shapes than that of the traced batch.
    """
    outputs = OUTPUTS if portable.model.attention.per_class else OUTPUTS[:-1]
    traced = _by_name(_ragged_batch(portable, *TRACED, seed=0))
    axes = {"columns": {0: "texts"}, "probabilities": {0: "texts"}}
    dynamic = {name: axes.get(name, {0: "texts", 1: "tokens"}) for name in (*traced, *OUTPUTS[:2])}
    any_size = tuple(dict.fromkeys(dynamic[name], torch.export.Dim.DYNAMIC) for name in traced)
    dynamic |= {name: {0: "texts", 2: "tokens"} for name in outputs[2:]}
    exporters: dict[str, dict[str, Any]] = {
        "tracing": {"dynamo": False, "dynamic_axes": dynamic, "opset_version": OPSET},
        "torch.export": {"dynamo": True, "external_data": False},
    }
    reasons = []
    for name, options in exporters.items():
        try:
            with _quiet(), torch.no_grad():
                model: Any = portable
                batch: Any = tuple(traced.values())
                if options["dynamo"]:  # torch tries still other ways to export a module, one of which crashes torch 2.6
                    model = torch.export.export(portable, batch, dynamic_shapes=(any_size,), strict=False)
                    batch = ()
                names: dict[str, Any] = {"input_names": tuple(traced), "output_names": outputs}
                torch.onnx.export(model, batch, path, verbose=False, **names, **options)
            _remove_traces(path)
            difference = largest_difference(portable, path)
        except Exception as error:  # the exporters and onnxruntime raise exceptions of many types
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise
            reason = next(iter(str(error).strip().splitlines()), "")[:200]
            reasons.append(f"{name}: {type(error).__name__}: {reason}")
            continue
        if difference <= TOLERANCE:
            return difference
        reasons.append(f"{name}: the outputs differ from torch's by {difference:.1e}")
    path.unlink(missing_ok=True)
    raise UserError(f"this model cannot be exported to ONNX ({'; '.join(reasons)})")


def _remove_traces(path: Path) -> None:
    """Remove the lines of source code, with the paths of this machine, that the second exporter writes to each node."""
    import onnx  # an optional package

    model = onnx.load(path)
    graphs = [model.graph]
    while graphs:
        graph = graphs.pop()
        for part in (graph, *graph.node, *graph.value_info, *graph.input, *graph.output):
            part.ClearField("metadata_props")
        for attribute in (attribute for node in graph.node for attribute in node.attribute):  # loops and branches
            graphs += [attribute.g, *attribute.graphs] if attribute.HasField("g") else attribute.graphs
    onnx.save(model, path)


def largest_difference(portable: PortableModel, path: Path) -> float:
    """Return the largest difference between the outputs of torch and an ONNX file, on random ragged batches.

    It is relative to the largest output if this is above 1, infinite if the shapes differ, and NaN if an output is.
    """
    session = load_session(path)
    differences = [0.0]
    for seed, (texts, length) in enumerate(CHECKED):
        inputs = _ragged_batch(portable, texts, min(length, portable.max_length), seed)
        with torch.inference_mode():
            expected = [output.numpy() for output in portable(*_by_name(inputs).values())]
        for ours, theirs in zip(expected, session.run(None, feed(inputs)), strict=True):
            if ours.shape != theirs.shape:
                return float("inf")
            differences.append(float(np.abs(ours - theirs).max()) / max(1.0, float(np.abs(ours).max())))
    return float(np.max(differences))


def load_session(path: Path) -> "InferenceSession":
    """Load an ONNX file on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors also raise exceptions, so they need not be logged
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # beside busy processes, it costs much
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def feed(inputs: Inputs) -> dict[str, np.ndarray]:
    """Return the inputs of an ONNX session by name."""
    return {name: tensor.cpu().numpy() for name, tensor in _by_name(inputs).items()}


def _by_name(inputs: Inputs) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in zip(NAMES, inputs, strict=True) if tensor is not None}


def _ragged_batch(portable: PortableModel, texts: int, length: int, seed: int) -> Inputs:
    """Return random inputs, of which the first text has `length` tokens, and the last of several is empty."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, length + 1, (texts,), generator=generator)
    lengths[-1], lengths[0] = 0, length
    mask = torch.arange(length) < lengths.unsqueeze(1)
    ids = torch.randint(1, portable.vocab_size, (texts, length), generator=generator) * mask
    segments = (torch.arange(length) >= (lengths // 2).unsqueeze(1)) & mask
    columns = torch.randn(texts, portable.features, generator=generator) if portable.features else None
    return Inputs(ids, mask, segments.long() if portable.pairs else None, columns)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the warnings of the exporters, also those that they log."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
