"""Released records of the faithfulness study give the same tables as the records in the folders of the runs."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from src.errors import UserError
from src.files import read_arrays, write_arrays
from src.records.faithfulness import RANKINGS, Options, Record
from studies import report
from studies.faithfulness.release import unpack_release, write_release
from studies.faithfulness.results import DataSetResults
from studies.faithfulness.script import record_path
from tests.run_folders import write_sweep

TEXTS = 23
DECIMAL = re.compile(r"-?\d\.\d+(?:e-\d+)?")
NAMES = {"erasure": ("comprehensiveness_unknown", "soft_sufficiency"), "polarity": ("polarity",)}


def write_records(run: Path, rng: np.random.Generator) -> None:
    """Write the records of `src.faithfulness` and of two scripts."""
    lengths = np.arange(TEXTS) % 7 + 2
    is_token = np.arange(lengths.max()) < lengths[:, None]
    weights = rng.random(is_token.shape) * is_token
    probability = rng.random(TEXTS)
    arrays = {
        "rows": np.arange(TEXTS) * 3,
        "lengths": lengths,
        "correct": rng.random(TEXTS) < 0.7,
        "integral_error": rng.normal(0, 0.003, TEXTS),
        "probabilities": np.stack([probability, 1 - probability], axis=1),
        "weights": weights / weights.sum(1, keepdims=True),
        "tau_gradient": rng.uniform(-1, 1, TEXTS),
        "flip": rng.random((TEXTS, len(RANKINGS))),
    }
    for name in ("comprehensiveness", "sufficiency"):
        values = rng.random((TEXTS, len(RANKINGS), 5))
        bounds = {"low": values.mean(2).min(1) - 0.1, "high": values.mean(2).max(1) + 0.1}
        arrays |= {f"{name}_removal": values} | {f"{name}_{bound}": array for bound, array in bounds.items()}
    measures = ["removal", "limits", "flip", "agreement"]
    options = Options(checkpoint="abc", texts=TEXTS, seed=0, measures=measures, rankings=list(RANKINGS))
    Record(options, arrays).save(run)
    for script, names in NAMES.items():
        values = {name: rng.random((TEXTS, len(RANKINGS))) for name in names}
        common = {"settings": np.array("{}"), "rankings": np.array(RANKINGS), "rows": arrays["rows"]}
        write_arrays(record_path(run, script), **common, **values)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of two encoders with three attentions."""
    attentions = {"bahdanau": 0.8, "luong_dot": 0.75, "uniform": 0.7}
    accuracies = {(encoder, name): value for encoder in ("lstm", "bilstm") for name, value in attentions.items()}
    sweep = write_sweep(tmp_path_factory.mktemp("sweep") / "imdb", accuracies, seeds=2, n=211)
    rng = np.random.default_rng(7)
    for run in sorted(sweep.iterdir()):
        write_records(run, rng)
    return sweep


@pytest.fixture(scope="module")
def docs(sweep: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The released records and the tables and figure from them."""
    docs = tmp_path_factory.mktemp("docs")
    assert write_release(sweep, docs / "results" / "faithfulness" / "imdb.parquet") == 12
    write_report(docs)
    return docs


def write_report(docs: Path, check: bool = False) -> list[str]:
    changed = report.write_report(check, docs / "results", docs / "results.md")
    return [path.name for path in changed]


def test_unpacked_records_have_the_same_values(sweep: Path, docs: Path, tmp_path: Path) -> None:
    for run in unpack_release(docs / "results" / "faithfulness" / "imdb.parquet", tmp_path):
        for name in ("faithfulness.npz", *(record_path(run, script).name for script in NAMES)):
            before, after = read_arrays(sweep / run.name / name), read_arrays(run / name)
            assert before.keys() == after.keys()
            for key, array in before.items():
                expected = array.mean(2) if array.ndim == 3 else array
                if array.dtype.kind == "f":
                    digits = 1e-3 if key == "weights" or "erasure" in name else 1e-6
                    np.testing.assert_allclose(after[key], expected, rtol=digits)
                else:
                    np.testing.assert_array_equal(after[key], expected)


def test_tables_of_the_release_equal_those_of_the_runs(sweep: Path, docs: Path) -> None:
    expected = DataSetResults(sweep).files("imdb")
    for name, text in expected.items():
        written = (docs / "results" / "faithfulness" / name).read_text()
        assert DECIMAL.sub("", written) == DECIMAL.sub("", text)
        numbers, others = ([float(number) for number in DECIMAL.findall(each)] for each in (written, text))
        np.testing.assert_allclose(numbers, others, atol=2e-3)  # 16-bit floats may change the last printed digit
    page = (docs / "results" / "faithfulness" / "imdb.md").read_text()
    for title in ("Other kinds of erasure", "Polarity violations", "Agreement between seeds", "Claims about variants"):
        assert f"## {title}\n" in page
    assert "Adversaries" not in page  # not measured
    assert (docs / "pictures" / "faithfulness_imdb.png").stat().st_size > 10_000


def test_the_check_finds_a_changed_number(docs: Path) -> None:
    assert write_report(docs, check=True) == []
    table = docs / "results" / "faithfulness" / "imdb.csv"
    text = table.read_text()
    line = text.splitlines()[1]
    table.write_text(text.replace(line, re.sub(r"\.(\d)", lambda digit: f".{9 - int(digit[1])}", line, count=1)))
    assert write_report(docs, check=True) == ["imdb.csv"]
    table.write_text(text)


def test_a_run_without_a_record_is_reported(sweep: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(sweep, tmp_path / "sweep")
    record_path(folder / "lstm_uniform_2", "polarity").unlink()
    with pytest.raises(UserError, match="measure all runs first"):
        write_release(folder, tmp_path / "imdb.parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1nothing", b"run,result\n"])
def test_a_damaged_file_is_reported_in_one_message(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "imdb.parquet").write_bytes(content)
    with pytest.raises(UserError, match=r"imdb\.parquet is not a release"):
        unpack_release(tmp_path / "imdb.parquet", tmp_path / "runs")
