"""The file of the test texts that a model classifies wrongly or with little confidence."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from src.data.datamodule import TextDataModule
from src.files import csv_line, write_text
from src.records.errors import disarm

COLUMNS = ("kind", "index", "label", "predicted", "probability", "text", "words")


class Prediction(NamedTuple):
    """The prediction for one text of the test split."""

    probability: float  # probability of the predicted class
    is_correct: bool
    row: int  # row in the split


def write_errors(path: Path, predictions: Sequence[Prediction], count: int, data: TextDataModule, module: Any) -> None:
    """Write the `count` most confident mistakes, then the `count` predictions with the lowest probability, as CSV."""
    mistakes = sorted((-each.probability, each.row) for each in predictions if not each.is_correct)[:count]
    uncertain = sorted((each.probability, each.row) for each in predictions)[:count]
    kinds = ["mistake"] * len(mistakes) + ["uncertain"] * len(uncertain)
    rows = [index for _, index in mistakes + uncertain]
    texts = data.texts("test", rows) if rows else []
    labels = data.tokenized("test").labels[rows].tolist() if rows else []
    examples = module.ensemble().explain(texts)
    lines = [csv_line(COLUMNS)]
    for kind, row, label, text, each in zip(kinds, rows, labels, texts, examples, strict=True):
        words = [[word, round(weight, 4)] for word, weight in zip(each.words, each.weights.tolist(), strict=True)]
        label_cell, predicted, text_cell = map(disarm, (data.class_names[label], each.predicted, text))
        probability = round(each.probabilities[each.predicted], 6)
        content = json.dumps(words, ensure_ascii=False)
        lines.append(csv_line([kind, row, label_cell, predicted, probability, text_cell, content]))
    write_text(path, "".join(lines))
