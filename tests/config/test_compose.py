"""The configuration that a command line composes, and the message about each wrong name in it."""

import pickle
import re
from pathlib import Path
from typing import Any

import hydra
import pytest
from omegaconf import DictConfig, OmegaConf

from heedful.base.errors import UserError
from heedful.config.compose import ConfigFiles, compose
from heedful.config.mistakes import Mistake
from heedful.config.overrides import combinations, parse_override
from tests.config.conftest import TEST_CONF, FindMistakes, repository
from tests.helpers import CONF, ROOT
from tests.helpers import repository as real_repository

SEARCH = f"file://{CONF}"


def plain(cfg: DictConfig) -> dict[str, Any]:
    return OmegaConf.to_container(cfg, resolve=False)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["model.encoder.hidden_dim=5", "model/encoder=narrow", "seed=3", "task_name='a=b'"],
        ["experiment=good", "+model.encoder.bias=false", "~model.encoder.dropout", "~logger.csv", "++data={path: x}"],
        ["experiment=mine/first", "seed=null", "tags=[a,b]", "logger=[csv,other]", "++logger.other.names=[a]"],
        ["hydra.run.dir=elsewhere", "hydra/job_logging=disabled", "logger.csv={folder: x}", "seed=${oc.decode:'3'}"],
    ],
)
def test_a_composition_equals_the_composition_of_hydra(lines: list[str]) -> None:
    files = repository()
    with files.initialized():
        expected = plain(hydra.compose("train", lines, return_hydra_config=True))
    for _ in range(2):  # the files are read, then copied from the first composition
        cfg = files.compose(lines)
        assert OmegaConf.is_struct(cfg)
        assert plain(cfg) == expected
        cfg.hydra.job.name, cfg.seed = "changed", None  # must not change the next result


def test_the_files_of_a_configuration_compose_it_again() -> None:
    lines = ["model/encoder=transformer", "seed=5"]
    cfg = ConfigFiles("train", folder=TEST_CONF, search=[SEARCH]).compose(lines)
    again = ConfigFiles.of(pickle.loads(pickle.dumps(cfg)), "train").compose(lines)
    assert again == cfg
    assert again.model.encoder._target_ == "heedful.models.encoder.transformer.Transformer"


def test_a_search_may_choose_among_more_combinations_than_a_grid_has_jobs() -> None:
    lines = ["seed=range(200)", "data.split_seed=range(200)"]
    assert len(real_repository("train").check(lines, sweeps=True)[1]) == 1
    assert not real_repository("train").check(["hparams_search=optuna", *lines], sweeps=True)[1]


def test_a_sweep_has_every_combination_of_its_values() -> None:
    lines = ["seed=range(1,4)", "model/encoder=glob(*)", "+model.encoder.bias=true", "~model.encoder.dropout"]
    jobs = list(combinations(parse_override(line, repository().groups) for line in lines))
    assert len(jobs) == 3 * 2
    assert jobs[3] == ["seed=2", "model/encoder=wide", *lines[2:]]


MESSAGES = [
    ("model/attention=plan", None, "no such choice (did you mean plain?)"),
    ("model/attention=zzz", None, "no such choice; it must be one of none, plain"),
    ("logger=[csv,othr]", None, "no such choice (did you mean other?)"),
    ("~model", None, "cannot be removed"),
    ("model=wide", None, "must be a mapping"),
    ("model/atention=none", None, "no such group (did you mean model/attention?)"),
    ("attention=none", None, "no such option (did you mean model/attention?)"),
    ("model.attention=none", None, "must be a mapping; to choose a file, write model/attention=none"),
    ("model/encoder.hidden_dim=3", None, "cannot be parsed (mismatched input 'encoder.hidden_dim' expecting ID): "),
    ("model.encoder.hiden_dim=3", None, "no such option (did you mean model.encoder.hidden_dim?)"),
    ("hidden=3", None, "no such option (did you mean model.encoder.hidden_dim?)"),
    ("+learning_rate=0.1", "learning_rate=0.1", "no such option (did you mean optimizer.lr?)"),
    ("model.encoder.bias=false", None, "no such option; if its class accepts it, write +model.encoder.bias=false"),
    ("model.encoder.sell=gru", None, "no such option (did you mean model.encoder.cell?)"),  # of another encoder
    ("logger=[1]", None, "no such choice; it must be one of csv, none, other"),
    ("hydra.sweep.dri=x", None, "no such option (did you mean hydra.sweep.dir?)"),
    ("+seed=1", None, "already exists: write seed=1"),
    ("~seed", None, "cannot be removed"),
    ("seed", None, "cannot be parsed (missing EQUAL at '<EOF>'): write key=value"),
    (
        "seed=[a",
        None,
        "cannot be parsed (no viable alternative at input '[a'): write key=value; if it is text, quote it: 's",
    ),
    ("task_name=a, b", None, """has several values: add -m to run each value, or write a list in [ ] or a text: 't"""),
    ("seed=range(5,1)", None, "has no values: a range needs a stop beyond its start"),
    ("data={path: x}", None, "Key 'path' is not in struct"),
    ("hydra.run.dir=${nowhere}", "hydra.run.dir", "cannot be resolved: Interpolation key 'nowhere' not found"),
]


@pytest.mark.parametrize(("line", "entry", "message"), MESSAGES)
def test_each_mistake_is_reported_with_its_remedy(find_mistakes, line, entry, message) -> None:
    mistakes = find_mistakes(line)
    assert list(mistakes) == [entry or line]
    assert mistakes[entry or line].startswith(message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("epochs=3", "no such option (did you mean trainer.max_epochs?)"),
        ("optimizer.learning_rate=0.1", "no such option (did you mean optimizer.lr?)"),
        ("random_state=1", "no such option (did you mean seed?)"),
        ("dataset=sst2", "no such option (did you mean data?)"),
        ("modle=linear", "no such option (did you mean model?)"),
        ("model.encoder.kernel_size=3", "no such option"),  # not model.encoder.freeze
        (
            "model.attention.heads=4",
            "is an option of other choices: model/attention=multi_head, model/attention=windowed",
        ),
        ("data=my.csv", "is a path: write data=csv data.path=my.csv"),
        ("data=./texts", "is a path: write data=csv data.path=./texts"),
        ("data.path=my.csv", "sets another file, but not its columns and classes: add data=csv"),
    ],
)
def test_words_of_other_libraries_paths_and_other_choices_have_a_remedy(line: str, message: str) -> None:
    (mistake,) = real_repository("train").check([line])[1]
    assert (mistake.entry, mistake.message.partition(";")[0]) == (line, message)


@pytest.mark.parametrize(
    ("line", "entries"),
    [
        ("seed=1,2,3", []),
        ("logger=csv,[csv,other]", []),
        ("model/encoder=narow,wide", ["model/encoder=narow,wide"]),  # later values: when the jobs are validated
        ("model/encoder=glob(x*)", ["model/encoder=glob(x*)"]),
        ("seed=glob(x*)", ["seed=glob(x*)"]),
        ("sede=1,2", ["sede=1,2"]),
    ],
)
def test_the_names_of_a_sweep_are_checked(find_mistakes: FindMistakes, line: str, entries: list[str]) -> None:
    assert list(find_mistakes(line, sweeps=True)) == entries


def test_all_wrong_names_are_reported_at_once_except_options_of_an_unknown_choice() -> None:
    lines = ["model.encoder.hiden_dim=64", "model/attention=nome", "data=cvs", "data.path=x", "seed=1,2"]
    found = [entry for entry, _ in repository().check(lines)[1]]
    assert found == ["model/attention=nome", "data=cvs", "model.encoder.hiden_dim=64", "seed=1,2"]


def test_only_a_search_samples_an_interval() -> None:
    files, line = real_repository("train"), "optimizer.lr=interval(0.01,0.1)"
    message = "is an interval, which only a search can sample: add hparams_search=optuna, or list values: a,b,c"
    assert files.check([line], sweeps=True)[1] == [Mistake(line, message)]
    assert not files.check([line, "hparams_search=optuna"], sweeps=True)[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("experiment=bad_choice", "model/attention=nome: no such choice (did you mean none?)"),
        ("+model/encoder=narrow", "Multiple values for model/encoder."),
    ],
)
def test_choices_that_do_not_fit_together_are_described_by_hydra(line: str, message: str) -> None:
    with pytest.raises(UserError, match=f"{re.escape(line)}   {re.escape(message)}"):
        repository().compose([line])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"# @package _global_\nseed: [1\n", r"(?s)files cannot be composed: .*expected ',' or '\]'.*mine\.yaml"),
        (b"seed: 1 # \xfcber\n", "'utf-8' codec can't decode byte 0xfc"),
    ],
)
def test_a_file_that_cannot_be_read_is_described(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_bytes(content)
    with pytest.raises(UserError, match=message):
        ConfigFiles("train", folder=TEST_CONF, search=[f"file://{tmp_path}"]).compose(["experiment=mine"])


@pytest.mark.parametrize("sets", ["hydra: {callbacks: {evil: {_target_: os.system, command: touch evil}}}", "seed: 1"])
def test_only_a_file_of_the_users_own_may_set_options_of_hydra(sets: str, tmp_path, monkeypatch) -> None:
    from heedful.launch.composition import find_mistakes

    (tmp_path / "experiment").mkdir()
    file = tmp_path / "experiment" / "mine.yaml"
    file.write_text(f"# @package _global_\n{sets}\n")
    files, lines = ConfigFiles("train", folder=TEST_CONF, search=[f"file://{tmp_path}"]), ["experiment=mine"]
    mistakes = find_mistakes(files, files.compose(lines), lines, sweeps=True)
    message = "sets options of Hydra, which could run any program: if you trust it, copy it into the current folder"
    assert mistakes == ([(str(file), message)] if "hydra" in sets else [])
    monkeypatch.chdir(tmp_path)
    assert find_mistakes(files, files.compose(lines), lines, sweeps=True) == []


def test_only_the_command_line_and_conf_extras_trust_modules(find_mistakes: FindMistakes) -> None:
    reason = "is allowed only on the command line or in conf/extras"
    assert find_mistakes("experiment=trusts_itself")["extras.trusted_modules=[subprocess]"] == reason
    assert list(find_mistakes("experiment=trusts_itself", "extras.trusted_modules=[subprocess,tests]")) == [
        "logger.evil._target_=subprocess.Popen"  # not a logger
    ]


def test_a_choice_that_only_other_commands_have_is_to_be_removed() -> None:
    message = r"1 mistake.*\n  model/attention=none   eval has no choice of model/attention: r"
    with pytest.raises(UserError, match=message):
        real_repository("eval").compose(["model/attention=none", "data=imdb", "ckpt_path=x"])


def test_a_choice_is_not_blamed_for_an_experiment_that_does_not_compose(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "own.yaml").write_text(
        "# own\n# @package _global_\ndefaults: [override /loss: binary]\n"
    )
    message = r"1 mistake.*\n  experiment=own logger=none   In 'experiment/own': .*loss@experiment\.loss"
    with pytest.raises(UserError, match=message):
        ConfigFiles("train", search=[f"file://{tmp_path}"]).compose(["experiment=own", "logger=none"])


def test_hydras_private_packages_are_not_imported() -> None:
    modules = [path.name for path in (ROOT / "src").rglob("*.py") if "hydra._internal" in path.read_text()]
    assert modules == []


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("batch_sice=3", "no such option (did you mean data.batch_size?); if its"),
        ("max_lenght=3", "no such option (did you mean data.max_length?); if its"),
        ("test_pth=3", "no such option (did you mean data.test_path?); if its"),
        ("batch_size=3", "no such option; if its class accepts it, write +data.batch_size=3"),
    ],
)
def test_options_of_the_data_of_a_checkpoint_are_suggested(option: str, message: str) -> None:
    _, (mistake,) = ConfigFiles("eval").check([f"data.{option}", "ckpt_path=x"])
    assert mistake.message.startswith(message)


def test_a_script_may_search_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "optimizer").mkdir()
    (tmp_path / "optimizer" / "own.yaml").write_text("_target_: torch.optim.SGD\nlr: 0.3\n")
    cfg = compose(f"hydra.searchpath=['{tmp_path}']", "optimizer=own")
    assert cfg.optimizer.lr == 0.3 and cfg.choices.optimizer == "own"
    assert compose(["seed=3"], "test=false").seed == 3
