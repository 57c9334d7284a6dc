"""The validation of a whole configuration: names, types, ranges, missing values and references."""

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from omegaconf import OmegaConf
from pydantic import Field

from src.config.schema import (
    Option,
    Validator,
    config_mistakes,
    describe_type,
    of_class,
    plain_hint,
    validate_config,
)
from src.errors import UserError
from tests.helpers import small_config

if TYPE_CHECKING:
    from decimal import Decimal

PARTS = "tests.config.parts"
LONG = "x" * 300


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("+sede=3", "no such option; did you mean seed?"),
        ("+hidden_dim=3", "no such option; did you mean model.encoder.hidden_dim?"),
        ("+model.encodr={}", "no such option; did you mean model.encoder?"),
        ("+extras.trusted=[]", "no such option; did you mean extras.trusted_modules?"),
        ("+optimizer.lrr=1", "no such option; did you mean optimizer.lr?"),
        ("+optimizer._args_=[1]", "no such option; the options are lr, betas, eps, weight_decay, amsgrad, "),
        ("+optimizer.params=[1]", "is set by the program: remove it"),
        ("+metrics.mine={_target_: torchmetrics.F1Score}", "is outside the modules that are allowed here"),
        ("seed=-1", "must be at least 0"),
        ("seed=4294967296", "must be less than 4294967296"),
        ("seed=1.5", "expects a whole number or null, got 1.5"),
        ("seed=true", "expects a whole number or null, got true"),
        ("tags=a", "expects a list in [ ], each item text, got 'a'"),
        ("tags=[a,3]", "expects a list in [ ], each item text, got [a, 3]"),
        ("tags=[a,'']", "must be one line of 1 to 64 characters"),
        ("task_name=a/b", "must be a folder name without slashes or control characters"),
        ("task_name=..", "must be a folder name without slashes or control characters"),
        (f"task_name={LONG}", "contains a name longer than 200 bytes: shorten it"),
        ("task_name=${nowhere}", "cannot be resolved: Interpolation key 'nowhere' not found"),
        ("data.batch_size=${task_name}", "expects a whole number, got 'train'"),
        ("data.limit=1000000000000000000000", "must be less than 9223372036854775808"),
        ("optimizer.lr=fast", "expects a number, got 'fast'"),
        ("optimizer.lr={a: 1}", "expects a number, got {a: 1}"),
        ("optimizer.lr=-1", "must be at least 0"),
        ("optimizer.lr=nan", "must be a finite number"),
        ("optimizer.betas=[0.9]", "expects a list in [ ] of length 2: a number, a number, got [0.9]"),
        ("optimizer.betas=[0.9,1.0]", "must be less than 1"),
        ("+param_groups.hed={lr: 0.1}", "no such option; did you mean param_groups.head?"),
        ("+param_groups.head.lrr=0.1", "no such option; did you mean param_groups.head.lr?"),
        ("+param_groups.head.lr=abc", "expects a number, got 'abc'"),
        ("+param_groups.head.lr=-1", "must be at least 0"),
        ("model.encoder.cell=gro", "expects one of rnn, lstm, gru, got 'gro'"),
        ("model.encoder.bidirectional=1", "expects true or false, got 1"),
        ("trainer.max_epochs=0", "must be at least 1"),
        ("+trainer.max_steps=0", "must be at least 1"),
        ("+trainer.limit_train_batches=1.5", "must be a whole number of at least 1, or a fraction in (0.0, 1.0]"),
        ("+trainer.limit_train_batches=0.0", "must be a whole number of at least 1, or a fraction in (0.0, 1.0]"),
        ("+trainer.limit_val_batches=-1", "must be a whole number of at least 0, or a fraction in [0.0, 1.0]"),
        ("trainer.gradient_clip_val=-0.5", "must be at least 0"),
        ("trainer.precision=17", "expects one of 64, 32, 16, transformer-engine"),
        ("trainer.devices=0", "must be a number of processes from 1 to"),
        ("trainer.devices=[0]", "must be a number of processes from 1 to"),
        ("trainer.devices=1000000", "must be a number of processes from 1 to"),
        ("+trainer.num_nodes=2", "needs 2 connected machines: start the command with Slurm or torchrun"),
        ("callbacks.early_stopping.patience=-1", "must be at least 0"),
        ("callbacks.early_stopping.mode=up", "expects one of min, max, got 'up'"),
        ("callbacks.last_checkpoint.filename=../../x", "must be a relative path without .. or control characters"),
        ("+callbacks.last_checkpoint.save_top_k=-3", "must be at least -1"),
        ("callbacks.finite_loss.every_n_steps=0", "must be at least 1"),
        ("~model.encoder._target_", "is required: choose one with model/encoder=…"),
        ("+callbacks.mine={a: 1}", "is required: write callbacks.mine=null to remove it"),
        ("+metrics.x=1", "expects a mapping or null, got 1"),
        ("data=csv", "is required: write data.path=…"),
    ],
)
def test_a_mistake_has_one_message_with_the_path_of_the_option(override: str, message: str, tmp_path: Path) -> None:
    (mistake,) = config_mistakes(small_config(tmp_path / "run", [override]), "train")
    assert mistake.path.startswith(override.lstrip("+~").partition("=")[0]) or override == "data=csv"
    assert mistake.message.startswith(message)


@pytest.mark.parametrize(
    "override",
    [
        "seed=null",
        "+trainer.max_steps=-1",
        "+trainer.limit_train_batches=0.5",
        "+trainer.limit_val_batches=0.0",
        "+trainer.limit_test_batches=3",
        "trainer.num_sanity_val_steps=-1",
        "optimizer.lr=1",
        "+param_groups.head={lr: 1, betas: [0, 0.5]}",
        "param_groups=null",
        "callbacks.progress=null",
        "callbacks.last_checkpoint.filename='a/{epoch}'",
        "+trainer.profiler={_target_: pytorch_lightning.profilers.SimpleProfiler}",
        "+trainer.profiler=simple",
        "loss.class_weights=[1,3]",
        "loss.class_weights=balanced",
        "scheduler=plateau",
    ],
)
def test_other_values_are_valid(override: str, tmp_path: Path) -> None:
    ignored = ["~callbacks.early_stopping", "callbacks.best_checkpoint.monitor=train/loss"]
    assert config_mistakes(small_config(tmp_path / "run", [*ignored, override]), "train") == []


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
        "  data.path                    is required: write data.path=…",
        "  sede=3                       no such option; did you mean seed?",
        "  model.encoder.hiden_dim=64   no such option; did you mean model.encoder.hidden_dim?",
        "  data.batch_size              is required: write +data.batch_size=…",
        "  optimizer.lr=fast            expects a number, got 'fast'",
    ]
    assert error_message(seed="x").startswith("1 mistake in the configuration; nothing was started.")


def test_a_reference_to_an_invalid_value_is_not_a_second_mistake() -> None:
    text = error_message(seed="x", data={"_target_": f"{PARTS}.Toy", "batch_size": 2, "seed": "${seed}"})
    assert text.startswith("1 mistake")


def test_a_wrong_class_and_an_unresolved_item_of_a_list_are_reported_once() -> None:
    text = error_message(tags=["a", "${sede}"], loss={"_target_": "os.system", "x": 1})
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["tags[1]=${sede}", "loss._target_=os.system"]


def test_each_command_has_its_options() -> None:
    cfg = OmegaConf.create({"ckpt_path": "a.ckpt", "text": "x"})
    validate_config(cfg, "predict")
    with pytest.raises(UserError, match="text=x   no such option"):
        validate_config(cfg, "eval")


class Colour(Enum):
    RED = "r"
    BLUE = 2


class Tensor: ...


@pytest.mark.parametrize(
    ("hint", "valid", "invalid", "description"),
    [
        (int, [0, -3], [1.0, True, "1", None, [1], 2**63], "a whole number"),
        (float, [0, -3, 0.5], [True, "1", None, float("inf")], "a number"),
        (bool, [True, False], [0, 1, "true", None], "true or false"),
        (str, ["", "a"], [1, True, None, ["a"]], "text"),
        (Path, ["a/b"], [3, None], "text"),
        (os.PathLike[str], ["a/b"], [3], "text"),
        (None, [None], [0, "null"], "null"),
        (int | None, [3, None], ["a", 1.5], "a whole number or null"),
        (int | str, [3, "a"], [1.5, None, True], "a whole number or text"),
        (Literal["a", 3], ["a", 3], ["b", None], "one of a, 3"),
        (Literal["a"] | None | Literal["b"], ["a", "b", None], ["c"], "one of a, b or null"),
        (Sequence[float] | Literal["x"] | None, [[1, 2.5], "x", None], ["y", [None], 3], "x or a list in [ ], each"),
        (Colour, ["RED", "r", 2], ["red", 3], "one of RED, BLUE, r, 2"),
        (list, [[], [1, "a"]], ["a", {}, None], "a list in [ ]"),
        (Iterable[int], [[], [1, 2]], [[1, "a"], [True], "1"], "a list in [ ], each item a whole number"),
        (tuple[float, int], [[0.5, 3]], [[0.5], [0.5, 0.5], [1, 2, 3]], "a list in [ ] of length 2: a number, a whole"),
        (tuple[int, ...], [[], [1, 2]], [["a"]], "a list in [ ], each item a whole number"),
        (dict, [{}, {"a": 1}], [[], "a", None], "a mapping"),
        (Mapping[str, int], [{"a": 1}], [{"a": "b"}], "a mapping"),
        (Annotated[int, Field(gt=2)] | None, [3, None], [2, "a"], "a whole number or null"),
        (float | Tensor, [0.5, {"of": "something"}], ["fast", None], "a number"),
        (Any, [None, ["a"]], [], "another type"),
        (Tensor, [None, ["a"]], [], "another type"),
        (timedelta | None, [None, ["a"]], [], "another type"),
        (list[Tensor], [["a"]], ["a"], "a list in [ ]"),
    ],
    ids=str,
)
def test_annotations_accept_plain_values(hint: Any, valid: list[Any], invalid: list[Any], description: str) -> None:
    validator = Validator({"x": Option(hint, required=False, positional=False)})
    assert [value for value in valid if list(validator.mistakes({"x": value}, ""))] == []
    assert [value for value in invalid if not list(validator.mistakes({"x": value}, ""))] == []
    assert describe_type(plain_hint(hint)).startswith(description)


class Closed:
    def __init__(self, width: int, height: "float" = 1.0, *, label: str = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013


class Child(Closed):
    def __init__(self, depth: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)


class Grandchild(Child):
    pass


class Open:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...


class WithNew:
    def __new__(cls, size: int) -> "WithNew":
        return super().__new__(cls)


class PartlyAnnotated:
    def __init__(self, unresolved: "Decimal", resolved: int, unannotated=3) -> None: ...  # type: ignore[no-untyped-def]


class WithoutConstructor: ...


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
        (Grandchild, {"depth": int, "width": int, "height": float, "label": str | None}, ["depth"], False),
        (Open, {}, [], True),
        (WithNew, {"size": int}, ["size"], False),
        (WithoutConstructor, {}, [], False),
        (PartlyAnnotated, {"unresolved": Any, "resolved": int, "unannotated": Any}, ["unresolved", "resolved"], False),
        (Base, {"input_dim": int, "rate": float}, ["input_dim"], False),  # only a subclass can pass output_dim
        (Derived, {"size": int, "width": int, "rate": float}, ["size"], False),
    ],
)
def test_the_parameters_of_constructors_are_options(
    cls: type, options: dict[str, Any], required: list[str], is_open: bool
) -> None:
    signature = of_class(cls)
    assert {name: option.hint for name, option in signature.options.items()} == options
    assert [name for name, option in signature.options.items() if option.required] == required
    assert signature.open is is_open
