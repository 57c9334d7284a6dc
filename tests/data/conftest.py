"""Small data sets for tests."""

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from heedful.data.tokenizer import Word

Options: TypeAlias = dict[str, Any]


@pytest.fixture
def source_options(tmp_path: Path) -> Options:
    """Options that every source needs, with a separate cache."""
    return {
        "tokenizer": Word(min_frequency=1),
        "cache_dir": str(tmp_path / "cache"),
        "batch_size": 7,
        "progress": False,
    }


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """A CSV of 101 reviews of 1 to 12 words, sorted by label as IMDb is: 61 bad, 40 good."""
    rng = np.random.default_rng(0)
    texts = [[f"w{i}" for i in rng.integers(0, 50, rng.integers(1, 12))] for _ in range(101)]
    rows = [f"row{i} {' '.join(text)},{'bad' if i < 61 else 'good'}" for i, text in enumerate(texts)]
    path = tmp_path / "reviews.csv"
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    return path
