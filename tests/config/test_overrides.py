from pathlib import Path

import pytest

from src.cli.overrides import command_line_mistakes
from src.config.composition import Repository
from src.config.mistakes import Mistake
from src.errors import UserError
from tests.config.conftest import TEST_CONF, FindMistakes
from tests.helpers import repository as real_repository


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["model/encoder=narrow", "model.encoder.hidden_dim=5", "optimizer.lr=1"],
        ["model/attention=none", "seed=null", "tags=[a,b]", "train=false"],
        ["experiment=good"],
        ["experiment=mine/first"],
        ["data=csv", "data.path=a/b.csv"],
        ["logger=csv", "+logger.csv.anything=1"],
        ["logger=[other]", "logger.other.folder=x", "++logger.other.names=[a]"],
        ["logger=none"],
        ["~logger.csv"],
        ["~model.encoder.dropout"],
        ["+model.encoder.bias=false"],
        ["+param_groups.encoder.lr=0.1"],
        ["hydra.run.dir=elsewhere", "hydra/job_logging=disabled"],
        ["seed=${oc.decode:'3'}"],
    ],
)
def test_valid_command_lines_pass(find_mistakes: FindMistakes, lines: list[str]) -> None:
    assert find_mistakes(*lines) == {}


@pytest.mark.parametrize(
    ("line", "entry", "message"),
    [
        ("model/attention=plan", None, "no such choice; did you mean plain? (none, plain)"),
        ("model/attention=zzz", None, "no such choice (none, plain)"),
        ("logger=[csv,othr]", "logger=othr", "no such choice; did you mean other? (csv, none, other)"),
        ("model/attention=null", None, "no such choice; did you mean none? (none, plain)"),
        ("data=null", None, "is required: choose one of csv, toy"),
        ("experiment=null", None, "no such choice; to remove the group, write ~experiment"),
        ("~data", None, "is required: choose one of csv, toy"),
        ("~optimizer", None, "is required: choose one of adam"),
        ("~optimizer._target_", None, "is the class of optimizer: choose another with optimizer=…"),
        ("~model/attention", None, "cannot be removed: write model/attention=none"),
        ("~model.attention", None, "cannot be removed: write model/attention=none"),
        ("~model", None, "is a folder of groups; its groups are model/attention, model/encoder"),
        ("model/attention=3", None, "no such choice (none, plain)"),
        ("model=wide", None, "is a folder of groups; its groups are model/attention, model/encoder"),
        ("+model/encoder=narrow", None, "is already chosen: remove the +"),
        ("++model/encoder=narrow", None, "is already chosen: remove the +"),
        ("model/encoder@model=narrow", None, "is not a group of this command; did you mean model/encoder?"),
        ("hydra/sweeper=nowhere", None, "no such choice (basic); is its plugin installed?"),
        ("model/atention=none", None, "no such group; did you mean model/attention?"),
        ("attention=none", None, "no such option; did you mean model/attention?"),
        ("model.attention=none", None, "is a group and needs a slash: write model/attention=none"),
        (
            "model.attention=nine",
            None,
            "is a group and needs a slash: write model/attention=…; "
            "nine: no such choice; did you mean none? (none, plain)",
        ),
        ("+model.attention=none", None, "is a group and needs a slash: write +model/attention=none"),
        ("model/encoder/hidden_dim=3", None, "is an option and needs dots: write model.encoder.hidden_dim=3"),
        ("model/encoder.hidden_dim=3", None, "is an option and needs dots: write model.encoder.hidden_dim=3"),
        ("model.encoder.hiden_dim=3", None, "no such option; did you mean model.encoder.hidden_dim?"),
        ("hidden_dim=3", None, "no such option; did you mean model.encoder.hidden_dim?"),
        ("hidden=3", None, "no such option; did you mean model.encoder.hidden_dim?"),
        ("hiden_dim=3", None, "no such option; did you mean model.encoder.hidden_dim?"),
        ("lr=0.1", None, "no such option; did you mean optimizer.lr?"),
        ("learning_rate=0.1", None, "no such option; did you mean optimizer.lr?"),
        ("optimizer.learning_rate=0.1", None, "no such option; did you mean optimizer.lr?"),
        ("+learning_rate=0.1", "learning_rate=0.1", "no such option; did you mean optimizer.lr?"),
        (
            "model.encoder.bias=false",
            None,
            "is not in the configuration: write +model.encoder.bias=false",
        ),
        ("param_groups.encoder.lr=1", None, "is not in the configuration: write +param_groups.encoder.lr=1"),
        ("per_part.encoder.lr=1", None, "is now called param_groups.encoder.lr"),
        ("+per_part={encoder: {lr: 1}}", None, "is now called param_groups"),
        ("experiment=renamed", "per_part={head: {lr: 1}}", "is now called param_groups"),
        ("hydra.sweep.dri=x", None, "no such option; did you mean hydra.sweep.dir?"),
        ("logger.csv=3", None, "is a group of options: set one of logger.csv.folder"),
        ("+seed=1", None, "already exists: write seed=1"),
        ("~seed", None, "cannot be removed"),
        ("~model.encoder.hiden_dim", None, "no such option; did you mean model.encoder.hidden_dim?"),
        ("~logger", None, "has several choices: select another, such as none"),
        ("seed", None, "has no value: write seed=…"),
        ("tags=[a", None, """cannot be parsed; if it is text, quote it: 'tags="[a"'"""),
        ("task_name=a=b", None, """cannot be parsed; if it is text, quote it: 'task_name="a=b"'"""),
        (
            "task_name=twice(3)",
            None,
            "cannot be parsed ('twice(3)': Unknown function 'twice'); if it is text, "
            """quote it: 'task_name="twice(3)"'""",
        ),
        (
            "task_name=a, b",
            None,
            """has several values: add -m to run each value, or write task_name=[a, b] or 'task_name="a, b"'""",
        ),
        ("seed=range(3)", None, "has several values: add -m to run each value, or write "),
        ("optimizer.lr=fast", None, "expects a number, got 'fast'"),
        ("optimizer.betas=[0.9]", None, "expects a list in [ ] of length 2: a number, a number, got [0.9]"),
        ("model.encoder.cell=gru", None, "expects one of rnn, lstm, got 'gru'"),
        ("model.encoder.hidden_dim={a: 1}", None, "expects a whole number, got {a: 1}"),
        ("seed=1.5", None, "expects a whole number or null, got 1.5"),
        (
            "+model.encoder.hiden_dim=3",
            "model.encoder.hiden_dim=3",
            "no such option; did you mean model.encoder.hid",
        ),
        ("+model.encoder.input_dim=3", "model.encoder.input_dim=3", "is set by the program: remove it"),
        ("+sede=3", "sede=3", "no such option; did you mean seed?"),
        ("data=csv", "data.path", "is required: write data.path=…"),
        ("~model.attention.heads", "model.attention.heads", "is required: write +model.attention.heads=…"),
        (
            "experiment=bad_choice",
            None,
            "model/attention=nome: no such choice; did you mean none? (none, plain)",
        ),
        ("hydra.job.num=x", None, "Error merging override hydra.job.num=x: Value 'x' of type 'str'"),
        ("+param_groups={head: {lr: 1}}", None, "already exists: write ++param_groups={head: {lr: 1}}"),
        ("data={path: x}", None, "has no path yet: write ++data=… to add it"),
    ],
)
def test_each_mistake_is_reported_with_its_remedy(
    find_mistakes: FindMistakes, line: str, entry: str | None, message: str
) -> None:
    mistakes = find_mistakes(line)
    assert list(mistakes) == [entry or line]
    assert mistakes[entry or line].startswith(message)


def test_a_command_with_train_false_requires_a_checkpoint(find_mistakes: FindMistakes) -> None:
    assert find_mistakes("train=false", "+test=true", "+ckpt_path=null") == {
        "train=false": "would test a model without trained weights: add ckpt_path=<checkpoint>"
    }
    assert find_mistakes("train=false", "+ckpt_path=a.ckpt") == {}
    assert list(find_mistakes("train=false", "+test=false", "+ckpt_path=a.ckpt")) == ["train=false test=false"]


def test_all_mistakes_are_reported_at_once(find_mistakes: FindMistakes) -> None:
    mistakes = find_mistakes(
        "model.encoder.hiden_dim=64", "model/attention=nome", "optimizer.lr=fast", "experiment=slips"
    )
    assert mistakes == {
        "model.encoder.hiden_dim=64": "no such option; did you mean model.encoder.hidden_dim?",
        "model/attention=nome": "no such choice; did you mean none? (none, plain)",
        "optimizer.lr=fast": "expects a number, got 'fast'",
        "sede=3": "no such option; did you mean seed?",
    }


def test_options_are_checked_against_the_nearest_choice(find_mistakes: FindMistakes) -> None:
    assert set(find_mistakes("data=cvs", "data.path=x")) == {"data=cvs"}


def test_options_of_an_unknown_choice_are_not_reported(find_mistakes: FindMistakes) -> None:
    assert set(find_mistakes("data=zzz", "data.path=x")) == {"data=zzz"}


def test_options_for_a_group_are_those_of_its_new_choice(find_mistakes: FindMistakes) -> None:
    assert find_mistakes("model/encoder=narrow", "model.encoder.cell=rnn") == {
        "model.encoder.cell=rnn": "is not in the configuration: write +model.encoder.cell=rnn"
    }


@pytest.mark.parametrize(
    ("line", "entries"),
    [
        ("seed=1,2,3", []),
        ("seed=range(1,4)", []),
        ("optimizer.lr=interval(0,1)", []),
        ("model/encoder=glob(*)", []),
        ("model/encoder=choice(wide,narrow)", []),
        ("logger=csv,[csv,other]", []),
        ("model/encoder=wide,narow,wid", ["model/encoder=narow", "model/encoder=wid"]),
        ("optimizer.lr=1,fast,2,slow", ["optimizer.lr=fast", "optimizer.lr=slow"]),
        ("seed=choice(1,x)", ["seed=x"]),
        ("seed=range(0.5,1)", ["seed=0.5"]),
        ("seed=range(1,2,0)", ["seed=range(1,2,0)"]),
        ("seed=range(5,1)", ["seed=range(5,1)"]),
        ("model/encoder=glob(x*)", ["model/encoder=glob(x*)"]),
        ("seed=glob(x*)", ["seed=glob(x*)"]),
        ("sede=1,2", ["sede=1,2"]),
        ("model.encoder=wide,narrow", ["model.encoder=wide,narrow"]),
        ("model.encoder.cell=rnn,lstm", []),
    ],
)
def test_every_value_of_a_sweep_is_checked(find_mistakes: FindMistakes, line: str, entries: list[str]) -> None:
    assert list(find_mistakes(line, sweeps=True)) == entries


@pytest.mark.parametrize("sweeps", [False, True])
def test_an_empty_range_is_reported_once(find_mistakes: FindMistakes, sweeps: bool) -> None:
    message = "is an empty range: write range(start, stop, step) with a stop beyond start"
    assert find_mistakes("seed=range(5,1)", sweeps=sweeps) == {"seed=range(5,1)": message}


def test_only_a_search_samples_an_interval() -> None:
    line = "optimizer.lr=interval(0.01,0.1)"
    mistakes = command_line_mistakes(real_repository("train"), [line], sweeps=True, deep=False)
    assert mistakes == [
        Mistake(
            line, "is an interval, which only a search can sample: add hparams_search=optuna, or list values: a,b,c"
        )
    ]
    assert not command_line_mistakes(real_repository("train"), [line, "hparams_search=optuna"], sweeps=True, deep=False)


@pytest.mark.parametrize("text", ["", "seed: 3\n"])
def test_a_file_without_a_package_is_reported_with_the_missing_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    file = tmp_path / "experiment" / "mine.yaml"
    file.write_text(text)
    repository = Repository(TEST_CONF, "train", extra=str(tmp_path))
    mistakes = command_line_mistakes(repository, ["experiment=mine"], sweeps=False, deep=True)
    assert mistakes == [
        Mistake("experiment=mine", f"{file} sets no options of the command: add the first line # @package _global_")
    ]


@pytest.mark.parametrize("sweeps", [False, True])
@pytest.mark.parametrize(
    ("line", "entry", "reason"),
    [
        ("tags=${tags}", None, "cannot be resolved: Recursive interpolation"),
        ("tags=[${tags.0}]", "tags[0]=${tags.0}", "cannot be resolved: Recursive interpolation"),
        ("hydra.run.dir=${hydra.run.dir}", None, "cannot be resolved (Recursive interpolation detected): write a path"),
        ("hydra.run.dir=${hydra:runtime.output_dir}", None, "cannot be resolved (the value is not known yet): write"),
        ("hydra.run.dir=${nowhere}", None, "cannot be resolved (Interpolation key 'nowhere' not found): write a path"),
    ],
)
def test_a_reference_to_itself_is_reported(
    find_mistakes: FindMistakes, line: str, entry: str | None, reason: str, sweeps: bool
) -> None:
    line, entry = ((text or line).replace("run.dir", "sweep.dir" if sweeps else "run.dir") for text in (line, entry))
    ((actual_entry, message),) = find_mistakes(line, "seed=3", sweeps=sweeps).items()
    assert actual_entry == entry
    assert message.startswith(reason)


@pytest.mark.parametrize("line", ["data.path=a b=c,d.csv", "data.path=a,b", "data.path"])
def test_an_option_whose_value_is_wrong_is_not_also_required(find_mistakes: FindMistakes, line: str) -> None:
    (message,) = find_mistakes("data=csv", line, "seed=3").values()
    assert "is required" not in message


def test_a_sweep_over_choices_checks_options_in_each(find_mistakes: FindMistakes) -> None:
    assert set(find_mistakes("model/encoder=wide,narrow", "model.encoder.cell=rnn", sweeps=True)) == {
        "model.encoder.cell=rnn"
    }


def test_a_sweep_in_an_experiment_file_is_checked(find_mistakes: FindMistakes) -> None:
    assert set(find_mistakes("experiment=sweep")) == {"model/encoder=narow", "optimizer.lr=fast"}
    assert set(find_mistakes("experiment=sweep", "model/encoder=wide")) == {"optimizer.lr=fast"}


def test_invalid_yaml_is_reported_with_its_file_and_line(find_mistakes: FindMistakes) -> None:
    with pytest.raises(UserError, match=r"experiment/no_yaml\.yaml, line 3: expected ',' or '\]'"):
        find_mistakes("experiment=no_yaml")


def test_a_file_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "experiment" / "latin.yaml"
    path.parent.mkdir()
    path.write_bytes(b"seed: 1 # \xfcber\n")
    files = Repository(TEST_CONF, "train", extra=str(tmp_path))
    with pytest.raises(UserError, match=f"^{path}: is not UTF-8 text: save it as UTF-8$"):
        command_line_mistakes(files, ["experiment=latin"], sweeps=False, deep=True)


def test_a_check_that_is_not_deep_imports_nothing_and_checks_only_names(find_mistakes: FindMistakes) -> None:
    assert find_mistakes("model.encoder._target_=nowhere.Thing", "optimizer.lr=fast", deep=False) == {}
    assert set(find_mistakes("sede=3", deep=False)) == {"sede=3"}


def test_commands_take_different_options(find_mistakes: FindMistakes) -> None:
    assert find_mistakes(command="predict") == {"ckpt_path": "is required: write ckpt_path=…"}
    assert find_mistakes("ckpt_path=null", "seed=1", command="predict") == {
        "ckpt_path=null": "expects text or a list in [ ], each item text, got null",
        "seed=1": "no such option",
    }


def test_objects_in_the_hydra_node_are_refused(find_mistakes: FindMistakes) -> None:
    entry = "hydra.callbacks.evil._target_=os.system"
    assert find_mistakes("experiment=runs_anything")[entry].startswith("os is not a trusted module")
    assert find_mistakes("experiment=runs_anything", "extras.trusted_modules=[os,tests]") == {
        entry: "is not a class: write the dotted path of a class"
    }
    mistakes = find_mistakes("+hydra.job_logging.handlers.mine.class=subprocess.Popen")
    assert set(mistakes) == {"hydra.job_logging.handlers.mine.class=subprocess.Popen"}


def test_an_experiment_cannot_trust_its_own_modules(find_mistakes: FindMistakes) -> None:
    assert find_mistakes("experiment=trusts_itself") == {
        "extras.trusted_modules=[subprocess]": "is allowed only on the command line or in conf/extras",
        "logger.evil._target_=subprocess.Popen": "subprocess is not a trusted module; if you trust it, "
        "write extras.trusted_modules=[subprocess]",
    }
    assert find_mistakes("experiment=trusts_itself", "extras.trusted_modules=[subprocess,tests]") == {
        "logger.evil._target_=subprocess.Popen": "is not a subclass of pytorch_lightning.loggers.logger.Logger, "
        "which is required here"
    }


@pytest.mark.parametrize("tags", [[], ["tags=[]"]])
def test_tags_can_be_required(tags: list[str], find_mistakes: FindMistakes) -> None:
    assert find_mistakes("+extras.enforce_tags=true", *tags) == {
        "extras.enforce_tags=true": "requires tags: write tags=[…], such as tags=[baseline,imdb]"
    }
    assert find_mistakes(*tags) == {}
    assert find_mistakes("+extras.enforce_tags=true", "tags=[dev]") == {}
    assert find_mistakes("+extras.enforce_tags=true", "ckpt_path=best.ckpt", command="predict") == {}
