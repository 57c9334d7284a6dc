"""Statistics of one run's attention and gradients; None where the run's files do not contain them."""

from pathlib import Path

import numpy as np

from src.reports.files import read_gradients, read_or_warn, read_statistics

MIN_MEASUREMENTS = 10  # of a gradient's norm


def attended_share(run: Path) -> float | None:
    """The effective share of a text's words, exp(entropy) / length: mean over texts, 0 to 1."""
    statistics = read_or_warn(read_statistics, run)
    if statistics is None:
        return None
    several = statistics.length > 1  # a single word has weight 1 under every attention
    return float((statistics.effective / statistics.length)[several].mean()) if several.any() else None


def gradient_variation(run: Path, component: str = "encoder") -> float | None:
    """Root mean square of ln(b / a) over successive norms a, b of a component's gradient."""
    norms = (read_or_warn(read_gradients, run) or {}).get(component)
    if norms is None or len(norms) < MIN_MEASUREMENTS or not (np.isfinite(norms).all() and (norms[:, 1] > 0).all()):
        return None
    return float(np.sqrt(np.mean(np.diff(np.log(norms[:, 1])) ** 2)))
