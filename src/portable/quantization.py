"""An int8 copy of an ONNX model, and the difference in accuracy."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from src.data.padded_batches import Batch
from src.portable.onnx_model import feed, load_session, quiet

RESAMPLES = 1000


class AccuracyLoss(NamedTuple):
    """The accuracies of two models on the same texts.

    Args:
        original: accuracy in [0, 1] of the original model.
        quantized: accuracy in [0, 1] of the quantized model.
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
    """Write a copy of an ONNX model with int8 weights in matrix products; every call also quantizes the activations."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with quiet():  # hides the advice of onnxruntime to preprocess the model
        quantize_dynamic(source, target, weight_type=QuantType.QInt8)


def measure_loss(original: Path, quantized: Path, batches: Iterable[Batch]) -> AccuracyLoss:
    """Compare two ONNX files on labelled batches, which must contain at least one text in all."""
    sessions = load_session(original), load_session(quantized)
    hits: list[np.ndarray] = []  # 2×N bool for each batch
    for batch in batches:
        inputs, labels = feed(batch.tokens.numpy(), batch.mask.numpy()), batch.labels.numpy()
        hits.append(np.stack([session.run(None, inputs)[0].argmax(1) == labels for session in sessions]))
    first, second = np.concatenate(hits, axis=1)
    better, worse = (second & ~first).mean(), (first & ~second).mean()
    draws = np.random.default_rng(0).multinomial(len(first), [better, worse, 1 - better - worse], RESAMPLES)
    low, high = np.percentile((draws[:, 0] - draws[:, 1]) / len(first), [2.5, 97.5])
    return AccuracyLoss(float(first.mean()), float(second.mean()), float(low), float(high), len(first))
