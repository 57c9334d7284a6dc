"""Folders of made-up runs and sweeps, with the files that a training writes."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from heedful.runs.run_files import read_predictions, table_columns

WORDS = ["the", "film", "was", "not", "good", "but", "its", "quiet", "ending", "stayed", "with", "me", "days"]
CHOICES = {"data": "imdb", "embedding": "learned", "encoder": "lstm", "attention": "none", "pooling": "last"}


def make_probabilities(labels: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """Return probabilities n×2 of 0.8 and 0.2; `correct` (n, bool) selects the correct ones."""
    predicted = np.where(correct, labels, 1 - labels)
    return np.where(np.arange(2) == predicted[:, None], 0.8, 0.2)


LABELS = np.array([0, 1, 1, 0, 1])
PROBABILITIES = make_probabilities(LABELS, np.array([True, True, False, True, True]))


def write_run(
    folder: Path,
    probabilities: np.ndarray = PROBABILITIES,
    labels: np.ndarray = LABELS,
    *,
    seed: int = 0,
    options: dict[str, Any] | None = None,
    result: dict[str, Any] | None = None,
    names: list[str] | None = None,
    epochs: int = 0,
    examples: Sequence[dict[str, Any]] = (),
    groups: np.ndarray | None = None,
    **choices: str,
) -> Path:
    """Write a completed run with probabilities n×C and labels n.

    Args:
        options: values of its configuration by their dotted paths.
        result: replaces keys of result.json.
        epochs: of its training; without any, the files of the training and of the attention are missing.
        examples: the content of attention.json.
        groups: the group of each text.
        choices: such as encoder="rnn".
    """
    choices = CHOICES | choices
    names = names or [f"class {c}" for c in range(probabilities.shape[1])]
    record = {
        "status": "completed",
        "error": None,
        "task": "made_up",
        "overrides": [f"seed={seed}"],
        "seed": seed,
        "choices": choices,
        "started": f"2026-01-01T00:00:{seed:02}+00:00",
        "finished": f"2026-01-01T00:01:{seed:02}+00:00",
        "data": {"fingerprint": "f", "class_names": names, "test": len(labels)},
        "parameters": {"total": 1009, "trainable": 1009, "by_part": {"encoder": 1009}},
        "best": {"epoch": epochs // 2} if epochs else {},
        "seconds": {"total": 9.0, "per_epoch": [3.0, 2.0, 2.0 + seed]},
        "peak_memory_mb": {"process": 700.0 + seed, "cuda": None},
        "metrics": {"val/acc": {"value": 0.8, "low": 0.7, "high": 0.9, "n": 101}},
    }
    config: dict[str, Any] = {
        "seed": seed,
        "task_name": "made_up",
        "data": {"_target_": f"heedful.{choices['data']}", "path": "/data/a", "batch_size": 32, "seed": seed},
        "model": {kind: {"_target_": f"heedful.{kind}.{choice}"} for kind, choice in choices.items() if kind != "data"},
        "optimizer": {"lr": 0.001},
        "paths": {"output_dir": str(folder)},
        "callbacks": {"progress": {"refresh_rate": seed}, "early_stopping": {"patience": 5}},
    }
    for path, value in (options or {}).items():
        *parents, last = path.split(".")
        node = config
        for key in parents:
            node = node.setdefault(key, {})
        node[last] = value
    (folder / "predictions").mkdir(parents=True)
    (folder / ".hydra").mkdir()
    np.savez_compressed(
        folder / "predictions" / "test.npz",
        probabilities=probabilities.astype(np.float32),
        labels=labels,
        index=np.arange(len(labels)),
        class_names=np.array(names),
        **({} if groups is None else {"groups": groups}),
    )
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (folder / "result.json").write_text(json.dumps(record | (result or {})), encoding="utf-8")
    if epochs:
        _write_training(folder, epochs, len(labels), np.random.default_rng(seed))
        (folder / "attention.json").write_text(json.dumps(examples))
    return folder


def _write_training(run: Path, epochs: int, texts: int, rng: np.random.Generator) -> None:
    """Write curves, whose middle epoch is the best, norms of gradients, and statistics of the weights of the texts."""
    rows: list[dict[str, Any]] = []
    for epoch in range(epochs):
        distance = abs(epoch - epochs // 2)
        rows.append({"epoch": epoch, "val/loss": 0.5 + 0.02 * distance, "val/acc": 0.8 - 0.003 * distance})
        rows.append({"epoch": epoch, "train/loss": 0.7 * 0.93**epoch, "train/acc": 1 - 0.4 * 0.93**epoch})
    # the validation of the best checkpoint after training
    write_rows(run / "csv" / "metrics.csv", [*rows, {"epoch": epochs, "val/loss": 0.5, "val/acc": 0.8}])
    scales = {"embedding": 0.01, "encoder": 1.0, "attention": 0.3, "head": 5.0}
    steps = [(step, part, scale * rng.lognormal(0, 0.4)) for step in range(20) for part, scale in scales.items()]
    write_rows(run / "gradients.csv", [dict(zip(("step", "part", "norm"), step, strict=True)) for step in steps])
    length = rng.integers(5, 500, texts)
    entropy = np.log(length) * rng.uniform(0.4, 1, texts)
    statistics = {"entropy": entropy, "effective": np.exp(entropy), "length": length}
    np.savez(run / "attention_stats.npz", position_mean=np.linspace(2, 1, 50) / 75, **statistics)


def write_sweep(
    folder: Path,
    accuracies: dict[tuple[str, str], float],
    *,
    seeds: int = 5,
    n: int = 401,
    spread: float = 0.005,
    texts: Sequence[Sequence[str]] = (),
    epochs: int = 0,
) -> Path:
    """Write a run for each seed and (encoder, attention), whose accuracy has the standard deviation `spread`.

    All runs are tested on the same n texts. `texts` are the words of the first of these.
    """
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, n)
    difficulty = rng.uniform(size=n)  # of each text; it is the same for all runs
    examples = [example(len(words), index=row) | {"words": list(words)} for row, words in enumerate(texts)]
    for (encoder, attention), accuracy in accuracies.items():
        for seed in range(1, seeds + 1):
            level = accuracy + spread * rng.normal()
            difficulty_of_run = 0.7 * difficulty + 0.3 * rng.uniform(size=n)
            correct = difficulty_of_run < np.quantile(difficulty_of_run, level)
            write_run(
                folder / f"{encoder}_{attention}_{seed}",
                make_probabilities(labels, correct),
                labels,
                seed=seed,
                epochs=epochs,
                examples=examples,
                encoder=encoder,
                attention=attention,
            )
    return folder


def predictions(n: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities n×C (float32) that predict most labels correctly, and labels n."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    scores = rng.normal(size=(n, classes))
    scores[np.arange(n), labels] += 1.5
    powers = np.exp(1.5 * scores)
    return (powers / powers.sum(1, keepdims=True)).astype(np.float32), labels


def example(length: int, heads: int = 0, index: int = 0) -> dict[str, Any]:
    """Return an entry of attention.json; with `heads` = 0, it has no matrix."""
    rng = np.random.default_rng(length + heads)
    scores = rng.normal(size=(max(1, heads), length, length)) + 2 * rng.normal(size=length)
    matrix = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    return {
        "split": "test",
        "index": index,
        "label": "class 0",
        "predicted": "class 1",
        "probabilities": {"class 0": 0.2, "class 1": 0.8},
        "words": [WORDS[i % len(WORDS)] for i in range(length)],
        "weights": matrix.mean((0, 1)).tolist(),
        "matrix": matrix.tolist() if heads else None,
    }


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)


def write_table(run: Path, texts: list[str], channels: list[str], in_train: int = -1) -> None:
    """Write the table of the predictions of the classes of a run, with a kept column."""
    predictions = read_predictions(run)
    columns = table_columns(["file", "line", "channel"], predictions.class_names)
    rows = []
    for i, text in enumerate(texts):
        cells = ["a/b.csv", i + 2, channels[i], "", "", *([0] * len(predictions.class_names)), i == in_train, text]
        rows.append(dict(zip(columns, cells, strict=True)))
    write_rows(run / "predictions" / "test.csv", rows)
