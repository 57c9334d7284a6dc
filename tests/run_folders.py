"""Folders of made-up runs and sweeps."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.special import expit

WORDS = ["the", "film", "was", "not", "good", "but", "its", "quiet", "ending", "stayed", "with", "me", "days"]
CHOICES = {"data": "imdb", "embedding": "learned", "encoder": "lstm", "attention": "none", "pooling": "last"}
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


def config(folder: Path, choices: dict[str, str], seed: int, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a resolved configuration, in which `options` sets values by their dotted paths."""
    model = {
        kind: {"_target_": f"src.{kind}.{choices[kind]}"} for kind in ("embedding", "encoder", "attention", "pooling")
    }
    values: dict[str, Any] = {
        "seed": seed,
        "task_name": "made_up",
        "data": {"_target_": f"src.{choices['data']}", "path": "/data/a", "batch_size": 32, "seed": seed},
        "model": model,
        "optimizer": {"lr": 0.001},
        "paths": {"output_dir": str(folder)},
        "callbacks": {"progress": {"refresh_rate": seed}, "early_stopping": {"patience": 5}},
    }
    for path, value in (options or {}).items():
        *parents, last = path.split(".")
        node = values
        for key in parents:
            node = node.setdefault(key, {})
        node[last] = value
    return values


def write_run(
    folder: Path,
    probabilities: np.ndarray,
    labels: np.ndarray,
    *,
    seed: int = 0,
    options: dict[str, Any] | None = None,
    result: dict[str, Any] | None = None,
    **choices: str,
) -> Path:
    """Write a completed run with probabilities n×C and labels n.

    `choices` contains choices such as encoder="rnn", and `result` replaces keys of result.json.
    """
    selection = CHOICES | choices
    classes = probabilities.shape[1]
    record = {
        "status": "completed",
        "error": None,
        "task": "made_up",
        "overrides": [f"seed={seed}"],
        "seed": seed,
        "choices": selection,
        "started": f"2026-01-01T00:00:{seed:02}+00:00",
        "finished": f"2026-01-01T00:01:{seed:02}+00:00",
        "data": {"fingerprint": "f", "class_names": [f"class {c}" for c in range(classes)], "test": len(labels)},
        "parameters": {"total": 1009, "trainable": 1009, "by_part": {"encoder": 1009}},
        "seconds": {"total": 9.0, "per_epoch": [3.0, 2.0, 2.0 + seed]},
        "peak_memory_mb": {"process": 700.0 + seed, "cuda": None},
        "metrics": {"val/acc": {"value": 0.8, "low": 0.7, "high": 0.9, "n": 101}},
    }
    (folder / "predictions").mkdir(parents=True)
    (folder / ".hydra").mkdir()
    np.savez_compressed(
        folder / "predictions" / "test.npz",
        probabilities=probabilities.astype(np.float32),
        labels=labels,
        index=np.arange(len(labels)),
        class_names=np.array(record["data"]["class_names"]),
    )
    (folder / "config.yaml").write_text(yaml.safe_dump(config(folder, selection, seed, options)), encoding="utf-8")
    (folder / "result.json").write_text(json.dumps(record | (result or {})), encoding="utf-8")
    return folder


def make_probabilities(labels: np.ndarray, correct: np.ndarray, confidence: float = 0.8) -> np.ndarray:
    """Return probabilities n×2 with the same confidence for each text; `correct` (n, bool) selects the correct ones."""
    predicted = np.where(correct, labels, 1 - labels)
    return np.where(np.arange(2) == predicted[:, None], confidence, 1 - confidence)


def write_sweep(
    folder: Path, accuracies: dict[tuple[str, str], float], *, seeds: int = 5, n: int = 401, spread: float = 0.005
) -> Path:
    """Write a run for each seed and (encoder, attention), whose accuracy has the standard deviation `spread`."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, n)
    difficulty = rng.uniform(size=n)  # of each text; it is the same for all runs
    for (encoder, attention), accuracy in accuracies.items():
        for seed in range(1, seeds + 1):
            level = accuracy + spread * rng.normal()
            difficulty_of_run = 0.7 * difficulty + 0.3 * rng.uniform(size=n)
            correct = difficulty_of_run < np.quantile(difficulty_of_run, level)
            run = folder / f"{encoder}_{attention}_{seed}"
            write_run(run, make_probabilities(labels, correct), labels, seed=seed, encoder=encoder, attention=attention)
    return folder


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


def write_trained_run(
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
