"""Conversion of a trained model to ONNX, with a check that both models give the same outputs."""

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from src.errors import UserError
from src.models.classifier import Classifier, mean_weights
from src.models.loss import Loss

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

INPUTS, OUTPUTS = ("tokens", "mask"), ("probabilities", "weights")
OPSET = 17
TOLERANCE = 1e-5  # largest allowed difference from torch's outputs, in a probability or a weight
TRACED = (3, 7)  # numbers of texts and tokens in the traced batch; the batches in CHECKED have other shapes
CHECKED = ((1, 1), (2, 1), (5, 13), (2, 61), (11, 2))


class PortableModel(nn.Module):
    """The module that is exported: tokens N×L int64 and mask N×L bool → probabilities N×C and weights N×L.

    Args:
        loss: loss function, which converts the model's logits into probabilities.
        max_length: maximum of L.
    """

    def __init__(self, model: Classifier, loss: Loss, vocab_size: int, max_length: int) -> None:
        super().__init__()
        self.model = model
        self.loss = loss
        self.vocab_size = vocab_size
        self.max_length = max_length

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        logits, weights = self.model.forward_with_weights(tokens, mask)
        return self.loss.probabilities(logits).float(), mean_weights(weights.float())


def convert(portable: PortableModel, path: Path) -> float:
    """Write an ONNX file that accepts any number of texts and tokens, and compare its outputs with torch's.

    Torch has two exporters, and neither converts every component. The tracing exporter is tried first, although torch
    has deprecated it: only with it do recurrent layers process texts of any length. The second exporter is based on
    torch.export. The first ONNX model whose outputs differ from torch's by at most TOLERANCE is written.

    Args:
        portable: a trained model on the CPU, in evaluation mode.

    Returns:
        The largest absolute difference from torch's outputs, on ragged batches whose shapes differ from that of
        the traced batch.

    Raises:
        UserError: if no exporter writes a model with the same outputs as torch.
    """
    reasons = []
    for name, export in (("tracing", _export_by_tracing), ("torch.export", _export_by_graph)):
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            candidate = Path(folder) / "model.onnx"
            try:
                with quiet(), torch.no_grad():
                    export(portable, candidate)
                difference = largest_difference(portable, candidate)
            except Exception as error:  # the exporters and onnxruntime raise exceptions of many types
                reasons.append(f"{name}: {type(error).__name__}: {_first_line(error)}")
                continue
            if difference <= TOLERANCE:
                candidate.replace(path)
                return difference
            reasons.append(f"{name}: the outputs differ from torch's by {difference:.1e}")
    raise UserError(f"this model cannot be exported to ONNX ({'; '.join(reasons)})")


def largest_difference(portable: PortableModel, path: Path) -> float:
    """Return the largest absolute difference between the outputs of torch and an ONNX file, on random ragged batches.

    The difference is infinite if the shapes of the outputs differ, and NaN if an output is NaN.
    """
    session = load_session(path)
    differences = [0.0]
    for seed, (texts, length) in enumerate(CHECKED):
        tokens, mask = _ragged_batch(portable, texts, min(length, portable.max_length), seed)
        with torch.inference_mode():
            expected = [output.numpy() for output in portable(tokens, mask)]
        for ours, theirs in zip(expected, session.run(None, feed(tokens.numpy(), mask.numpy())), strict=True):
            if ours.shape != theirs.shape:
                return float("inf")
            differences.append(float(np.abs(ours - theirs).max()))
    return max(differences, key=lambda value: np.inf if np.isnan(value) else value)


def load_session(path: Path) -> "InferenceSession":
    """Load an ONNX file on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors also raise exceptions, so they need not be logged
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def feed(tokens: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
    """Return the inputs of an ONNX session by name: tokens N×L int64 and mask N×L bool."""
    return dict(zip(INPUTS, (tokens, mask), strict=True))


def _ragged_batch(portable: PortableModel, texts: int, length: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return random tokens and their mask, both N×L.

    The first text has `length` tokens. If there are several texts, the last is empty.
    """
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, length + 1, (texts,), generator=generator)
    lengths[-1], lengths[0] = 0, length
    mask = torch.arange(length) < lengths.unsqueeze(1)
    return torch.randint(1, portable.vocab_size, (texts, length), generator=generator) * mask, mask


def _export_by_tracing(portable: PortableModel, path: Path) -> None:
    dynamic = {name: {0: "texts", 1: "tokens"} for name in (*INPUTS, "weights")} | {"probabilities": {0: "texts"}}
    torch.onnx.export(
        portable,
        _ragged_batch(portable, *TRACED, seed=0),
        path,
        dynamo=False,
        input_names=INPUTS,
        output_names=OUTPUTS,
        dynamic_axes=dynamic,
        opset_version=OPSET,
    )


def _export_by_graph(portable: PortableModel, path: Path) -> None:
    any_size = torch.export.Dim.DYNAMIC
    program = torch.onnx.export(
        portable,
        _ragged_batch(portable, *TRACED, seed=0),
        dynamo=True,
        verbose=False,
        input_names=INPUTS,
        output_names=OUTPUTS,
        dynamic_shapes=({0: any_size, 1: any_size},) * 2,
    )
    assert program is not None
    program.save(path)


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the output of the exporters, including the output of C++ code; exceptions are not affected."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    sys.stdout.flush()
    streams = [(stream, os.dup(stream)) for stream in (1, 2)]
    try:
        with warnings.catch_warnings(), open(os.devnull, "w", encoding="utf-8") as null:
            warnings.simplefilter("ignore")
            for stream, _ in streams:
                os.dup2(null.fileno(), stream)
            yield
            sys.stdout.flush()
    finally:
        for stream, copy in streams:
            os.dup2(copy, stream)
            os.close(copy)
        logging.disable(level)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200]
