import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from src.errors import UserError
from src.records.faithfulness import FORMAT, RECORD_FILE, Record

OPTIONS: dict[str, Any] = {
    **{"format": FORMAT, "texts": 3, "seed": 0, "measures": ["removal", "limits"], "checkpoint": "abc"},
    **{"rankings": ["attention", "random"], "skipped": 0, "seconds": 1.5, "training": {}},
    "examples": [{"words": ["a", "b"], "label": "x", "predicted": "y"}],
}


def arrays() -> dict[str, np.ndarray]:
    return {
        "rows": np.array([1, 4, 6]),
        "lengths": np.array([2, 3, 5]),
        "correct": np.array([True, False, True]),
        "probabilities": np.array([[0.5, 0.5], [0.7, 0.3], [0.1, 0.9]]),
        "weights": np.full((3, 5), 0.2),
        "integral_error": np.array([0.0, 6.04, np.nan]),  # has no upper bound; NaN stands for an overflow
        "comprehensiveness_removal": np.full((3, 2, 5), 0.25),
        "flip": np.array([[0.1, 1.0], [0.2, 0.3], [np.nan, 0.5]]),
        "scores": np.zeros((2, 2)),
    }


def test_a_loaded_record_equals_the_saved_record(tmp_path: Path) -> None:
    assert Record.load(tmp_path) is None
    Record(OPTIONS, arrays()).save(tmp_path)
    record = Record.load(tmp_path)
    assert record is not None
    assert record.options == OPTIONS
    assert record.of("flip", "random").tolist() == [1.0, 0.3, 0.5]
    assert record.probability.tolist() == [0.5, 0.7, 0.9]


def test_missing_measures() -> None:
    record = Record(OPTIONS | {"measures": ["removal", "guides"], "training": {"guides": [11, 5]}}, {})
    request = {name: OPTIONS[name] for name in ("format", "texts", "seed", "checkpoint")}
    request |= {"measures": ["removal", "flip", "guides"], "training": {"guides": [11, 5]}}
    assert record.missing(request | {"measures": ["removal"], "training": {}}) == []
    assert record.missing(request) == ["flip"]
    assert record.missing(request | {"training": {"guides": [13, 5]}}) == ["flip", "guides"]
    for other in ({"checkpoint": "abd"}, {"texts": 4}, {"seed": 1}):
        assert not record.is_of(request | other)
        assert record.missing(request | other) == ["removal", "flip", "guides"]


def test_a_record_is_extended_by_measures() -> None:
    options = {"measures": ["guides"], "training": {"guides": [11, 5]}, "seconds": 2.5}
    record = Record(OPTIONS, arrays()).extended(options, {"guide_uniform": np.array([0.0, 1.0, 1.0])})
    assert record.options["measures"] == ["guides", "limits", "removal"]
    assert record.options["training"] == {"guides": [11, 5]}
    assert record.options["seconds"] == 4.0
    assert record.options["rankings"] == OPTIONS["rankings"]
    assert record.arrays.keys() == arrays().keys() | {"guide_uniform"}


def test_a_record_of_another_version_is_measured_again(tmp_path: Path) -> None:
    Record({"format": FORMAT + 1}, {}).save(tmp_path)
    assert Record.load(tmp_path) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"flip": np.zeros((3, 3))}, "flip has shape"),
        ({"flip": np.full((3, 2), 7.0)}, "flip has values out of range"),
        ({"scores": np.zeros((2, 3))}, "scores has shape"),
        ({"probabilities": np.full((3, 2), np.inf)}, "probabilities has values out of range"),
        ({"probabilities": np.ones(3)}, "probabilities has shape"),
        ({"weights": np.zeros((3, 4))}, "weights has shape"),
        ({"lengths": np.array(["a", "b", "c"])}, "lengths has values of type"),
        ({"rows": np.array(["a", "b", "c"])}, "rows has values of type"),
        ({"rows": np.array(3)}, "rows has shape"),
        ({"flip": np.zeros(3)}, "flip has shape"),
        ({"comprehensiveness_removal": np.zeros(3)}, "comprehensiveness_removal has shape"),
        ({"comprehensiveness_low": np.zeros((3, 2))}, "comprehensiveness_low has shape"),
        ({"guide_uniform": np.zeros((3, 2))}, "guide_uniform has shape"),
        ({"rows": np.array([1, 6, 4])}, "rows is not strictly ascending"),
        ({"rows": np.array([1, 4, 4])}, "rows is not strictly ascending"),
        ({"lengths": np.full((3, 2), 5)}, "lengths has shape"),
        ({"lengths": np.array([2.0, 3.0, np.inf])}, "lengths has values of type"),
        ({"lengths": np.array([5, -3, 2])}, "lengths has values out of range"),
        ({"probabilities": np.zeros((3, 0))}, "probabilities has shape"),
        ({"options": np.array("[]")}, "input should be a valid dictionary"),
        ({"options": np.array(json.dumps(OPTIONS | {"rankings": ["attention", "attention"]}))}, "repeated"),
        ({"options": np.array(json.dumps(OPTIONS | {"seed": "x"}))}, "seed"),
    ],
)
def test_a_damaged_record_is_reported(changes: dict[str, np.ndarray], message: str, tmp_path: Path) -> None:
    content: dict[str, Any] = {"options": np.array(json.dumps(OPTIONS)), **arrays(), **changes}
    np.savez_compressed(tmp_path / RECORD_FILE, **content)
    with pytest.raises(UserError, match=f"{RECORD_FILE} cannot be read .*{message}.*: delete it"):
        Record.load(tmp_path)


def test_a_truncated_record_is_reported(tmp_path: Path) -> None:
    Record(OPTIONS, arrays()).save(tmp_path)
    path = tmp_path / RECORD_FILE
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UserError, match="delete it, and run the command again"):
        Record.load(tmp_path)
