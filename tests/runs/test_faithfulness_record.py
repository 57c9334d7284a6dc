from pathlib import Path

import numpy as np
import pytest

from heedful.base.errors import UserError
from heedful.base.files import write_arrays
from heedful.runs.faithfulness_record import FORMAT, RECORD_FILE, FaithfulnessRecord, Options

OPTIONS = Options(checkpoint="abc", texts=3, seed=0, measures=["removal", "limits"], rankings=["attention", "random"])
ARRAYS = {
    "rows": np.array([1, 4, 6]),
    "comprehensiveness_removal": np.full((3, 2, 5), 0.25),
    "flip": np.array([[0.1, 1.0], [0.2, 0.3], [np.nan, 0.5]]),
}


def test_a_loaded_record_equals_the_saved_record(tmp_path: Path) -> None:
    assert FaithfulnessRecord.load(tmp_path) is None
    FaithfulnessRecord(OPTIONS, ARRAYS).save(tmp_path)
    record = FaithfulnessRecord.load(tmp_path)
    assert record.options == OPTIONS
    values = record.values("flip", "random")
    assert values is not None and values.tolist() == [1.0, 0.3, 0.5]
    assert record.values("comprehensiveness_removal", "random") == pytest.approx([0.25] * 3)
    assert record.values("flip", "uniform") is None


def test_a_record_has_the_measures_of_one_checkpoint_and_sample() -> None:
    record = FaithfulnessRecord(OPTIONS, {})
    request = Options(checkpoint="abc", texts=3, seed=0, measures=["limits"])
    assert record.has(request)
    changes = ({"checkpoint": "abd"}, {"texts": 4}, {"seed": 1}, {"measures": ["removal", "flip"]})
    for change in changes:
        assert not record.has(request.model_copy(update=change))


def test_a_record_of_another_version_is_measured_again(tmp_path: Path) -> None:
    FaithfulnessRecord(OPTIONS.model_copy(update={"format": FORMAT + 1}), ARRAYS).save(tmp_path)
    assert FaithfulnessRecord.load(tmp_path) is None


def test_a_damaged_record_is_reported(tmp_path: Path) -> None:
    FaithfulnessRecord(OPTIONS, ARRAYS).save(tmp_path)
    path = tmp_path / RECORD_FILE
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UserError, match=rf"{RECORD_FILE} cannot be read .*: delete it, and run the command again"):
        FaithfulnessRecord.load(tmp_path)
    write_arrays(path, options=np.array(OPTIONS.model_dump_json().replace('"seed":0', '"seed":"x"')))
    with pytest.raises(UserError, match="seed"):
        FaithfulnessRecord.load(tmp_path)
