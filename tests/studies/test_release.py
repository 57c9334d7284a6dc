"""Released records: they contain no paths, and a comparison of unpacked records gives the same numbers."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.base.errors import UserError
from heedful.runs.faithfulness_record import RANKINGS, FaithfulnessRecord, Options
from heedful.runs.run_files import read_gradients, read_history, read_predictions, read_statistics
from heedful.terms.comparison import compare
from studies.release import pack_probabilities, unpack_probabilities, unpack_release, write_release
from tests.run_folders import make_probabilities, write_run, write_sweep

LABELS = np.arange(13) % 2
CORRECT = np.arange(13) % 3 > 0


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    accuracies = {("rnn", "none"): 0.6, ("rnn", "bahdanau"): 0.7, ("lstm", "none"): 0.75, ("lstm", "bahdanau"): 0.8}
    return write_sweep(folder / "sweep", accuracies, seeds=2, n=101, epochs=3)


def test_a_comparison_of_unpacked_records_has_the_same_results(sweep, tmp_path):
    assert write_release(sweep, tmp_path / "r.parquet") == 8
    runs = unpack_release(tmp_path / "r.parquet", tmp_path / "runs")
    original, unpacked = compare([sweep]), compare([tmp_path / "runs"])
    assert [run.name for run in runs] == sorted(path.name for path in sweep.iterdir())
    for before, after in zip(original.rows, unpacked.rows, strict=True):
        assert before.variant.name == after.variant.name
        assert before.metrics["acc"] == after.metrics["acc"]
        assert before.difference == after.difference
    losses = [
        [row.metrics["nll"].value for row in compare([folder], metric="nll").rows] for folder in (sweep, runs[0].parent)
    ]
    np.testing.assert_allclose(*losses, rtol=2e-4)  # the log-odds of all texts have the same error of rounding


def test_groups_are_preserved(tmp_path):
    groups = np.array([5, 3] * 6 + [2])
    write_run(tmp_path / "sweep" / "run", make_probabilities(LABELS, CORRECT), LABELS, groups=groups)
    write_release(tmp_path / "sweep", tmp_path / "r.parquet")
    (run,) = unpack_release(tmp_path / "r.parquet", tmp_path / "runs")
    assert read_predictions(run).groups.tolist() == groups.tolist()


def test_statistics_gradients_and_curves_are_preserved(sweep, tmp_path):
    write_release(sweep, tmp_path / "r.parquet")
    for run in unpack_release(tmp_path / "r.parquet", tmp_path / "runs"):
        before, after = read_statistics(sweep / run.name), read_statistics(run)
        for name in ("position_mean", "entropy", "effective", "length"):
            np.testing.assert_allclose(getattr(after, name), getattr(before, name), rtol=1e-5)
        for component, norms in read_gradients(sweep / run.name).items():
            np.testing.assert_allclose(read_gradients(run)[component], norms, rtol=1e-5)
        history = read_history(run)
        assert history.keys() == read_history(sweep / run.name).keys()
        assert history["val/acc"] == pytest.approx(read_history(sweep / run.name)["val/acc"], rel=1e-5)


@pytest.fixture
def measured(tmp_path):
    """Two runs with a record of `src.faithfulness` and a record of a script."""
    rng = np.random.default_rng(7)
    for seed in (1, 2):
        run = write_run(tmp_path / "measured" / f"run_{seed}", make_probabilities(LABELS, CORRECT), LABELS, seed=seed)
        options = Options(checkpoint="abc", texts=13, seed=0, measures=["removal"], rankings=list(RANKINGS))
        lengths = np.arange(13) % 7 + 2
        weights = rng.random((13, 8)) * (np.arange(8) < lengths[:, None])
        arrays = {"rows": np.arange(13) * 3, "lengths": lengths, "correct": CORRECT, "weights": weights}
        FaithfulnessRecord(options, arrays | {"sufficiency_removal": rng.random((13, len(RANKINGS), 5))}).save(run)
        values = {"rows": arrays["rows"], "soft_sufficiency": rng.random((13, len(RANKINGS)))}
        FaithfulnessRecord(options, values).save(run, "faithfulness_erasure.npz")
    return tmp_path / "measured"


def test_records_of_faithfulness_are_preserved(measured, tmp_path):
    assert write_release(measured, tmp_path / "r.parquet") == 2
    for run in unpack_release(tmp_path / "r.parquet", tmp_path / "runs"):
        for name in ("faithfulness.npz", "faithfulness_erasure.npz"):
            before, after = FaithfulnessRecord.load(measured / run.name, name), FaithfulnessRecord.load(run, name)
            assert before.options == after.options and before.arrays.keys() == after.arrays.keys()
            for key, array in before.arrays.items():
                expected = array.mean(2) if array.ndim == 3 else array  # over the erased shares
                assert after.arrays[key].dtype == expected.dtype
                tolerance = 1e-3 if key in ("weights", "soft_sufficiency") else 1e-6
                np.testing.assert_allclose(after.arrays[key], expected, rtol=tolerance)


def test_a_run_without_a_record_is_reported(measured, tmp_path):
    (measured / "run_2" / "faithfulness_erasure.npz").unlink()
    with pytest.raises(UserError, match="measure all runs first"):
        write_release(measured, tmp_path / "r.parquet")


def test_released_records_contain_no_path(tmp_path):
    result = {
        "command": "python -m src.train data.path=/secret/place",
        "overrides": [
            "data.path=/secret/place",
            "paths.output_dir=/secret/place",
            "seed=3",
            "model.embedding.path=/secret/vectors.txt",
        ],
    }
    options = {"data.path": "/secret/place", "model.embedding.path": "/secret/vectors.txt", "logger.csv": "/secret"}
    write_run(tmp_path / "s" / "run", seed=3, options=options, result=result)
    write_release(tmp_path / "s", tmp_path / "r.parquet")
    (row,) = pq.read_table(tmp_path / "r.parquet").to_pylist()
    assert "secret" not in row["result"] + row["config"]
    assert json.loads(row["result"])["overrides"] == []
    assert json.loads(row["config"])["model"]["embedding"]["path"] == "vectors.txt"


def test_a_path_within_an_option_is_refused(tmp_path):
    write_run(tmp_path / "run", options={"model.encoder.note": f"read {tmp_path}/x"})
    with pytest.raises(UserError, match="must not name folders"):
        write_release(tmp_path, tmp_path / "r.parquet")


def test_extreme_probabilities_remain_finite():
    probabilities = unpack_probabilities(pack_probabilities(np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)))
    np.testing.assert_allclose(probabilities, [[1, 0], [0, 1]], atol=1e-6)
    assert (probabilities[:, ::-1].diagonal() > 0).all()  # log-odds of at most 40 leave a finite loss


def rows_strategy(classes):
    return st.lists(st.tuples(*[st.floats(1e-6, 1)] * classes), min_size=1, max_size=7)


@given(st.sampled_from([2, 3, 5]).flatmap(rows_strategy))
def test_probabilities_and_predicted_classes_are_preserved(rows):
    probabilities = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    unpacked = unpack_probabilities(pack_probabilities(probabilities))
    np.testing.assert_allclose(unpacked, probabilities, atol=2e-4 if len(rows[0]) == 2 else 4e-3)
    assert (unpacked.argmax(1) == probabilities.argmax(1)).all()


@pytest.mark.parametrize("winner", [0, 1])
def test_the_predicted_class_of_a_near_tie_is_preserved(winner):
    probabilities = np.array([[0.5, 0.5]])
    probabilities[0, winner] += 1e-9
    assert unpack_probabilities(pack_probabilities(probabilities)).argmax(1) == [winner]


@pytest.mark.parametrize("content", [b"", b"PAR1nothing", b"run,result\n"])
def test_a_file_that_is_no_release_is_refused(tmp_path, content):
    (tmp_path / "r.parquet").write_bytes(content)
    with pytest.raises(UserError, match=r"r\.parquet is not a release"):
        unpack_release(tmp_path / "r.parquet", tmp_path / "runs")


def test_a_name_that_leaves_the_folder_is_refused(sweep, tmp_path):
    write_release(sweep, tmp_path / "r.parquet")
    table = pq.read_table(tmp_path / "r.parquet")
    names = [["../outside", *table["run"].to_pylist()[1:]]]
    pq.write_table(table.set_column(0, table.schema.field("run"), names), tmp_path / "r.parquet")
    with pytest.raises(UserError, match="not the name of a run"):
        unpack_release(tmp_path / "r.parquet", tmp_path / "runs")
    assert not (tmp_path / "outside").exists()
