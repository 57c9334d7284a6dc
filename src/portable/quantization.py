"""Quantization of an ONNX model to int8, and the resulting difference in accuracy."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from src.data.padded_batches import Batch
from src.portable.onnx_model import feed, load_session, quiet
from src.terms.intervals import mean_of_terms


def quantize(source: Path, target: Path) -> None:
    """Write a copy of an ONNX model with int8 weights in matrix products; activations are quantized at run time."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with quiet():  # hides the advice of onnxruntime to preprocess the model
        quantize_dynamic(source, target, weight_type=QuantType.QInt8)


def compare_accuracy(original: Path, quantized: Path, batches: Iterable[Batch]) -> str:
    """Describe the accuracies of two ONNX files on the same labelled texts, and the 95 % interval of the difference.

    Args:
        batches: the texts, at least one in total.
    """
    sessions = load_session(original), load_session(quantized)
    hits: list[np.ndarray] = []  # 2×N for each batch, 1.0 where the predicted class is the label
    for batch in batches:
        inputs, labels = feed(batch.tokens.numpy(), batch.mask.numpy()), batch.labels.numpy()
        hits.append(np.stack([session.run(None, inputs)[0].argmax(1) == labels for session in sessions]) * 1.0)
    before, after = np.concatenate(hits, axis=1)
    difference, low, high = mean_of_terms(100 * (after - before))
    interval = "" if low is None or high is None else f" ({low:+.2f} to {high:+.2f})"
    return (
        f"accuracy {after.mean():.2%} instead of {before.mean():.2%} on {len(before):,} validation texts: "
        f"{difference:+.2f} points{interval}"
    )
