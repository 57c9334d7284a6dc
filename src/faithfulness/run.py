"""Measure one run: restore its checkpoint, select test texts, and compute its record."""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from src.console import row_progress
from src.faithfulness.adversary import adversary_results
from src.faithfulness.guides import guide_results
from src.faithfulness.probe import Training
from src.faithfulness.texts import measure_sample
from src.faithfulness.trained import Sample, TrainedRun, checkpoint_path
from src.records.faithfulness import FORMAT, Record
from src.records.faithfulness_names import GUIDES, LAMBDAS, TRAINING


def options_of(run: Path, texts: int, seed: int, names: Sequence[str], training: Sequence[int]) -> dict[str, Any]:
    """Return the options that determine the record of a run.

    Args:
        training: number of training texts and number of epochs.

    Raises:
        UserError: if the run has no checkpoint.
    """
    digest = hashlib.sha256(checkpoint_path(run).read_bytes()).hexdigest()
    options = {"format": FORMAT, "texts": texts, "seed": seed, "measures": list(names), "checkpoint": digest}
    return options | {"training": {name: list(training) for name in names if name in TRAINING}}


def measure_run(
    run: Path,
    options: dict[str, Any],
    previous: Record | None,
    trusted_modules: Sequence[str],
    data_path: str | None,
    title: str,
) -> Iterator[Record]:
    """Compute the missing measures of a run, and yield its record after each step.

    All measures that do not train models form one step; each other measure is a step of its own.

    Args:
        options: the result of `options_of`.
        previous: previous record of the run; its measures are not computed again if they concern the same checkpoint
            and texts. None if the run has no record.
        trusted_modules: the user's packages whose classes the checkpoint may name.
        data_path: path that replaces `data.path` of the checkpoint; None retains it.
        title: first words of the progress line.

    Raises:
        UserError: if the checkpoint or its data cannot be read, if the model knows no token of the sampled texts, or
            if, apart from measures that train models, only `plausibility` is missing and the data have no rationales.
    """
    trained = TrainedRun(run, trusted_modules, data_path)
    sample = trained.sample("test", options["texts"], options["seed"])
    record = previous if previous is not None and previous.is_of(options) else None
    missing = options["measures"] if record is None else record.missing(options)
    names = [name for name in missing if name not in TRAINING]
    if record is None or names:
        measured = measure_sample(trained, sample, {**options, "measures": names, "training": {}}, title)
        record = measured if record is None else record.extended(measured.options, measured.arrays)
        yield record
    for name in TRAINING:
        if name in missing:
            start = time.perf_counter()
            arrays = _train(name, trained, sample, options, title)
            training = {name: options["training"][name]}
            spent = {"measures": [name], "training": training, "seconds": time.perf_counter() - start}
            record = record.extended(spent, arrays)
            yield record


def _train(
    name: str, trained: TrainedRun, test: Sample, options: Mapping[str, Any], title: str
) -> dict[str, np.ndarray]:
    """Compute the arrays of a measure that trains models."""
    (texts, epochs), seed = options["training"][name], options["seed"]
    train = trained.sample("train", texts, seed)
    models = len(GUIDES) if name == "guides" else len(LAMBDAS)
    with row_progress(f"{title}, {name}: trained on", models * epochs * len(train.texts), "texts") as advance:
        training = Training(epochs, seed, advance)
        if name == "guides":
            return guide_results(trained.probe, train, test, training)
        return adversary_results(trained.probe, trained.build_untrained, train.texts, test.texts, training)
