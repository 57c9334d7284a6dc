"""The bundled data set."""

from typing import Any

import numpy as np

from src.data.sources.small_csv import SmallCsv


def test_the_bundled_reviews_are_read_and_split(source_options: dict[str, Any]) -> None:
    module = SmallCsv(**source_options)
    corpus = module.read()
    assert corpus.class_names == ("negative", "neutral", "positive")
    assert np.bincount(corpus.train.labels).tolist() == [18, 8, 13]
    assert corpus.train.texts[0] == "i love this speaker"
    module.setup()
    assert module.sizes == {"train": 28, "val": 3, "test": 8}
