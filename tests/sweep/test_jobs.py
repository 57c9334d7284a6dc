"""The file of a sweep: a damaged file is reported."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.errors import UserError
from src.sweep.jobs import Sweep, shared_overrides, varying_overrides
from src.sweep.sweeper import GridOrSearch
from tests.damage import damaged, few_examples, trees

SWEEP = {
    "format": 1,
    "arguments": ["-m", "seed=1,2"],
    "jobs": [{"number": 0, "overrides": ["seed=1"], "folder": "0_seed-1"}],
}


@few_examples
@given(record=st.one_of(trees, damaged(SWEEP)))
def test_any_sweep_file_is_read_or_reported(record: Any, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(record))
    try:
        sweep = Sweep.read(tmp_path)
    except UserError as error:
        assert "sweep.json" in str(error) and "start the sweep anew" in str(error)
    else:
        assert all(
            isinstance(job.number, int) and (tmp_path / job.folder).is_relative_to(tmp_path) for job in sweep.jobs
        )


@pytest.mark.parametrize("folder", ["../other", "/tmp", "", ".", "a/../../b", "a\x00"])
def test_a_folder_of_a_job_outside_its_sweep_is_refused(folder: str, tmp_path: Path) -> None:
    record = {**SWEEP, "jobs": [{"number": 0, "overrides": [], "folder": folder}]}
    (tmp_path / "sweep.json").write_text(json.dumps(record))
    with pytest.raises(UserError, match=r"sweep\.json names .* which is not inside the sweep's folder"):
        Sweep.read(tmp_path)


@pytest.mark.parametrize(
    ("number", "folder", "duplicate"), [(0, "b", "number 0"), (1, "a", "folder a"), (1, "./a", "folder a")]
)
def test_two_jobs_with_the_same_number_or_folder_are_refused(
    number: int, folder: str, duplicate: str, tmp_path: Path
) -> None:
    jobs = [{"number": 0, "overrides": [], "folder": "a"}, {"number": number, "overrides": [], "folder": folder}]
    (tmp_path / "sweep.json").write_text(json.dumps({**SWEEP, "jobs": jobs}))
    with pytest.raises(UserError, match=rf"sweep\.json has several jobs with the {duplicate}: start the sweep anew"):
        Sweep.read(tmp_path)


def test_a_folder_in_place_of_a_record_is_reported(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(SWEEP))
    (tmp_path / "0_seed-1" / "result.json").mkdir(parents=True)
    with pytest.raises(UserError, match=r"0_seed-1/result\.json is a folder, but must be a file: remove it"):
        Sweep.read(tmp_path)


def test_a_resumed_sweep_without_jobs_is_a_mistake(tmp_path: Path) -> None:
    Sweep(tmp_path, ["-m", "seed=1,2"], []).write()
    sweeper = GridOrSearch()
    sweeper.runner = Mock(is_resumed=True, folder=tmp_path)
    with pytest.raises(UserError, match=r"sweep\.json lists no jobs: start the sweep anew"):
        sweeper.sweep([])


def test_overrides_of_jobs_are_shared_or_varying() -> None:
    jobs = [["seed=1", "logger=csv"], ["seed=2", "logger=csv"], ["seed=1", "logger=csv", "tags=[a]"]]
    shared = shared_overrides(jobs)
    assert shared == {"logger=csv"}
    assert [varying_overrides(job, shared) for job in jobs] == [["seed=1"], ["seed=2"], ["seed=1", "tags=[a]"]]
    assert shared_overrides(jobs[:1]) == set()
