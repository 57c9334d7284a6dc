from typing import TYPE_CHECKING, Any

import pytest

from src.config.options import of_class, of_record
from src.models.attention.qkv import QkvAttention

if TYPE_CHECKING:
    from decimal import Decimal


class Closed:
    def __init__(self, width: int, height: "float" = 1.0, *, label: str | None = None) -> None: ...


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


def test_options_of_a_constructor() -> None:
    options, is_open = of_class(Closed)
    assert not is_open
    assert list(options) == ["width", "height", "label"]
    assert [option.hint for option in options.values()] == [int, float, str | None]
    assert [option.required for option in options.values()] == [True, False, False]
    assert [option.positional for option in options.values()] == [True, True, False]
    assert [option.nullable for option in options.values()] == [False, False, True]


@pytest.mark.parametrize("cls", [Child, Grandchild])
def test_kwargs_add_the_options_of_the_parent_class_but_require_none(cls: type) -> None:
    options, is_open = of_class(cls)
    assert not is_open
    assert list(options) == ["depth", "width", "height", "label"]
    assert [name for name, option in options.items() if option.required] == ["depth"]


def test_kwargs_without_a_parent_constructor_accept_any_name() -> None:
    assert of_class(Open) == ({}, True)


def test_options_of_new() -> None:
    assert list(of_class(WithNew).options) == ["size"]


def test_a_class_without_constructor_has_no_options() -> None:
    assert of_class(WithoutConstructor) == ({}, False)


def test_an_annotation_that_cannot_be_resolved_hides_no_other() -> None:
    assert [option.hint for option in of_class(PartlyAnnotated).options.values()] == [Any, int, Any]


def test_a_record_has_no_required_options() -> None:
    options, is_open = of_record({"a": int, "b": str})
    assert not is_open
    assert {name: option.hint for name, option in options.items()} == {"a": int, "b": str}
    assert not any(option.required for option in options.values())


def test_options_of_torch_and_lightning() -> None:
    from pytorch_lightning import Trainer
    from torch.optim import Adam
    from torch.optim.lr_scheduler import OneCycleLR

    assert list(of_class(Adam).options)[:2] == ["params", "lr"]
    assert {"max_epochs", "precision"} <= set(of_class(Trainer).options)
    assert of_class(Trainer).options["max_epochs"].hint == int | None
    assert not of_class(OneCycleLR).open


def test_parameters_that_only_a_subclass_can_pass_are_no_options() -> None:
    class Base:
        def __init__(self, input_dim: int, output_dim: int | None = None, /, *, rate: float = 0.0) -> None: ...

    class Derived(Base):
        def __init__(self, size: int, *, width: int = 1, **options: float) -> None:
            super().__init__(size, width, **options)

    assert list(of_class(Base).options) == ["input_dim", "rate"]
    assert list(of_class(Derived).options) == ["size", "width", "rate"]
    assert "output_dim" not in of_class(QkvAttention).options
    assert {"attention_units", "norm", "output_dropout"} <= set(of_class(QkvAttention).options)
