"""Whole commands with the configs of tests/config/conf, run in this process."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from heedful.base.errors import UserError
from heedful.commands.entry import entry
from tests.config.conftest import TEST_CONF
from tests.helpers import ROOT

Run = Callable[..., tuple[object, str]]


@pytest.fixture
def started() -> list[DictConfig]:
    """The configuration of each run that was started."""
    return []


@pytest.fixture
def run(monkeypatch, tmp_path, capsys, started: list[DictConfig]) -> Run:
    """A function that runs a command line and returns its exit code (None for success) or message, and its output."""
    monkeypatch.setattr(HydraConfig.instance(), "cfg", None)  # also afterwards: pages of Hydra's own leave its state

    def run(
        *arguments: str, command: str = "train", task: Callable[[DictConfig], None] | None = None
    ) -> tuple[object, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("heedful.launch.composition.CONF", TEST_CONF)
        monkeypatch.setattr(sys, "argv", [f"src/{command}.py", *arguments])

        @entry(command)
        def main(cfg: DictConfig) -> None:
            started.append(cfg)
            if task is not None:
                task(cfg)

        code: object = None
        try:
            main()
        except SystemExit as error:
            code = error.code
        return code, "".join(capsys.readouterr())

    return run


def test_a_task_receives_the_composed_configuration(run: Run, started: list[DictConfig]) -> None:
    def check_folder(cfg: DictConfig) -> None:
        assert Path(cfg.paths.output_dir) == Path.cwd() / "run"

    assert run("seed=7", "model/encoder=narrow", task=check_folder) == (None, "")
    assert [cfg.seed for cfg in started] == [7]
    assert started[0].model.encoder.hidden_dim == 3
    assert "hydra" not in started[0]


def test_mistakes_are_reported_before_anything_starts(run: Run, started: list[DictConfig], tmp_path: Path) -> None:
    code, _ = run("sede=7", "test=maybe", "model/encoder=narow")
    assert str(code).splitlines() == [
        "Error: 3 mistakes in the configuration; nothing was started.",
        "  model/encoder=narow   no such choice (did you mean narrow?)",
        "  sede=7                no such option (did you mean seed?)",
        "  test=maybe            must be a valid boolean",
    ]
    code, _ = run("data=csv", "data.path=a, b=c", "test=maybe")  # not: data.path is required
    assert [line.split()[0] for line in str(code).splitlines()[1:]] == ["data.path=a,", "test=maybe"]
    assert started == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["-m", "seed=1,2"], ["seed=1,2", "--multirun", "task_name=b"]])
def test_a_sweep_runs_each_value(run: Run, started: list[DictConfig], tmp_path: Path, arguments: list[str]) -> None:
    assert run(*arguments)[0] is None
    assert [cfg.seed for cfg in started] == [1, 2]
    assert {path.name for path in (tmp_path / "sweep").iterdir() if path.is_dir()} == {"0", "1"}


@pytest.mark.parametrize("arguments", [["seed=1"], ["-m", "seed=1,2"]])
def test_a_user_error_in_a_task_is_a_message_and_another_exception_keeps_its_traceback(run, started, arguments) -> None:
    def fail(cfg: DictConfig) -> None:
        Path(cfg.paths.output_dir, "result.json").write_text('{"status": "failed"}')
        raise UserError(f"data.csv, row {cfg.seed}: no label")

    def crash(cfg: DictConfig) -> None:
        raise ZeroDivisionError("a defect of Heedful")

    assert run(*arguments, task=fail) == ("Error: data.csv, row 1: no label", "")
    assert len(started) == 1
    assert not Path("run").exists()  # the folder of a run that produced nothing
    with pytest.raises(ZeroDivisionError) as error:
        run(*arguments, task=crash)
    assert error.traceback[-1].name == "crash"


TEXTS = ["I loved it, truly = 10/10!", '"Never," she said; it\'s {a: b} [1, 2] (x)', "${oc.env:HOME} \\${seed} ${"]


@pytest.mark.parametrize("text", [*TEXTS, "two\nlines", "null", "", "--help"])
def test_free_text_is_passed_unchanged(run: Run, text: str) -> None:
    def check(cfg: DictConfig) -> None:
        assert cfg.text == text
        assert sys.argv == ["src/predict.py", "ckpt_path=x", f"text={text}"]

    assert run("ckpt_path=x", f"text={text}", command="predict", task=check) == (None, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["experiment=no_yaml"], "expected"),
        (["-m", "optimizer.lr=interval(0,1)"], "BasicSweeper does not support sweep type : INTERVAL_SWEEP"),
        (["-m", "hydra.job.name=a,b"], "hydra.job.name=a,b   has several values, but an option of Hydra"),
        (["-m", "hydra/launcher=basic,joblib"], "hydra/launcher=basic,joblib   has several values, but an option"),
        (["--resolve"], "--resolve and --package select what --cfg prints: add --cfg job"),
        (["--cfg=job", "-p", "optimizer.lrr"], "--package=optimizer.lrr: no such node (did you mean optimizer.lr?)"),
        (["-sc", "foo"], "--shell-completion needs the name of a shell: install=bash"),
        (["--experimental-rerun=x"], "--experimental-rerun is not supported: ckpt_path=<run> resumes a run"),
        (["hydra.job.chdir=true"], "hydra.job.chdir=true   paths are relative to the folder of the command: remove it"),
        (["-m", "hydra.sweep.subdir=x"], "hydra.sweep.subdir=x   is set by the program, from the overrides of a job"),
        (["-cn", "trian"], "--config-name=trian: no such config (did you mean train?)"),
        (["--config-dir=pkg://nowhere.conf"], "pkg://nowhere.conf: no such folder"),
        (["--config-dir=nowhere"], "nowhere: no such folder"),
        (["+data.x=" + "{a: " * 300 + "1" + "}" * 300], "the configuration is nested too deeply"),
        (["-m", "seed=range(1000000)"], "seed=range(1000000)   has more than 10,000 combinations: choose fewer values"),
        (["+sweep.dry_run=true"], "sweep.dry_run=true   applies only to sweeps: add -m"),
    ],
)
def test_a_mistake_has_no_traceback_and_leaves_no_file(run: Run, arguments: list[str], message: str, tmp_path) -> None:
    code, _ = run(*arguments)
    assert str(code).startswith("Error: ")
    assert message in str(code)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["--multirum"], "write multirum=…"),
        (["--seed=3"], "write seed=3"),
        (["-m", "--cfg", "job"], "not allowed with"),
    ],
)
def test_an_unknown_flag_exits_with_2(run: Run, arguments: list[str], remedy: str) -> None:
    code, output = run(*arguments)
    assert code == 2 and remedy in output


def test_config_files_may_be_in_another_folder(run: Run, started: list[DictConfig], tmp_path, monkeypatch) -> None:
    folder = tmp_path / "my_folder" / "model" / "encoder"
    folder.mkdir(parents=True)
    (folder / "own.yaml").write_text("_target_: tests.config.parts.Encoder\nhidden_dim: 13\n")
    monkeypatch.syspath_prepend(tmp_path)
    for option in ("--config-dir=my_folder", *(f"hydra.searchpath=[{kind}://my_folder]" for kind in ("file", "pkg"))):
        assert run(option, "model/encoder=own")[0] is None
        assert "no such choice (did you mean own?)" in str(run(option, "model/encoder=owm")[0])
    assert [cfg.model.encoder.hidden_dim for cfg in started] == [13, 13, 13]


def test_the_primary_config_may_be_the_users_own(run: Run, started: list[DictConfig], tmp_path: Path) -> None:
    """It may set options of Hydra and define variables, and the configs of Heedful stay available."""
    (tmp_path / "mine").mkdir()
    own = ["defaults: [train, _self_]", "size: 17", "sizes: {a: ['${size}']}"]
    own += ["model: {encoder: {hidden_dim: '${size}'}}"]
    own += ["hydra: {run: {dir: 'mine/${seed}'}, searchpath: ['file://more']}", "tags: ['t${sizes.a[0]}']"]
    (tmp_path / "mine" / "own.yaml").write_text("\n".join(own))
    more = tmp_path / "more" / "experiment"
    more.mkdir(parents=True)
    (more / "next.yaml").write_text("# @package _global_\nseed: 19\n")
    assert run("--config-dir=mine", "-cn", "own", "size=7", "tags=[a]")[0] is None
    assert run("-cp", "mine", "-cn", "own", "experiment=next", "tags=[a]")[0] is None
    assert [(cfg.model.encoder.hidden_dim, cfg.seed) for cfg in started] == [(7, 0), (17, 19)]
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == ["0", "19", "own.yaml"]
    assert run("-cp", "mine", "-cn", "own", "-m", "seed=1,2")[0] is None
    assert "size=1   no such option" in str(run("+size=1")[0])


@pytest.mark.parametrize("value", ["[", "folder", "null", "[1]"])
def test_the_search_path_is_a_list_of_folders(run: Run, value: str) -> None:
    assert f"hydra.searchpath={value}   must be a list of folders" in str(run(f"hydra.searchpath={value}")[0])


def test_cfg_prints_the_configuration(run: Run, started: list[DictConfig]) -> None:
    code, out = run("--cfg", "job", "seed=13")
    assert (code, yaml.safe_load(out)["seed"]) == (None, 13)
    assert yaml.safe_load(out)["paths"]["output_dir"] == "${hydra:runtime.output_dir}"
    assert "sede=1   no such option" in str(run("--cfg", "job", "sede=1")[0])
    assert run("--cfg=job", "--package=paths", "--resolve")[1] == f"# @package paths\noutput_dir: {Path.cwd()}/run\n"
    assert run("--cfg=all", "-p", "model.encoder.hidden_dim")[1] == "7\n"
    assert yaml.safe_load(run("--cfg=hydra")[1])["hydra"]["run"] == {"dir": "run"}
    assert started == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--info=searchpath"], f"| main     | file://{TEST_CONF} "),
        pytest.param(["--info=config", "seed=13"], "\nseed: 13\n", marks=pytest.mark.weekly),
        (["--hydra-help"], "== Configuration groups =="),
    ],
)
def test_hydra_prints_its_own_pages(run: Run, started: list[DictConfig], arguments: list[str], text: str) -> None:
    assert text in run(*arguments)[1]
    assert started == []


def test_the_last_of_several_overrides_of_an_option_counts(run: Run, started: list[DictConfig], capsys) -> None:
    def read_errors(cfg: DictConfig) -> None:
        assert capsys.readouterr().err == "seed=1 is ignored, because seed=2 follows\n"

    assert run("seed=1", "tags=[a]", "seed=2", task=read_errors)[0] is None
    assert started[0].seed == 2
    assert yaml.safe_load(Path("run/.hydra/overrides.yaml").read_text()) == ["tags=[a]", "seed=2"]


def test_help_lists_groups_choices_and_options(run: Run, started: list[DictConfig]) -> None:
    code, out = run("--help", "model/encoder=narrow")
    assert code is None
    assert out.startswith(str(__doc__))
    assert "\n  model/encoder     narrow* wide\n" in out
    code, out = run("-m", "seed=1,2", "--help")
    assert code is None and "\n  seed: 1" in out
    assert started == []
    assert "no such choice" in str(run("--help", "model/encoder=narow")[0])


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["model/encoder=narrow", "seed=3"], 2),  # the second is Hydra's own
        (["experiment=good", "optimizer.lr=0.2", "hydra.verbose=false"], 2),
        (["sede=3", "model.encoder.hiden_dim=3"], 1),
    ],
)
def test_the_files_are_composed_at_most_twice(run: Run, arguments: list[str], count: int) -> None:
    name = "_load_configuration_impl"  # reads and merges config files
    with patch.object(ConfigLoaderImpl, name, autospec=True, side_effect=getattr(ConfigLoaderImpl, name)) as load:
        run(*arguments)
    assert load.call_count <= count  # files that an earlier test has merged are not read again


def test_names_are_checked_and_pages_are_printed_before_torch_is_imported() -> None:
    lines = [["optimizer.lrr=3"], ["model/attention=luong"], ["-m", "sede=1,2"], ["--help"], ["--cfg=job"]]
    code = f"""
import sys, heedful.commands.train
for arguments in {lines}:
    sys.argv[1:] = arguments
    print("next")
    try:
        heedful.commands.train.main()
    except SystemExit as end:
        print(end)
    assert not {{"torch", "pytorch_lightning", "datasets", "numpy"}} & sys.modules.keys(), arguments
"""
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    for arguments, output in zip(lines, process.stdout.split("next\n")[1:], strict=True):
        assert output.startswith("Error: 1 mistake in the configuration") != arguments[0].startswith("--")
