"""Run folders of simulated models, for comparisons with a known result."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import yaml

CHOICES = {"data": "imdb", "embedding": "learned", "encoder": "lstm", "attention": "none", "pooling": "last"}


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
