"""Comparisons of cross-validations."""

from pathlib import Path

import numpy as np
import pytest

from heedful.base.errors import UserError
from heedful.compare.output import comparison_files, render_csv
from heedful.terms.comparison import compare
from tests.run_folders import make_probabilities, write_run

LABELS = (np.array([0, 1, 1]), np.array([0, 1]), np.array([1, 0]))  # of three folds


def write_folds(folder: Path, correct: dict[int, list[list[bool]]], *, attention: str = "none") -> None:
    """Write a run for each seed and fold; `correct` states by seed and fold which predictions are correct."""
    for seed, folds in correct.items():
        for fold, is_correct in enumerate(folds):
            labels = LABELS[fold]
            data = {"fingerprint": "f", "class_names": ["class 0", "class 1"], "folds": 3, "fold": fold}
            write_run(
                folder / f"{attention}_{seed}_{fold}",
                make_probabilities(labels, np.array(is_correct)),
                labels,
                seed=seed,
                options={"data.folds": 3, "data.fold": fold},
                result={"data": {**data, "test": len(labels)}, "seconds": {"per_epoch": [fold + 1.0]}},
                attention=attention,
            )


FIVE_CORRECT = [[True, True, False], [True, False], [True, True]]  # of 7
THREE_CORRECT = [[True, False, False], [True, False], [False, True]]  # of 7


def test_the_folds_of_a_seed_are_one_score_over_all_texts(tmp_path: Path) -> None:
    write_folds(tmp_path, {1: FIVE_CORRECT, 2: THREE_CORRECT})
    write_folds(tmp_path, {1: THREE_CORRECT, 2: THREE_CORRECT}, attention="keras")
    comparison = compare([tmp_path])
    best, last = comparison.rows
    assert (best.variant.name, len(best.variant.seeds), len(best.variant.runs)) == ("none", 2, 6)
    assert best.metrics["acc"].value == pytest.approx(4 / 7)
    assert last.metrics["acc"].value == pytest.approx(3 / 7)
    assert last.difference is not None and last.difference.value == pytest.approx(-1 / 7)
    assert best.metrics["seconds_per_epoch"].value == 2
    assert (comparison.texts, comparison.folds) == (7, 3)


def test_a_verdict_requires_enough_seeds_for_any_number_of_folds(tmp_path: Path) -> None:
    for attention, folds in (("none", FIVE_CORRECT), ("keras", THREE_CORRECT)):
        write_folds(tmp_path, {1: folds, 2: folds}, attention=attention)  # six runs of two seeds
    comparison = compare([tmp_path])
    assert [row.verdict for row in comparison.rows] == ["baseline", "exploratory"]
    assert "-m seed=1,2,3,4,5 data.fold=0,1,2" in comparison_files(comparison)["comparison.html"]


def test_the_report_explains_folds(tmp_path: Path) -> None:
    write_folds(tmp_path, {1: FIVE_CORRECT})
    comparison = compare([tmp_path])
    text = comparison_files(comparison)["comparison.md"]
    assert "3 folds per seed" in text and "overlap of the training sets" in " ".join(text.split())
    assert render_csv(comparison).splitlines()[1].split(",")[1] == "1"  # each seed is listed once
    write_run(tmp_path / "plain" / "run", make_probabilities(LABELS[0], LABELS[0] > 0), LABELS[0])
    assert "folds" not in comparison_files(compare([tmp_path / "plain"]))["comparison.md"]


def test_a_seed_without_all_folds_is_listed_and_not_compared(tmp_path: Path) -> None:
    write_folds(tmp_path, {1: FIVE_CORRECT, 2: THREE_CORRECT})
    (tmp_path / "none_2_1" / "result.json").unlink()
    comparison = compare([tmp_path])
    assert comparison.rows[0].variant.seeds == (1,)
    incomplete = {run.folder.name: run.error for run in comparison.excluded if run.status == "incomplete"}
    assert incomplete.keys() == {"none_2_0", "none_2_2"}
    assert incomplete["none_2_0"].startswith("seed 2 lacks data.fold=1 (3 folds)")
    (tmp_path / "none_1_0" / "result.json").unlink()
    with pytest.raises(UserError, match=r"no cross-validation is complete: seed 1 lacks data\.fold=0 \(3 folds\)"):
        compare([tmp_path])
