"""The bundled set."""

from typing import Any

import numpy as np

from src.data.sources.small_csv import SmallCsv


def test_it_is_whole_and_splits(loading: dict[str, Any]) -> None:
    module = SmallCsv(**loading)
    corpus = module.read()
    assert corpus.class_names == ("negative", "neutral", "positive")
    assert np.bincount(corpus.train.labels).tolist() == [18, 8, 13]
    assert corpus.train.texts[0] == "i love this speaker"
    module.setup()
    assert module.sizes == {"train": 28, "val": 3, "test": 8}
