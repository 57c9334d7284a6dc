"""The bundled word vectors: the 100,000 most frequent words of GloVe 6B (Pennington, Socher & Manning 2014)."""

from pathlib import Path

import numpy as np

ASSETS = Path(__file__).parent / "assets"
# the first 10,000 words with unchanged vectors, and the others with a float16 scale for each vector of int8
FIRST, OTHERS = (ASSETS / f"glove.6B.50d.top{count}.npz" for count in (10_000, 100_000))


def bundled_words() -> list[str]:
    """Return the words, the most frequent first."""
    words = list[str]()
    for path in (FIRST, OTHERS):
        with np.load(path, allow_pickle=False) as file:
            words += file["words"].tobytes().decode().split("\n")
    return words


def bundled_vectors(rows: np.ndarray) -> np.ndarray:
    """Return the vectors of the words in some ascending rows of all 100,000, m×50 float32."""
    with np.load(FIRST, allow_pickle=False) as first, np.load(OTHERS, allow_pickle=False) as others:
        vectors, codes = first["vectors"], others["codes"]
        rare = rows[rows >= len(vectors)] - len(vectors)
        scales = others["scales"][rare].astype(np.float32)[:, None]
        return np.concatenate([vectors[rows[rows < len(vectors)]], codes[rare] * scales])
