"""Sweeps with curves and attention: `python -m tests.compare.sweeps <folder>` writes a sweep of 100 runs."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from tests.compare.runs import write_run
from tests.report.runs import WORDS, write_rows

ENCODERS = {"rnn": -0.9, "lstm": 0.1, "birnn": -0.5, "bilstm": 0.3}  # effect on accuracy, in logits
ATTENTIONS = {"none": -0.5, "bahdanau": 0.1, "luong_dot": 0.0, "luong_general": 0.2, "luong_concat": 0.1}
SIZE = {"rnn": 1, "lstm": 4, "birnn": 2, "bilstm": 8}
VARIATION = {"rnn": 0.9, "lstm": 0.3, "birnn": 0.8, "bilstm": 0.3}  # of the logarithm of the gradient's norm
UNIFORMITY = {
    "none": 1.0,
    "bahdanau": 0.85,
    "luong_dot": 0.6,
    "luong_general": 0.7,
    "luong_concat": 0.8,
}  # exponent of the length
NUM_MEASURED = 101  # texts in attention_stats.npz
ATTENDED = ("not", "good", "quiet", "stayed")  # words that have high weights


def write_whole_sweep(
    sweep: Path,
    encoders: Sequence[str] = tuple(ENCODERS),
    attentions: Sequence[str] = tuple(ATTENTIONS),
    seeds: Sequence[int] = (1, 2, 3),
    *,
    n: int = 211,
    epochs: int = 5,
    texts: Sequence[Sequence[str]] = (WORDS, WORDS[::-1]),
    classes: int = 2,
) -> Path:
    """Write a run for each encoder, attention and seed, all tested on the same n texts; `texts` are the first of these.

    A text has the same difficulty for all variants, and accuracy varies slightly between seeds.
    """
    rng = np.random.default_rng(7)
    names = [f"class {c}" for c in range(classes)]
    labels, ease = rng.integers(0, classes, n), rng.normal(1.8, 1.4, n)
    jobs = [(encoder, attention, seed) for encoder in encoders for attention in attentions for seed in seeds]
    for number, (encoder, attention, seed) in enumerate(jobs):
        skill = ENCODERS[encoder] + ATTENTIONS[attention] + rng.normal(0, 0.08)
        confidence = expit(2 * (ease + skill + rng.normal(0, 0.9, n)))
        probabilities = np.repeat((1 - confidence)[:, None] / (classes - 1), classes, axis=1)
        probabilities[np.arange(n), labels] = confidence
        accuracy = float((probabilities.argmax(1) == labels).mean())
        size = SIZE[encoder]
        result = {
            "started": f"2026-11-21T{8 + number // 60:02}:{number % 60:02}:00+00:00",
            "data": {"fingerprint": "f", "class_names": names, "train": 9 * n, "val": n, "test": n},
            "parameters": {"total": 400_000 + 29_000 * size + 33_000 * (attention != "none")},
            "seconds": {"per_epoch": ((9 + 2.5 * size) * rng.uniform(0.9, 1.1, epochs)).tolist()},
            "peak_memory_mb": {"process": 600.0 + 30 * size, "cuda": None},
            "device": "cpu",
            "precision": "32-true",
            "git_commit": "0123456789abcdef",
        }
        run = sweep / f"{number}_encoder-{encoder}_attention-{attention}_seed-{seed}"
        write_run(run, probabilities, labels, seed=seed, encoder=encoder, attention=attention, result=result)
        write_rows(run / "csv" / "metrics.csv", list(_epochs(accuracy, epochs, rng)))
        examples = [
            _example(words, row, names, probabilities[row], labels[row], attention, rng)
            for row, words in enumerate(texts)
        ]
        (run / "attention.json").write_text(json.dumps(examples))
        write_rows(run / "gradients.csv", list(_gradients(VARIATION[encoder], rng)))
        length = rng.integers(2, 400, NUM_MEASURED)
        effective = length ** rng.normal(UNIFORMITY[attention], 0.02)
        statistics = {"length": length, "effective": effective, "entropy": np.log(effective)}
        np.savez(run / "attention_stats.npz", position_mean=np.full(50, 0.02), **statistics)
    return sweep


def write_failed(sweep: Path, error: str = "RuntimeError: out of memory") -> Path:
    """Write the folder of a failed run."""
    run = sweep / "99_failed"
    run.mkdir(parents=True)
    (run / "result.json").write_text(json.dumps({"status": "failed", "error": error}))
    return run


def text(length: int, seed: int = 0) -> list[str]:
    return [WORDS[index] for index in np.random.default_rng(seed).integers(0, len(WORDS), length)]


def _epochs(accuracy: float, epochs: int, rng: np.random.Generator) -> Iterator[dict[str, float]]:
    for epoch in range(epochs):
        val_accuracy, train_accuracy = accuracy - 0.3 * 0.4**epoch, 1 - 0.45 * 0.55**epoch
        noise = rng.normal(0, 0.004, 4)
        overfitting = 0.03 * max(0, epoch - epochs // 2)
        yield {
            "epoch": epoch,
            "val/loss": 1.3 * (1 - val_accuracy) + overfitting + noise[0],
            "val/acc": val_accuracy + noise[1],
        }
        yield {
            "epoch": epoch,
            "train/loss": 1.4 * (1 - train_accuracy) + noise[2],
            "train/acc": train_accuracy + noise[3] / 9,
        }


def _gradients(variation: float, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for step, norm in enumerate(np.exp(variation * rng.normal(size=20))):
        yield {"step": step, "part": "encoder", "norm": norm}


def _example(
    words: Sequence[str],
    row: int,
    names: Sequence[str],
    probabilities: np.ndarray,
    label: int,
    attention: str,
    rng: np.random.Generator,
) -> dict[str, Any]:
    relevance = np.array([2.5 * (word in ATTENDED) for word in words])
    scores = (0.2 if attention == "none" else 1) * (relevance + rng.normal(0, 0.7, len(words)))
    weights = np.exp(scores) / np.exp(scores).sum()
    return {
        "split": "test",
        "index": row,
        "label": names[label],
        "predicted": names[int(probabilities.argmax())],
        "probabilities": probabilities.tolist(),
        "words": list(words),
        "weights": weights.round(6).tolist(),
        "matrix": None,
    }


if __name__ == "__main__":
    reviews = [text(length, length) for length in (61, 230, 187, 412, 300, 150)]
    write_whole_sweep(Path(sys.argv[1]), seeds=(1, 2, 3, 4, 5), n=25_000, texts=reviews)
