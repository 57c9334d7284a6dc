"""Planning and validation of jobs before the first one starts."""

import re
from itertools import product
from pathlib import Path
from unittest.mock import Mock

import hydra
import pytest
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import DictConfig, OmegaConf

import heedful.training.build  # noqa: F401  # once here instead of in each forked process
from heedful.base.errors import UserError
from heedful.config.compose import ConfigFiles
from heedful.config.overrides import combinations
from heedful.runs.sweep_record import Job
from heedful.sweep import job
from heedful.sweep.plan import compose_job, create_job, examine, grid, parse_overrides, validate_jobs
from tests.helpers import repository


@pytest.fixture(autouse=True)
def reset_hydra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(job, "START_METHOD", "fork")
    yield
    HydraConfig.instance().cfg = None


def plan(*overrides: str) -> tuple[ConfigFiles, DictConfig, list[Job]]:
    """The jobs of a sweep, not yet validated."""
    files = repository("train")
    sweep = files.compose(["hydra.mode=MULTIRUN", "hydra.sweep.dir=sweep"], sweeps=True)
    return files, sweep, grid(combinations(parse_overrides(files, sweep, overrides)))


def error_message(*overrides: str) -> str:
    with pytest.raises(UserError) as error:
        validate_jobs(*plan(*overrides))
    return str(error.value)


def test_a_folder_is_named_after_varying_overrides() -> None:
    _, _, jobs = plan("trainer.max_epochs=3", "seed=1,2", "model/attention=none,bahdanau")
    assert [job.overrides for job in jobs] == [
        ["trainer.max_epochs=3", f"seed={seed}", f"model/attention={attention}"]
        for seed in (1, 2)
        for attention in ("none", "bahdanau")
    ]
    assert [job.folder for job in jobs][:2] == ["0_seed-1_attention-none", "1_seed-1_attention-bahdanau"]
    assert [job.folder for job in plan("seed=1", "logger=csv")[2]] == ["0_seed-1_logger-csv"]  # a single job
    assert [job.folder for job in plan("seed=1,2,1")[2]] == ["0_seed-1", "1_seed-2"]  # no job occurs twice


def test_all_mistakes_are_listed_with_their_jobs() -> None:
    message = error_message("trainer.max_epochs=0,7", "optimizer.lr=0.1,fast")
    assert message.splitlines() == [
        "2 mistakes in 3 of 4 jobs; nothing was started.",
        "  trainer.max_epochs=0   must be greater than or equal to 1",
        "      0_max_epochs-0_lr-0.1",
        "      1_max_epochs-0_lr-fast",
        "  optimizer.lr=fast   must be a valid number",
        "      1_max_epochs-0_lr-fast",
        "      3_max_epochs-7_lr-fast",
    ]


def test_long_lists_of_jobs_are_shortened() -> None:
    message = error_message("seed=range(9)", "optimizer.lr=fast")
    assert message.count("_seed-") == 6
    assert message.endswith("and 3 more")


def test_files_are_merged_once_for_each_choice_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    composed = Mock(side_effect=hydra.compose)
    monkeypatch.setattr(hydra, "compose", composed)
    files = ConfigFiles("train")
    monkeypatch.setattr(files, "_merged", {})
    sweep = files.compose(["hydra.mode=MULTIRUN", "hydra.sweep.dir=sweep"], sweeps=True)
    for seed, attention in product((1, 2, 3), ("none", "bahdanau")):
        (job,) = grid([[f"seed={seed}", f"model/attention={attention}"]])
        assert examine(files, sweep, job)[0] == []
    assert composed.call_count == 3


def test_the_configuration_of_a_job_is_that_of_hydra() -> None:
    files, lines = repository("train"), ["hydra.sweep.dir=sweep", "trainer.max_epochs=3", "hydra/launcher=joblib"]
    job = ["trainer.max_epochs=3", "seed=2", "model/attention=none", "hydra.sweep.subdir=x"]
    with files.initialized() as hydra_state:
        loader = hydra_state.config_loader()
        sweep = loader.load_configuration("train", [*files.searchpath, *lines], run_mode=RunMode.MULTIRUN)
        expected = loader.load_sweep_config(sweep, job)
    assert OmegaConf.to_yaml(compose_job(files, sweep, job)) == OmegaConf.to_yaml(expected)


def test_the_files_of_every_job_are_checked_before_hydra_uses_them(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)  # the file is not the user's own
    (tmp_path / "experiment").mkdir()
    file = tmp_path / "experiment" / "evil.yaml"
    file.write_text("# @package _global_\nhydra: {job_logging: {filters: {x: {(): os.system, command: touch evil}}}}\n")
    files = ConfigFiles("train", search=[str(tmp_path)])
    sweep = files.compose(["hydra.mode=MULTIRUN", "hydra.sweep.dir=sweep"], sweeps=True)
    ((entry, message),), _ = examine(files, sweep, create_job(1, ["experiment=evil"]))
    assert entry == str(file) and message.startswith("sets options of Hydra")


def write_classes(path: Path, count: int) -> Path:
    path.write_text("text,label\n" + "".join(f"text {i},c{i % count}\n" for i in range(10 * count)))
    return path


def test_mistakes_that_only_the_data_show_are_found_before_the_first_job(tmp_path: Path) -> None:
    seven, one = (write_classes(tmp_path / f"{count}.csv", count) for count in (7, 1))
    message = error_message("data=csv", f"data.path={seven},{one},{tmp_path}/none.csv", "loss=cross_entropy,binary")
    assert "  loss: one logit separates 2 classes, not 7: use loss=cross_entropy\n      1_" in message
    assert f"  {one}: every row has the label 'c0'" in message
    assert "none.csv: there is no 'none.csv'" in message
    assert message.startswith("3 mistakes in 5 of 6 jobs; nothing was started.")
    vocabulary = error_message("model/attention=multi_head,bahdanau", "model.attention.heads=choice(7)")
    assert "model.attention" in vocabulary


def test_a_score_that_no_validation_text_defines_is_refused_before_the_first_job(tmp_path: Path) -> None:
    path, val = write_classes(tmp_path / "train.csv", 2), tmp_path / "val.csv"
    val.write_text("text,label\na,c0\nb,c0\n")
    monitor = ("callbacks.best_checkpoint.monitor=val/auroc", "callbacks.best_checkpoint.mode=max", "seed=1,2")
    message = error_message("data=csv", f"data.path={path}", f"data.val_path={val}", *monitor)
    assert message.startswith("1 mistake in 2 of 2 jobs; nothing was started.")
    assert "val/auroc is monitored, but it is undefined, because no validation text has the class c1" in message


def test_data_are_read_once_for_all_jobs_that_share_them(tmp_path: Path) -> None:
    lines = ["data=csv", f"data.path={write_classes(tmp_path / 'a.csv', 2)},{write_classes(tmp_path / 'b.csv', 3)}"]
    data = validate_jobs(*plan(*lines, "seed=1,2", "optimizer.lr=0.1,0.2"))
    assert [(folder[:1], len(each.class_names)) for folder, each in data.items()] == [("0", 2), ("4", 3)]


def test_a_job_may_refer_to_its_number_and_to_swept_options() -> None:
    planned = plan("data.folds=3", "data.fold=${hydra:job.num}", "seed=1,2,3", "data.split_seed=${seed}")
    validate_jobs(*planned)
    assert [job.overrides[1] for job in planned[2]] == ["data.fold=${hydra:job.num}"] * 3
    message = error_message("data.folds=2", "data.fold=${hydra:job.num}", "seed=1,2,3", "tags=['${hydra.job.num}']")
    assert "write ${hydra:job.num}" in message


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ([], "3"),
        (["model/attention=bahdanau", "seed=1"], "3_attention-bahdanau_seed-1"),
        (["data.path=/home/me/a b.csv"], "3_path-home-me-a-b.csv"),
        (["optimizer.lr=1e-05", "logger=[csv,wandb]"], "3_lr-1e-05_logger-csv-wandb"),
        (["optimizer.lr=0.00023456789012", "model.head.dropout=0.1250"], "3_lr-0.0002346_dropout-0.1250"),
        (["data.path=v1.23456789.csv"], "3_path-v1.23456789.csv"),
        (["model.encoder.dropout=0.1", "model.head.dropout=0.3"], "3_encoder.dropout-0.1_head.dropout-0.3"),
    ],
)
def test_the_folder_of_a_job_contains_its_number_and_overrides(overrides: list[str], name: str) -> None:
    assert create_job(3, overrides).folder == name


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.lists(st.text()))
def test_the_name_of_a_folder_is_short_and_needs_no_quotes(number: int, overrides: list[str]) -> None:
    name = create_job(number, overrides).folder
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,100}", name)
    assert name == str(number) or name.startswith(f"{number}_")
    path = f"outputs/train/{name}/last.ckpt"
    assert OverridesParser.create().parse_override(f"ckpt_path={path}").value() == path
