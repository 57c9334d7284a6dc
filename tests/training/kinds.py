"""Small files of every kind of texts and labels, and the options that train on them."""

from pathlib import Path

import numpy as np
import pandas as pd

WORDS = ["good", "bad", "dull", "great", "film", "plot", "the", "a", ".", "!"]
TEXTS = 67
KINDS = {
    "multiclass": ["data.label=kind"],
    "multilabel": ["task=multilabel", "data.label=topics", "model/attention=label", "model/head=label"],
    "weighted": ["task=multilabel", "data.label=topics", "model/branch=ngrams", "loss.pos_weight=balanced"],
    "regression": ["task=regression", "data.label=price"],
    "scaled": [
        *("task=regression", "data.label=price", "loss=huber"),
        *("model/attention=bahdanau", "model.attention.task_scaling=lin"),
    ],
    "pairs": ["data.label=kind", "data.text=[text,second]", "model/branch=ngrams"],
    "columns": ["data.label=kind", "data.columns=[age,country]", "model/branch=ngrams", "loss=binary"],
    "everything": [
        *("task=multilabel", "data.label=topics", "data.text=[text,second]", "data.columns=[age,country]"),
        *("model/attention=hierarchical", "model/embedding=ngrams"),
    ],
}


def options(kind: str, folder: Path) -> list[str]:
    """Write the file to the folder; return the options of a training on it."""
    rng, numbers = np.random.default_rng(0), np.arange(TEXTS)
    lengths = rng.integers(1, 20, TEXTS)
    rows = pd.DataFrame(
        {
            "text": [" ".join(rng.choice(WORDS, length)) for length in lengths],
            "second": [" ".join(rng.choice(WORDS, length)) for length in lengths[::-1]],
            "kind": np.where(numbers % 3 == 0, "pos", "neg"),
            "topics": [";".join(name for i, name in enumerate("xyz") if n % (i + 2) == 0) for n in numbers],
            "price": lengths + rng.normal(size=TEXTS),
            "age": [None if n % 11 == 0 else 20 + n % 7 for n in numbers],
            "country": rng.choice(["DE", "FR", "US"], TEXTS),
        }
    )
    rows.to_csv(folder / "texts.csv", index=False)
    return ["data=csv", f"data.path='{folder / 'texts.csv'}'", *KINDS[kind]]
