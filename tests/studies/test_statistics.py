"""Statistics of a run by hand."""

from pathlib import Path

import numpy as np
import pytest

from heedful.records.runs import FinishedRun
from heedful.runs.result import RunResult
from studies.statistics import attended_share, gradient_variation


def test_the_attended_share_by_hand(tmp_path: Path) -> None:
    run, file = FinishedRun(tmp_path, RunResult(), {}), tmp_path / "attention_stats.npz"
    assert attended_share(run) is None
    columns = {"position_mean": np.full(50, 0.02), "entropy": np.log([1, 2, 4]), "effective": np.array([1, 2, 4])}
    np.savez(file, length=np.array([1, 5, 8]), **columns)
    assert attended_share(run) == pytest.approx((2 / 5 + 4 / 8) / 2)  # a text of one word does not count
    np.savez(file, length=np.array([1, 1, 1]), **columns)
    assert attended_share(run) is None
    file.write_bytes(b"PK")
    assert attended_share(run) is None


@pytest.mark.parametrize(
    ("norms", "variation"),
    [([1.0, 3.0] * 5, np.log(3)), ([1.0, 3.0] * 4, None), ([1.0, 0.0] * 5, None), ([1.0, np.inf] * 5, None)],
)
def test_the_gradient_variation_by_hand(norms: list[float], variation: float | None, tmp_path: Path) -> None:
    rows = [f"{10 * step},encoder,{norm}\n{10 * step},head,1\n" for step, norm in enumerate(norms)]
    (tmp_path / "gradients.csv").write_text("step,part,norm\n" + "".join(rows))
    assert gradient_variation(FinishedRun(tmp_path, RunResult(), {})) == pytest.approx(variation)
