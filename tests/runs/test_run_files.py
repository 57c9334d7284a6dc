import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heedful.base.errors import UserError
from heedful.runs.examples import read_examples
from heedful.runs.result import RunResult
from heedful.runs.run_files import read_gradients, read_history, read_predictions, read_statistics
from tests.run_folders import example, write_rows

READERS = {
    "csv/metrics.csv": read_history,
    "gradients.csv": read_gradients,
    "predictions/test.npz": read_predictions,
    "attention_stats.npz": read_statistics,
    "attention.json": read_examples,
    "result.json": lambda run: RunResult.load(run).data.class_names,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_missing_file_has_no_content(reader: Callable[[Path], object], tmp_path: Path) -> None:
    assert not reader(tmp_path)


@pytest.mark.parametrize("name", READERS)
def test_the_error_contains_the_damaged_file(name: str, make_run: Callable[..., Path]) -> None:
    run = make_run()
    content = (run / name).read_bytes()
    (run / name).write_bytes(b"epoch,step,part,train/loss\nx,y,z,w\n" if name.endswith("csv") else content[:-30])
    with pytest.raises(UserError, match=Path(name).name):
        READERS[name](run)


def test_history_by_epoch(tmp_path: Path) -> None:
    rows = [
        {"epoch": 0, "train/loss": 1.0},
        {"epoch": 0, "train/loss": 0.5},
        {"epoch": 0, "val/loss": 0.9, "val/acc": 0.4},
        {"epoch": 0, "val/loss": 0.8, "val/acc": 0.6},
        {"epoch": 1, "train/loss": 0.4},
        {"epoch": 2, "val/loss": 0.8, "test/acc": 0.7},  # validation of the best checkpoint, after training
    ]
    write_rows(tmp_path / "csv" / "metrics.csv", rows)
    history = {"train/loss": {0: 0.75, 1: 0.4}, "val/loss": {0: 0.8}, "val/acc": {0: 0.6}}
    assert read_history(tmp_path) == history
    write_rows(tmp_path / "csv" / "metrics.csv", [{"epoch": 0, "test/acc": 0.7}])  # without training
    assert read_history(tmp_path) is None


def test_gradients_by_component_in_order_of_steps(tmp_path: Path) -> None:
    with (tmp_path / "gradients.csv").open("w") as file:
        csv.writer(file).writerows([("step", "part", "norm"), (3, "head", 0.5), (0, "head", "nan"), (0, "encoder", 2)])
    gradients = read_gradients(tmp_path)
    assert gradients is not None and list(gradients) == ["head", "encoder"]
    np.testing.assert_array_equal(gradients["head"], [[0, np.nan], [3, 0.5]])


def test_without_a_test_the_predictions_are_those_of_validation(make_run: Callable[..., Path]) -> None:
    run = make_run(n=7, names=["bad", "good"])
    (run / "predictions" / "test.npz").rename(run / "predictions" / "val.npz")
    predictions = read_predictions(run)
    assert (predictions.split, predictions.class_names, predictions.probabilities.shape) == (
        "val",
        ("bad", "good"),
        (7, 2),
    )


def test_examples_with_and_without_a_map_of_weights(tmp_path: Path) -> None:
    query = example(5, index=3) | {"label": None}
    (tmp_path / "attention.json").write_text(json.dumps([example(7, heads=3, index=2), query]))
    mapped, unmapped = read_examples(tmp_path)
    assert mapped.matrix is not None and mapped.matrix.shape == (3, 7, 7)
    assert mapped.title == "test 2: class 0, predicted class 1 (0.80)"
    assert unmapped.matrix is None and unmapped.title == "test 3: predicted class 1 (0.80)"
    assert mapped.probabilities == pytest.approx({"class 0": 0.2, "class 1": 0.8})


def test_objects_in_predictions_are_refused(tmp_path: Path) -> None:
    (tmp_path / "predictions").mkdir()
    np.savez(tmp_path / "predictions" / "test.npz", class_names=np.array([{}, "a"], dtype=object))
    with pytest.raises(UserError, match=r"test\.npz cannot be read .*is damaged: Object arrays cannot be loaded"):
        read_predictions(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [{"words": None}, {"weights": ["a", "b", "c"]}, {"probabilities": [1.0]}, {"matrix": [[["a"]]]}, {"layers": []}],
    ids=str,
)
def test_examples_of_other_types_are_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    for content in ([example(3) | changes], example(3) | changes, changes, 7):
        (tmp_path / "attention.json").write_text(json.dumps(content))
        with pytest.raises(UserError, match=r"attention\.json cannot be read"):
            read_examples(tmp_path)
