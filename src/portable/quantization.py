"""Quantization of an ONNX model to int8, and the resulting difference in accuracy."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from src.data.padded_batches import Batch
from src.portable.onnx_model import feed, load_session, quiet

RESAMPLES = 1000


class AccuracyLoss(NamedTuple):
    """The accuracies of an ONNX model and of its int8 version on the same texts, in [0, 1].

    Args:
        low, high: bootstrap 95 % interval of `quantized - original`.
        texts: number of texts.
    """

    original: float
    quantized: float
    low: float
    high: float
    texts: int

    def __str__(self) -> str:
        return (
            f"accuracy {self.quantized:.2%} instead of {self.original:.2%} on {self.texts:,} validation texts: "
            f"{100 * (self.quantized - self.original):+.2f} points ({100 * self.low:+.2f} to {100 * self.high:+.2f})"
        )


def quantize(source: Path, target: Path) -> None:
    """Write a copy of an ONNX model with int8 weights in matrix products; activations are quantized at run time."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with quiet():  # hides the advice of onnxruntime to preprocess the model
        quantize_dynamic(source, target, weight_type=QuantType.QInt8)


def measure_loss(original: Path, quantized: Path, batches: Iterable[Batch]) -> AccuracyLoss:
    """Compare the accuracies of two ONNX files on labelled batches, which together must contain at least one text."""
    sessions = load_session(original), load_session(quantized)
    hits: list[np.ndarray] = []  # 2×N bool for each batch
    for batch in batches:
        inputs, labels = feed(batch.tokens.numpy(), batch.mask.numpy()), batch.labels.numpy()
        hits.append(np.stack([session.run(None, inputs)[0].argmax(1) == labels for session in sessions]))
    return compare_hits(*np.concatenate(hits, axis=1))


def compare_hits(original: np.ndarray, quantized: np.ndarray) -> AccuracyLoss:
    """Compare two models by a paired bootstrap over n texts.

    Args:
        original, quantized: n bool, true for the texts that the model classifies correctly.
    """
    n, better, worse = len(original), (quantized & ~original).mean(), (original & ~quantized).mean()
    draws = np.random.default_rng(0).multinomial(n, [better, worse, 1 - better - worse], RESAMPLES)
    low, high = np.percentile((draws[:, 0] - draws[:, 1]) / n, [2.5, 97.5])
    return AccuracyLoss(float(original.mean()), float(quantized.mean()), float(low), float(high), n)
