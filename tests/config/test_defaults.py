"""Files of models, losses and tokenizers name every option of their class, with the constructor's default."""

import inspect
from pathlib import Path
from typing import Any

import pytest
import yaml

from heedful.config.places import TRUSTED, find_class, place_at
from heedful.config.schema import of_class
from tests.helpers import CONF

CHOICES = sorted(
    str(path.relative_to(CONF).with_suffix(""))
    for group in ("model", "loss", "data/tokenizer")
    for path in (Path(CONF) / group).rglob("*.yaml")
    if "_target_" in path.read_text()  # model/sublayer=none has no class
)
CELL = "The file is a cell of the recurrent encoder, which it is named after."
SIZE = "The layers have 128 features for every embedding; a constructor call without `dim` adds no projection."
EXCEPTIONS = {  # (choice, option) → the reason why its value differs from the default
    **{(f"model/encoder/{name}", "cell"): CELL for name in ("gru", "bigru", "rnn", "birnn", "mingru")},
    **{(f"model/encoder/{name}", "bidirectional"): CELL for name in ("bigru", "bilstm", "birnn")},
    **{(f"model/encoder/{name}", "dim"): SIZE for name in ("elementwise", "hybrid", "transformer")},
}


def read_choice(choice: str) -> tuple[type, dict[str, Any]]:
    """The class of a choice and its options."""
    node = yaml.safe_load((Path(CONF) / f"{choice}.yaml").read_text())
    node.pop("defaults", None)
    return find_class(node.pop("_target_"), TRUSTED), node


def default_of(cls: type, name: str) -> Any:
    """The default of an option in the constructor that declares it."""
    constructors = [inspect.signature(base).parameters for base in cls.__mro__ if "__init__" in vars(base)]
    default = next(parameters[name].default for parameters in constructors if name in parameters)
    return list(default) if isinstance(default, tuple) else default


@pytest.mark.parametrize("choice", CHOICES)
def test_a_file_names_every_option_with_the_constructors_default(choice: str) -> None:
    cls, options = read_choice(choice)
    differences = {
        name: value
        for name, value in options.items()
        if not str(value).startswith("${")  # a reference to another option
        and (default := default_of(cls, name)) is not inspect.Parameter.empty
        and (default != value or type(default) is not type(value))
    }
    assert {(choice, name) for name in differences} == {key for key in EXCEPTIONS if key[0] == choice}, differences
    place = place_at(choice.rpartition("/")[0].replace("/", "."))
    positional = place.positional if place is not None else 0  # tokenizers have no place of their own
    assert set(options) == {*list(of_class(cls).options)[positional:]}
