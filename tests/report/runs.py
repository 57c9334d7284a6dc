"""Synthetic run folders in the format of a real run."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

WORDS = ["the", "film", "was", "not", "good", "but", "its", "quiet", "ending", "stayed", "with", "me", "days"]


def predictions(n: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities n×C (float32) that predict most labels correctly, and labels n."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    scores = rng.normal(size=(n, classes))
    scores[np.arange(n), labels] += 1.5
    powers = np.exp(1.5 * scores)
    return (powers / powers.sum(1, keepdims=True)).astype(np.float32), labels


def example(
    length: int, heads: int = 0, index: int = 0, names: Sequence[str] = ("class 0", "class 1")
) -> dict[str, Any]:
    """Return an entry of attention.json; with `heads` = 0, it has no matrix."""
    rng = np.random.default_rng(length + heads)
    words = [WORDS[index] for index in rng.integers(0, len(WORDS), length)]
    scores = rng.normal(size=(max(1, heads), length, length)) + 2 * rng.normal(size=length)
    matrix = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    probabilities = np.full(len(names), 0.2 / (len(names) - 1))
    probabilities[1] = 0.8
    return {
        "split": "test",
        "index": index,
        "label": names[0],
        "predicted": names[1],
        "probabilities": probabilities.tolist(),
        "words": words,
        "weights": matrix.mean((0, 1)).tolist(),
        "matrix": matrix.tolist() if heads else None,
    }


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)


def write_run(
    run: Path,
    *,
    n: int = 31,
    classes: int = 2,
    epochs: int = 3,
    steps: int = 20,
    examples: list[dict[str, Any]] | None = None,
    names: list[str] | None = None,
) -> Path:
    """Write a run with n test texts; the middle epoch is the best, and its validation is repeated at the end."""
    rng = np.random.default_rng(5)
    names = names or [f"class {c}" for c in range(classes)]
    rows = []
    for epoch in range(epochs):
        distance = abs(epoch - epochs // 2)
        rows += [
            {"epoch": epoch, "val/loss": 0.5 + 0.02 * distance, "val/acc": 0.8 - 0.003 * distance},
            {"epoch": epoch, "train/loss": 0.7 * 0.93**epoch, "train/acc": 1 - 0.4 * 0.93**epoch},
        ]
    write_rows(run / "csv" / "metrics.csv", [*rows, {"epoch": epochs, "val/loss": 0.5, "val/acc": 0.8}])
    scales = {"embedding": 0.01, "encoder": 1.0, "attention": 0.3, "head": 5.0}
    norms = [
        {"step": step, "part": component, "norm": scale * np.exp(0.4 * rng.normal() - step / steps)}
        for step in range(steps)
        for component, scale in scales.items()
    ]
    write_rows(run / "gradients.csv", norms)
    probabilities, labels = predictions(n, classes)
    (run / "predictions").mkdir()
    columns = {"probabilities": probabilities, "labels": labels, "index": np.arange(n)}
    np.savez(run / "predictions" / "test.npz", class_names=np.array(names), **columns)
    length = rng.integers(5, 500, n)
    entropy = np.log(length) * rng.uniform(0.4, 1, n)
    statistics = {"entropy": entropy, "effective": np.exp(entropy), "length": length}
    np.savez(run / "attention_stats.npz", position_mean=np.linspace(2, 1, 50) / 75, **statistics)
    (run / "attention.json").write_text(json.dumps([example(11)] if examples is None else examples))
    (run / "result.json").write_text(json.dumps({"best": {"epoch": epochs // 2}, "data": {"class_names": names}}))
    return run
