"""The callback that saves predictions."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from src.callbacks.predictions import Predictions
from src.errors import UserError
from tests.helpers import read_csv, saved_predictions, train


def test_the_table_has_the_line_and_the_columns_of_each_text(tmp_path: Path) -> None:
    """The label of a kept column `label` stays beside that of the table."""
    path = tmp_path / "a.csv"
    lines = ["id,comment,topic,label", *(f"{i:03},text {i},{'ab'[i % 2]},=l{i}" for i in range(40))]
    path.write_text("\n".join(lines))
    columns = ["data.text=comment", "data.label=topic", "data.keep_columns=[id,label]"]
    train(tmp_path / "run", "data=csv", f"data.path={path}", *columns, "callbacks=attention", draws=True)
    for split in ("val", "test"):
        _, probabilities, labels, names, _ = saved_predictions(tmp_path / "run", split)
        rows = read_csv(tmp_path / "run" / "predictions" / f"{split}.csv")
        assert list(rows[0])[:6] == ["file", "line", "id", "label", "label_2", "predicted"]
        for row, values, label in zip(rows, probabilities.tolist(), labels, strict=True):
            number, _, topic, own = lines[int(row["line"]) - 1].split(",")
            assert (row["file"], row["id"], row["label"], row["label_2"]) == (str(path), number, own, topic)
            assert (names[label], names[np.argmax(values)]) == (topic, row["predicted"])
            assert [float(row[f"probability_{name}"]) for name in names] == pytest.approx(values, abs=1e-6)
    for row in read_csv(tmp_path / "run" / "errors.csv"):
        number, text, topic, own = lines[int(row["line"]) - 1].split(",")
        assert (row["id"], row["text"], row["label_2"], row["label"]) == (number, text, topic, f"'{own}")
    assert f"(file a.csv, line {row['line']}, id {number}, label {own}): {topic}, predicted" in (
        (tmp_path / "run" / "page.html").read_text()
    )


def test_probabilities_that_are_not_finite_are_reported(tmp_path: Path) -> None:
    """A weight that overflows in half precision is enough."""
    trainer: Any = SimpleNamespace(state=SimpleNamespace(fn="test"))
    probabilities = np.array([[0.5, 0.5], [0.25, 0.75], [np.nan, np.nan]])
    module: Any = SimpleNamespace(evaluated={"probabilities": probabilities})
    with pytest.raises(UserError, match="the model returned test probabilities that are not finite"):
        Predictions(tmp_path).on_test_end(trainer, module)
    assert list(tmp_path.iterdir()) == []
