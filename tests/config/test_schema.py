"""The validation of a whole configuration: names, types, ranges, missing values and references."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from omegaconf import OmegaConf
from pydantic import Field

from heedful.base.errors import UserError
from heedful.config.keys import is_within
from heedful.config.schema import config_mistakes, of_class, option_mistakes, validate_config
from heedful.data.source import Source
from tests.helpers import small_config

if TYPE_CHECKING:
    from decimal import Decimal

PARTS = "tests.config.parts"


MISTAKES = {
    "+optimizer._args_=[1]": "no such option; it must be one of optimizer.amsgrad, ",
    "+optimizer.params=[1]": "is set by the program: remove it",
    "+scheduler={_target_: torch.optim.lr_scheduler.LinearLR, total_iters: 5}": "is set by the program: remove it",
    "seed=-1": "must be greater than or equal to 0",
    "tags=[a,'']": "must have at least 1 character",
    "task_name=../x": "must be a relative path without .. or control characters",
    "task_name=${nowhere}": "cannot be resolved: Interpolation key 'nowhere' not found",
    "data.text=[premise,premise]": "must be one column, or two different ones for pairs of texts",
    "data.label=[topic]": "must be one column, or with task=multilabel several different ones",
    "data.keep=[id,customer]": "must be first or last; to copy columns, write data.keep_columns=[…]",
    "data.keep=middle": "must be 'first' or 'last'",
    "data.keep_columns=id": "must be a list in [ ]",
    "data.limit=1000000000000000000000": "must be a valid integer",
    "optimizer.lr=nan": "must be a finite number",
    "optimizer.betas=[0.9,1.0]": "must be less than 1",
    "model.encoder.cell=gro": "must be 'rnn', 'lstm', 'gru' or 'mingru'",
    "model.encoder.bidirectional=1": "must be a valid boolean",
    "trainer.max_epochs=0": "must be greater than or equal to 1",
    "+trainer.max_steps=0": "must be greater than or equal to 1",
    "trainer.precision=17": "must be 64, 32 or 16 or 'transformer-engine'",
    "~model.encoder._target_": "is required by cell, bidirectional, hidden_dim",
    "+callbacks.mine={a: 1}": "is required by a: choose callbacks/mine=…, or remove its options: callbacks.mine=null",
    "+metrics.x=1": "must be a mapping",
    "model.branch=null": "must be a mapping; to choose a file, write model/branch=none",
}
# of another line for the same option, or one that hides others
ALONE = ("~model.encoder._target_", "task_name=${nowhere}", "model.branch=null", "data.keep=middle")


@pytest.mark.parametrize("overrides", [[line for line in MISTAKES if line not in ALONE], *([line] for line in ALONE)])
def test_a_mistake_has_one_message_with_the_path_of_the_option(overrides: list[str], tmp_path: Path) -> None:
    found = {mistake.path: mistake.message for mistake in config_mistakes(small_config(tmp_path, overrides), "train")}
    assert len(found) == len(overrides)
    for line in overrides:
        (message,) = (found[path] for path in found if is_within(path, [line.lstrip("+~").partition("=")[0]]))
        assert message.startswith(MISTAKES[line])


def test_a_missing_value_and_a_reference_of_another_type_are_mistakes(tmp_path: Path) -> None:
    lines = ["data=csv", "data.batch_size=${task_name}"]
    found = [mistake.message for mistake in config_mistakes(small_config(tmp_path, lines), "train")]
    assert sorted(found) == ["is required: write data.path=…", "must be a valid integer"]


@pytest.mark.parametrize(
    "override",
    [
        "seed=null",
        "+trainer.max_steps=-1",
        "+scheduler={_target_: torch.optim.lr_scheduler.CyclicLR, base_lr: 0.1, max_lr: 1.0}",
        "+trainer.limit_train_batches=0.5",
        "+param_groups.head={lr: 1, betas: [0, 0.5]}",
        "callbacks.progress=null",
        "callbacks.last_checkpoint.filename='a/{epoch}'",
        "+trainer.profiler={_target_: pytorch_lightning.profilers.SimpleProfiler}",
        "loss.class_weights=[1,3]",
        "scheduler=plateau",
    ],
)
def test_other_values_are_valid(override: str, tmp_path: Path) -> None:
    ignored = ["~callbacks.early_stopping", "callbacks.best_checkpoint.monitor=train/loss"]
    assert config_mistakes(small_config(tmp_path / "run", [*ignored, override]), "train") == []


def test_labels_may_be_mapped_to_numbers() -> None:
    assert (
        list(option_mistakes(Source, {"labels": {"01": 1, "1": 1, "2.0": True}}, "data", set(), requires=False)) == []
    )


def error_message(**config: Any) -> str:
    with pytest.raises(UserError) as error:
        validate_config(OmegaConf.create({"extras": {"trusted_modules": ["tests"]}, **config}))
    return str(error.value)


def test_the_message_lists_every_mistake_with_its_path_in_one_column() -> None:
    text = error_message(
        sede=3,
        model={"encoder": {"_target_": f"{PARTS}.Encoder", "hiden_dim": 64}},
        data={"_target_": f"{PARTS}.Csv", "path": "???"},
        optimizer={"_target_": f"{PARTS}.Optimizer", "lr": "fast"},
    )
    assert text.splitlines() == [
        "5 mistakes in the configuration; nothing was started.",
        "  sede=3                       no such option (did you mean seed?)",
        "  model.encoder.hiden_dim=64   no such option (did you mean model.encoder.hidden_dim?)",
        "  data.path                    is required: write data.path=…",
        "  data.batch_size              is required: write +data.batch_size=…",
        "  optimizer.lr=fast            must be a valid number",
    ]
    assert error_message(seed="x").startswith("1 mistake in the configuration; nothing was started.")


def test_a_reference_to_an_invalid_value_is_not_a_second_mistake() -> None:
    text = error_message(seed="x", data={"_target_": f"{PARTS}.Toy", "batch_size": 2, "seed": "${seed}"})
    assert text.startswith("1 mistake")


def test_a_wrong_class_and_an_unresolved_item_of_a_list_are_reported_once() -> None:
    text = error_message(tags=["a", "${sede}"], loss={"_target_": "os.system", "x": 1})
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["tags.1=${sede}", "loss._target_=os.system"]


def test_each_command_has_its_options() -> None:
    cfg = OmegaConf.create({"ckpt_path": "a.ckpt", "text": "x"})
    validate_config(cfg, "predict")
    with pytest.raises(UserError, match="text=x   no such option"):
        validate_config(cfg, "eval")


class Tensor: ...


@pytest.mark.parametrize(
    ("hint", "valid", "invalid"),
    [
        (int, [0, -3], [1.0, True, "1", None, [1]]),
        (float, [0, -3, 0.5], [True, "1", None, float("inf")]),
        (bool, [True, False], [0, 1, "true", None]),
        (Literal["a"] | None | Literal["b"], ["a", "b", None], ["c"]),
        (Sequence[float] | Literal["x"] | None, [[1, 2.5], "x", None], ["y", [None], 3]),
        (tuple[float, int], [[0.5, 3]], [[0.5], [0.5, 0.5], [1, 2, 3]]),
        (Annotated[int, Field(gt=2)] | None, [3, None], [2, "a"]),
        (float | Tensor, [0.5, {"of": "something"}], ["fast", None]),
        (Any, [None, ["a"]], []),
        (Tensor, [None, ["a"]], []),
        (list[Tensor], [["a"]], ["a"]),
    ],
    ids=str,
)
def test_annotations_accept_plain_values(hint: Any, valid: list[Any], invalid: list[Any]) -> None:
    def initialize(self: Any, x: Any = ...) -> None: ...

    initialize.__annotations__["x"] = hint
    cls = type("Toy", (), {"__init__": initialize, "__module__": "heedful.toy"})
    assert [value for value in valid if list(option_mistakes(cls, {"x": value}, "", set()))] == []
    assert [value for value in invalid if not list(option_mistakes(cls, {"x": value}, "", set()))] == []


class Closed:
    def __init__(self, width: int, height: "float" = 1.0, *, label: str = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013


class Child(Closed):
    def __init__(self, depth: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)


class Open:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...


class WithNew:
    def __new__(cls, size: int) -> "WithNew":
        return super().__new__(cls)


class PartlyAnnotated:
    def __init__(self, unresolved: "Decimal", resolved: int, unannotated=3) -> None: ...  # type: ignore[no-untyped-def]


class Base:
    def __init__(self, input_dim: int, output_dim: int | None = None, /, *, rate: float = 0.0) -> None: ...


class Derived(Base):
    def __init__(self, size: int, *, width: int = 1, **options: float) -> None:
        super().__init__(size, width, **options)


@pytest.mark.parametrize(
    ("cls", "options", "required", "is_open"),
    [
        (Closed, {"width": int, "height": float, "label": str | None}, ["width"], False),
        (Child, {"depth": int, "width": int, "height": float, "label": str | None}, ["depth"], False),
        (Open, {}, [], True),
        (WithNew, {"size": int}, ["size"], False),
        (PartlyAnnotated, {"unresolved": Any, "resolved": int, "unannotated": Any}, ["unresolved", "resolved"], False),
        (Base, {"input_dim": int, "rate": float}, ["input_dim"], False),  # only a subclass can pass output_dim
        (Derived, {"size": int, "width": int, "rate": float}, ["size"], False),
    ],
)
def test_the_parameters_of_constructors_are_options(cls, options, required, is_open) -> None:
    signature = of_class(cls)
    assert {name: option.hint for name, option in signature.options.items()} == options
    assert [name for name, option in signature.options.items() if option.required] == required
    assert signature.open is is_open


@pytest.mark.parametrize(
    ("choice", "removal", "message"),
    [
        ("model/branch=none", "~model.branch", "or remove its options: '{}'"),
        ("model/encoder=identity", "~model.encoder.hidden_dim", "no such option; '{}' removes it"),
    ],
)
def test_options_of_a_preset_that_another_choice_lacks_can_be_removed(choice, removal, message, tmp_path) -> None:
    lines = ["experiment=recommended", choice]
    (mistake,) = config_mistakes(small_config(tmp_path / "run", lines), "train")
    assert mistake.message.endswith(message.format(removal))
    assert not config_mistakes(small_config(tmp_path / "run", [*lines, removal]), "train")
