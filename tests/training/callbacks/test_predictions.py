"""The callback that saves predictions."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import create_autospec

import numpy as np
import pytest

from heedful.base.errors import UserError
from heedful.data.source import Source
from heedful.runs.run_files import Predictions
from heedful.tasks.multiclass import Multiclass
from heedful.training.callbacks.predictions import PredictionWriter
from tests.helpers import read_csv, saved_predictions, train


def test_the_table_has_the_line_and_the_columns_of_each_text(tmp_path: Path) -> None:
    """The label of a kept column `label` stays beside that of the table."""
    path = tmp_path / "a.csv"
    lines = ["id,comment,topic,label", *(f"{i:03},text {i},{'ab'[i % 2]},=l{i}" for i in range(40))]
    path.write_text("\n".join(lines))
    columns = ["data.text=comment", "data.label=topic", "data.keep_columns=[id,label]"]
    train(tmp_path / "run", "data=csv", f"data.path={path}", *columns, "callbacks=attention", draws=True)
    for split in ("val", "test"):
        _, probabilities, labels, task, *_ = saved_predictions(tmp_path / "run", split)
        names = task.classes
        rows = read_csv(tmp_path / "run" / "predictions" / f"{split}.csv")
        assert list(rows[0])[:6] == ["file", "line", "id", "label", "label_2", "predicted"]
        for row, values, label in zip(rows, probabilities.tolist(), labels, strict=True):
            number, _, topic, own = lines[int(row["line"]) - 1].split(",")
            assert (row["file"], row["id"], row["label"], row["label_2"]) == (str(path), number, own, topic)
            assert (names[label], names[np.argmax(values)]) == (topic, row["predicted"])
            assert [float(row[f"probability_{name}"]) for name in names] == pytest.approx(values, abs=1e-6)
        assert all((row["text"], row["in_train"]) == (f"text {int(row['line']) - 2}", "false") for row in rows)
    assert f'"o":"a.csv:{row["line"]} · {number}' in (tmp_path / "run" / "page.html").read_text()


def test_the_groups_of_the_rows_are_recorded(tmp_path: Path) -> None:
    """Only texts 4, 0 and 2 are evaluated, as with trainer.limit_test_batches; rows without groups have no array."""
    numbers = np.array([7, 7, 5, 5, 11])
    evaluated = {
        "probabilities": np.eye(2, dtype=np.float32)[[0, 1, 1]],
        "labels": np.array([0, 1, 0]),
        "index": np.array([0, 2, 4]),
    }
    task = Multiclass(("bad", "good"))
    module: Any = SimpleNamespace(evaluated=evaluated, task=task, ensemble=lambda: SimpleNamespace(members=[]))
    for groups, expected in ((numbers, [7, 5, 11]), (None, None)):
        data = create_autospec(Source, instance=True, task=task, class_names=task.classes)
        data.groups.return_value = groups
        data.origins.side_effect = lambda split, index: {"row": list(index)}
        data.texts.side_effect = lambda split, index: [f"text {row}" for row in index]
        hashes = np.arange(5)
        data.tokenized.return_value = SimpleNamespace(digests=hashes, token_digests=hashes, labels=hashes)
        trainer: Any = SimpleNamespace(state=SimpleNamespace(fn="test"), is_global_zero=True, datamodule=data)
        PredictionWriter(tmp_path).on_test_end(trainer, module)
        found = Predictions.load(tmp_path / "test.npz")
        assert (found.groups if found.groups is None else found.groups.tolist()) == expected
        assert (found.class_names, found.index.tolist()) == (("bad", "good"), [0, 2, 4])


def test_probabilities_that_are_not_finite_are_reported(tmp_path: Path) -> None:
    """A weight that overflows in half precision is enough."""
    trainer: Any = SimpleNamespace(state=SimpleNamespace(fn="test"))
    probabilities = np.array([[0.5, 0.5], [0.25, 0.75], [np.nan, np.nan]])
    module: Any = SimpleNamespace(evaluated={"probabilities": probabilities})
    with pytest.raises(UserError, match="the model returned test probabilities that are not finite"):
        PredictionWriter(tmp_path).on_test_end(trainer, module)
    assert list(tmp_path.iterdir()) == []
