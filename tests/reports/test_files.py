import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from src.errors import UserError
from src.reports.files import (
    read_examples,
    read_gradients,
    read_history,
    read_predictions,
    read_result,
    read_statistics,
)
from tests.reports.runs import example, write_rows

READERS = {
    "csv/metrics.csv": read_history,
    "gradients.csv": read_gradients,
    "predictions/test.npz": read_predictions,
    "attention_stats.npz": read_statistics,
    "attention.json": lambda run: read_examples(run, ["a", "b"]),
    "result.json": read_result,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_an_absent_file_is_nothing(reader: Callable[[Path], object], tmp_path: Path) -> None:
    assert not reader(tmp_path)


@pytest.mark.parametrize("name", READERS)
def test_a_broken_file_is_named(name: str, make_run: Callable[..., Path]) -> None:
    run = make_run()
    whole = (run / name).read_bytes()
    (run / name).write_bytes(b"epoch,step,part,train/loss\nx,y,z,w\n" if name.endswith("csv") else whole[:-30])
    with pytest.raises(UserError, match=Path(name).name):
        READERS[name](run)


def test_history_by_epoch(tmp_path: Path) -> None:
    rows = [
        {"epoch": 0, "train/loss": 1.0},
        {"epoch": 0, "train/loss": 0.5},
        {"epoch": 0, "val/loss": 0.9, "val/acc": 0.4},
        {"epoch": 0, "val/loss": 0.8, "val/acc": 0.6},
        {"epoch": 1, "train/loss": 0.4},
        {"epoch": 2, "val/loss": 0.8, "test/acc": 0.7},  # the best checkpoint, measured again after training
    ]
    write_rows(tmp_path / "csv" / "metrics.csv", rows)
    history = {"train/loss": {0: 0.75, 1: 0.4}, "val/loss": {0: 0.8}, "val/acc": {0: 0.6}}
    assert read_history(tmp_path) == history


def test_a_run_that_only_tested_has_no_history(tmp_path: Path) -> None:
    write_rows(tmp_path / "csv" / "metrics.csv", [{"epoch": 0, "test/acc": 0.7}])
    assert read_history(tmp_path) is None


def test_gradients_by_part_in_order(tmp_path: Path) -> None:
    with (tmp_path / "gradients.csv").open("w") as file:
        csv.writer(file).writerows([("step", "part", "norm"), (3, "head", 0.5), (0, "head", "nan"), (0, "encoder", 2)])
    found = read_gradients(tmp_path)
    assert found is not None and list(found) == ["head", "encoder"]
    np.testing.assert_array_equal(found["head"], [[0, np.nan], [3, 0.5]])


def test_validation_stands_in_for_a_test_that_was_not_made(make_run: Callable[..., Path]) -> None:
    run = make_run(n=7, names=["bad", "good"])
    (run / "predictions" / "test.npz").rename(run / "predictions" / "val.npz")
    found = read_predictions(run)
    assert found is not None
    assert (found.split, found.class_names, found.probabilities.shape) == ("val", ["bad", "good"], (7, 2))


def test_examples(tmp_path: Path) -> None:
    query = example(5, index=3) | {"label": None, "matrix": [[[0.2] * 5]]}  # T = 1: no map
    (tmp_path / "attention.json").write_text(json.dumps([example(7, heads=3, index=2), query]))
    mapped, unmapped = read_examples(tmp_path, ["class 0", "class 1"])
    assert mapped.matrix is not None and mapped.matrix.shape == (3, 7, 7)
    assert mapped.name == "test_2" and mapped.title == "test 2: class 0, predicted class 1 (0.80)"
    assert unmapped.matrix is None and unmapped.title == "test 3: predicted class 1 (0.80)"
    assert mapped.probabilities == pytest.approx({"class 0": 0.2, "class 1": 0.8})
