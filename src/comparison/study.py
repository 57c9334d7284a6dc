"""Study files: claims about variants, each with its metric, direction and source."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from src.comparison.measurements import RUN_STATISTICS
from src.comparison.scores import SCORES
from src.comparison.variants import GROUPS, Variant
from src.errors import UserError
from src.files.plain import require_plain
from src.files.yaml_loader import YAML_LOADER
from src.formatting import format_names, format_value
from src.misspellings import nearest, no_such

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_STUDY = ROOT / "studies" / "twenty_variants.yaml"
MAX_BYTES = 1_000_000  # maximum size of a study file
MAX_NAME = 60  # maximum number of characters of a name in a message
MAX_MISTAKES = 20  # maximum number of mistakes in a message
METRICS = (*SCORES, *RUN_STATISTICS)


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Choices(_Record):
    """Choices of a component, or values of an option: those listed, or all except those listed."""

    names: tuple[str, ...]
    is_negated: bool = False

    def __contains__(self, choice: object) -> bool:
        return choice is not None and (choice in self.names) != self.is_negated

    def __str__(self) -> str:
        return ("not " if self.is_negated else "") + " or ".join(self.names)


def _parse_choices(value: Any) -> Any:
    """Convert `name`, `[name, name]`, `{not: name}` or `{not: [name, name]}` to choices.

    Raises:
        ValueError: for other values, and for names with control characters.
    """
    is_negated = isinstance(value, dict)
    if is_negated and list(value) == ["not"]:
        value = value["not"]
    names = value if isinstance(value, list) else [value]
    if not names or any(name is None or isinstance(name, (dict, list)) for name in names):
        raise ValueError("expects a choice, a list of choices, or {not: [choice, …]}")
    return Choices(names=tuple(_check_line(format_value(name)) for name in names), is_negated=is_negated)


def _check_selector(selector: dict[str, Choices], info: ValidationInfo) -> dict[str, Choices]:
    """Check that a selector's components, options and choices exist."""
    known: Mapping[str, Collection[str]] = info.context or {}
    for name, choices in selector.items():
        _require_name("component or varying option", name, known)
        for choice in choices.names if known[name] else ():
            _require_name(name, choice, known[name])
    return selector


def _check_metric(name: str) -> str:
    _require_name("metric", name, METRICS)
    return name


def _require_name(kind: str, name: str, names: Iterable[str]) -> None:
    if name not in names:
        name = name[:MAX_NAME]
        raise ValueError(f"{no_such(f'{kind} {name!r}', nearest(name, names))} ({format_names(names)})")


def _check_filled(value: Any) -> Any:
    if not value:
        raise ValueError("is empty")
    return value


def _check_line(text: str) -> str:
    text = text.strip()
    if not text.isprintable():
        raise ValueError("contains a line break or a control character")
    return text


FILLED = AfterValidator(_check_filled)
Selector = Annotated[
    dict[str, Annotated[Choices, BeforeValidator(_parse_choices)]], FILLED, AfterValidator(_check_selector)
]
Text = Annotated[str, AfterValidator(_check_line), FILLED]


class Pairing(_Record):
    """Pairs of variants that agree in every component and option not named in `against`."""

    variants: Selector
    against: Selector

    def __str__(self) -> str:
        return f"no variant with {_describe(self.variants)} has a counterpart with {_describe(self.against)}"


class ClaimDefinition(_Record):
    """A claim: a metric is higher (or lower) for some variants than for their counterparts."""

    claim: Text
    source: Text
    metric: Annotated[str, AfterValidator(_check_metric)]
    direction: Literal["higher", "lower"]
    pairs: Annotated[tuple[Pairing, ...], FILLED]
    # "mean": the mean over all pairs; "strongest_rival": the mean over the pairs with the strongest rival
    decided_by: Literal["mean", "strongest_rival"] = "mean"
    also_for_each: str | None = None  # a component; the claim is also judged separately for each of its choices
    negligible: Annotated[float, Field(gt=0)] | None = None  # upper bound on negligible differences, in units of metric

    @model_validator(mode="after")
    def _check_rule(self) -> "ClaimDefinition":
        components = {name for pairing in self.pairs for name in pairing.variants}
        if self.also_for_each is not None:
            _require_name("component of `variants`", self.also_for_each, components)
        if self.decided_by == "strongest_rival":
            if self.also_for_each is not None:
                raise ValueError("also_for_each requires decided_by: mean")
            if len(self.pairs) > 1 or len(self.pairs[0].against) > 1:
                raise ValueError("decided_by: strongest_rival requires one entry in `pairs` and one name in `against`")
        return self

    @property
    def favoured_selectors(self) -> str:
        """The selectors of the variants that the claim favours, such as "encoder=lstm or encoder=bilstm"."""
        return " or ".join(dict.fromkeys(_describe(pairing.variants) for pairing in self.pairs))

    @property
    def rival_selectors(self) -> str:
        """The selectors of the favoured variants' rivals, such as "encoder=rnn or encoder=birnn"."""
        return " or ".join(dict.fromkeys(_describe(pairing.against) for pairing in self.pairs))


class Study(_Record):
    """The content of a study file."""

    claims: Annotated[tuple[ClaimDefinition, ...], FILLED]


MESSAGES = {  # by pydantic's error type
    "missing": "is missing",
    "string_type": "expects text",
    "dict_type": "expects a mapping",
    "model_type": "expects a mapping",
    "tuple_type": "expects a list",
    "float_type": "expects a number",
    "float_parsing": "expects a number",
}
# last name in the path of a mapping, such as claims in claims[0] → pydantic model of the mapping
FIELDS: dict[str, type[BaseModel]] = {"": Study, "claims": ClaimDefinition, "pairs": Pairing}


def load_study(path: Path, variants: Sequence[Variant]) -> Study:
    """Read a study file.

    Args:
        variants: the compared variants. A study may name the options in which they differ, their choices, and the
            choices in `conf/`.

    Raises:
        UserError: if the file is missing, unreadable or invalid; for each mistake, the message names the key and, for
            an unknown name, suggests a similar one.
    """
    if not path.is_file():
        similar = nearest(str(path), map(str, path.parent.glob("*.yaml")))
        raise UserError(f"--study {path}: {no_such('file', similar)}")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path} is larger than {MAX_BYTES:,} bytes; give the path of a study file")
        content = yaml.load(path.read_text(encoding="utf-8"), YAML_LOADER)
        require_plain(content, str(path))
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{path}{line}: is not valid YAML ({error.problem})") from None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read ({str(error) or type(error).__name__})") from None
    try:
        return Study.model_validate(content, context=_names(variants))
    except ValidationError as errors:
        mistakes = list(dict.fromkeys(_message(error) for error in errors.errors()))
    count = "1 mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
    more = [f"and {len(mistakes) - MAX_MISTAKES} more"] if len(mistakes) > MAX_MISTAKES else []
    raise UserError("\n  ".join([f"{path}: {count} in the study", *mistakes[:MAX_MISTAKES], *more]))


def choice_of(variant: Variant, name: str) -> str | None:
    """Return the variant's choice of a component, or its value of a varying option; None if it has neither."""
    return variant.differs.get(name, variant.choices.get(name))


def matches(variant: Variant, selector: Mapping[str, Choices]) -> bool:
    return all(choice_of(variant, name) in choices for name, choices in selector.items())


def _describe(selector: Mapping[str, Choices]) -> str:
    return ", ".join(f"{name}={choices}" for name, choices in selector.items())


def _names(variants: Sequence[Variant]) -> dict[str, Collection[str]]:
    """Return the choices of each component in `conf/` and in the variants; () for options, which may have any value."""
    names: dict[str, Collection[str]] = {name: () for variant in variants for name in variant.differs}
    for group, key in GROUPS.items():
        files = sorted(path.stem for path in (ROOT / "conf" / key.replace(".", "/")).glob("*.yaml"))
        used = (str(variant.choices[group]) for variant in variants if group in variant.choices)
        names[group] = tuple(dict.fromkeys((*(name for name in files if name != "base"), *used)))
    return names


def _message(error: Any) -> str:
    """Format a mistake on one line, such as "claims[0].metric: no such metric 'accuracy'; did you mean acc? (…)"."""
    *parents, key = error["loc"] or ("the file",)
    fields = FIELDS.get(next((name for name in reversed(parents) if isinstance(name, str)), ""), Study).model_fields
    if error["type"] == "extra_forbidden":
        text = f"{no_such('key', nearest(str(key)[:MAX_NAME], fields))} ({format_names(fields)})"
    else:
        text = MESSAGES.get(error["type"]) or str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    path = "".join(f"[{name}]" if isinstance(name, int) else f".{str(name)[:MAX_NAME]}" for name in (*parents, key))
    return f"{path.removeprefix('.')}: {text}"
