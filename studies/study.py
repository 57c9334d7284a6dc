"""Study files: claims about variants, each with its metric, direction and source."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationError, ValidationInfo

from heedful.base.errors import UserError
from heedful.base.formatting import format_value
from heedful.config.keys import CONF
from heedful.config.mistakes import no_such
from heedful.records.variants import GROUPS, Variant
from heedful.tasks.stored import score_names
from studies.statistics import STATISTICS

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Choices:
    """Choices of a component, or values of an option: those listed, or all except those listed."""

    names: tuple[str, ...]
    is_negated: bool = False

    def include(self, choice: str | None) -> bool:
        return choice is not None and (choice in self.names) != self.is_negated

    def __str__(self) -> str:
        return ("not " if self.is_negated else "") + " or ".join(self.names)


def _parse_choices(value: Any) -> Choices:
    """Convert `name`, `[name, name]`, `{not: name}` or `{not: [name, name]}` to choices."""
    is_negated = isinstance(value, dict) and list(value) == ["not"]
    value = value["not"] if is_negated else value
    names = value if isinstance(value, list) else [value]
    if not names or any(name is None or isinstance(name, dict | list) for name in names):
        raise ValueError("expects a choice, a list of choices, or {not: [choice, …]}")
    return Choices(tuple(map(format_value, names)), is_negated)


def _check_selector(selector: dict[str, Choices], info: ValidationInfo) -> dict[str, Choices]:
    """Check that a selector's components, options and choices exist."""
    known: Mapping[str, Collection[str]] = info.context or {}
    for name, choices in selector.items():
        _require_name(name, "component or varying option", known)
        for choice in choices.names if known[name] else ():
            _require_name(choice, name, known[name])
    return selector


def _require_name(name: str, kind: str, names: Iterable[str]) -> str:
    if name not in names:
        raise ValueError(no_such(f"{kind} {format_value(name)!r}", name, names))
    return name


Selector = Annotated[
    dict[str, Annotated[Choices, PlainValidator(_parse_choices)]], Field(min_length=1), AfterValidator(_check_selector)
]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Statement(_Record):
    """A claim that a metric is higher (or lower) on one side than on the other.

    Args:
        claim, source: the claim in words, and the document that makes it.
        negligible: upper bound on negligible differences, in units of the metric.
    """

    claim: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]
    metric: str
    direction: Literal["higher", "lower"] = "higher"
    negligible: Annotated[float, Field(gt=0, strict=True)] | None = None


class ClaimDefinition(Statement):
    """A claim about the favoured variants and their counterparts."""

    metric: Annotated[str, AfterValidator(partial(_require_name, kind="metric", names=(*score_names(), *STATISTICS)))]
    direction: Literal["higher", "lower"]
    variants: Selector
    against: Selector


class Study(_Record):
    """The content of a study file."""

    claims: tuple[ClaimDefinition, ...]


def load_study(path: Path, variants: Sequence[Variant]) -> Study:
    """Read a study file; the error message lists all mistakes.

    Args:
        path: the file, or the name of a file in this folder, such as twenty_variants.
        variants: the compared variants. A study may name the options in which they differ, their choices, and the
            choices in `conf/`.
    """
    if not path.is_file() and (known_file := HERE / f"{path}.yaml").is_file():
        path = known_file
    known: dict[str, Collection[str]] = {name: () for variant in variants for name in variant.differs}
    for group, key in GROUPS.items():
        files = (CONF / key.replace(".", "/")).glob("*.yaml")
        used = {str(variant.choices[group]) for variant in variants if group in variant.choices}
        known[group] = {file.stem for file in files} - {"base"} | used
    try:
        return Study.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")), context=known)
    except ValidationError as error:
        found = ((".".join(map(str, each["loc"])), each["msg"]) for each in error.errors())
        mistakes = [f"{place}: {message.removeprefix('Value error, ')}" for place, message in found]
        raise UserError("\n  ".join([f"{path} is not a valid study:", *mistakes])) from None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"--study {path} cannot be read ({str(error) or type(error).__name__})") from None


def describe_selector(selector: Mapping[str, Choices]) -> str:
    """Return a selector as text, such as "encoder=lstm or bilstm, attention=not none"."""
    return ", ".join(f"{name}={choices}" for name, choices in selector.items())


def match_pairs(
    variants: Sequence[Variant], favoured: Mapping[str, Choices], against: Mapping[str, Choices]
) -> list[tuple[Variant, Variant]]:
    """Return the pairs (favoured variant, counterpart) that agree in every component and option not named in `against`.

    Options that only one of the two variants has are ignored.
    """

    def matches(variant: Variant, selector: Mapping[str, Choices]) -> bool:
        values = {**variant.choices, **variant.differs}
        return all(choices.include(values.get(name)) for name, choices in selector.items())

    def agree(first: Variant, second: Variant) -> bool:
        shared = first.differs.keys() & second.differs.keys() - against.keys()
        return all(first.differs[key] == second.differs[key] for key in shared)

    return [
        (first, second)
        for second in variants
        for first in variants
        if first is not second and matches(first, favoured) and matches(second, against) and agree(first, second)
    ]
