"""What a run's files say of its attention and its gradients, as one number; None where they do not say."""

from pathlib import Path

import numpy as np

from src.reports.files import read_gradients, read_or_warn, read_statistics

MEASUREMENTS = 10  # of a gradient's norm; of fewer, jumps are not judged


def share_attended(run: Path) -> float | None:
    """The share of a text's words that the weight spreads over: exp(entropy) / length, mean over texts, 0 to 1."""
    statistics = read_or_warn(read_statistics, run)
    if statistics is None:
        return None
    several = statistics.length > 1  # one word takes all the weight, whatever the attention
    return float((statistics.effective / statistics.length)[several].mean()) if several.any() else None


def jumps(run: Path, part: str = "encoder") -> float | None:
    """How far the norm of a part's gradient moves from one measurement to the next: root mean square of ln(b / a)."""
    norms = (read_or_warn(read_gradients, run) or {}).get(part)
    if norms is None or len(norms) < MEASUREMENTS or not (np.isfinite(norms).all() and (norms[:, 1] > 0).all()):
        return None
    return float(np.sqrt(np.mean(np.diff(np.log(norms[:, 1])) ** 2)))
