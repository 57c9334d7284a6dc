"""Cross-validation: the predictions of a seed's folds are pooled and scored like the predictions of one model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from src.errors import UserError
from src.formatting import format_names
from src.records.files import Predictions
from src.records.runs import ExcludedRun, FinishedRun
from src.records.variants import Variant


def pool_folds(runs: Sequence[FinishedRun]) -> tuple[Predictions, np.ndarray | None]:
    """Return the predictions for all texts of a cross-validation, each from the run whose test split has the text.

    Args:
        runs: the runs of all folds, in the order of the folds; without cross-validation, the only run.

    Returns:
        The predictions for n texts, and the fold of each text, n; None instead of the folds without cross-validation.
    """
    parts = [run.predictions() for run in runs]
    if len(parts) == 1:
        return parts[0], None
    arrays = (np.concatenate([getattr(part, name) for part in parts]) for name in ("probabilities", "labels", "index"))
    probabilities, labels, index = arrays
    folds = np.repeat(np.arange(len(parts)), [len(part.labels) for part in parts])
    return Predictions(parts[0].split, probabilities, labels, parts[0].class_names, index), folds


def with_complete_folds(variants: Sequence[Variant]) -> tuple[list[Variant], list[ExcludedRun]]:
    """Remove the seeds that lack a run for a fold; return the variants that retain a seed, and the removed runs.

    Raises:
        UserError: if no seed of any variant has all folds.
    """
    complete: list[Variant] = []
    excluded: list[ExcludedRun] = []
    for variant in variants:
        runs: list[FinishedRun] = []
        for seed, of_seed in variant.runs_by_seed.items():
            if reason := _missing_folds(seed, of_seed):
                excluded += [ExcludedRun(run.folder, "incomplete", reason) for run in of_seed]
            else:
                runs += of_seed
        complete += [replace(variant, runs=tuple(runs))] if runs else []
    if not complete:
        raise UserError(f"no cross-validation is complete: {excluded[0].error}")
    return complete, excluded


def _missing_folds(seed: int, runs: Sequence[FinishedRun]) -> str:
    """Return the reason for excluding the runs of a seed; "" if every fold has a run."""
    folds, present = runs[0].folds, {run.fold for run in runs}
    names = format_names(str(fold) for fold in range(folds) if fold not in present)
    if not names:
        return ""
    return f"seed {seed} lacks data.fold={names} ({folds} folds), so some texts have no prediction: run these folds too"
