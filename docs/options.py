"""Write docs/options.md from the config files and the annotations of the classes: `make docs`."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import yaml

from heedful.base.formatting import format_names, format_value
from heedful.commands.help import file_comments
from heedful.config.places import TRUSTED, find_class
from heedful.config.schema import COMMANDS, RECORDS, of_class

ROOT = Path(__file__).parents[1]
CONF = ROOT / "conf"
PAGE = ROOT / "docs" / "options.md"
SHARED = ("base", "default")  # files that other files of their group include
BASES = (("data", "base"), ("trainer", "default"))  # files that are not choices
PRESETS = ("model", "experiment", "debug")  # their files set options of other groups
GROUPS = (
    *("data", "data/tokenizer", "model/embedding", "model/position", "model/encoder", "model/attention"),
    *("model/pooling", "model/head", "loss", "optimizer", "scheduler", "metrics", "trainer", "callbacks", "logger"),
    *("extras", "paths", "hparams_search", "hydra/launcher", "hydra/sweeper", *PRESETS),
)
WORDS: dict[Any, str] = {
    **{bool: "boolean", int: "integer", float: "number", str: "text", None: "null", NoneType: "null"},
    **{dict: "mapping", Mapping: "mapping"},
}
INTRODUCTION = """\
# Options

All options by config group. `group=choice` selects a choice, such as `model/encoder=bilstm`; `path.of.option=value`
sets an option, such as `model.encoder.hidden_dim=64`. `python -m src.train --help` shows the options of the choices
that you make, with their current values. Options that a class accepts beyond these need a plus sign:
`+trainer.limit_train_batches=100`.

This page is generated from the config files in `conf/` by `make docs`.
"""


class Row(NamedTuple):
    """An option as the page shows it."""

    option: str
    type: str
    meaning: str


Defaults = dict[str, list[str]]  # each default value of an option → the choices that have it


def render() -> str:
    """Return the text of the page."""
    groups = {path.parent.relative_to(CONF).as_posix() for path in CONF.glob("*/**/*.yaml")} - {"hydra"}
    lines = [INTRODUCTION]
    for command in COMMANDS:
        lines += [f"## `python -m src.{command}`", "", *_table(rows([CONF / f"{command}.yaml"], "")), ""]
    for group in sorted(groups, key=_position(GROUPS)):
        lines += [f"## `{group}`", "", *_group(group), ""]
    return "\n".join(lines).rstrip() + "\n"


def _position(order: Sequence[str]) -> Callable[[str], tuple[int, str]]:
    """Return a sort key that puts the names in `order` first."""
    return lambda name: (order.index(name) if name in order else len(order), name)


def _group(group: str) -> Iterator[str]:
    """Yield the lines that list the choices of a group, and those of a table of their options."""
    files = sorted((CONF / group).glob("*.yaml"), key=lambda path: (path.stem not in SHARED, path.stem))
    for path in files:
        about = _about(path)
        if (group, path.stem) not in BASES:
            yield f"- `{path.stem}`{f': {about}' if about else ''}"
    if group not in PRESETS and (options := rows(files, group.replace("/", "."))):
        yield ""
        yield from _table(options, [path.stem for path in files])


def rows(files: Sequence[Path], package: str) -> dict[Row, Defaults]:
    """Return the options in config files, with the choices that have each default value.

    Args:
        files: the files of one group, or a command's primary config.
        package: dotted path of the configuration node that the files define.
    """
    options: dict[Row, Defaults] = {}
    for path in files:
        for row, default in _file_rows(path, package):
            if not row.meaning:  # an included file has the comment
                row = next((known for known in options if known[:2] == row[:2]), row)
            options.setdefault(row, {}).setdefault(default, []).append(path.stem)
    return options


def _table(options: Mapping[Row, Defaults], choices: Sequence[str] = ()) -> Iterator[str]:
    columns = ["option", "type", "default", "meaning", *(["choices"] if len(choices) > 1 else [])]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for row, defaults in options.items():
        cells = [f"`{row.option}`", row.type, _defaults(defaults), re.sub(r"([*_<|])", r"\\\1", row.meaning)]
        if len(choices) > 1:
            names = [name for stems in defaults.values() for name in stems]
            cells.append("all" if set(names) & {*SHARED} or len(names) == len(choices) else ", ".join(sorted(names)))
        yield f"| {' | '.join(cells)} |"


def _defaults(defaults: Defaults) -> str:
    """Return the default value, or the default of each choice: `gru` (bigru, gru), `lstm` (bilstm, lstm)."""
    texts = {value: "required" if value == "???" else f"`{value}`".replace("|", r"\|") for value in defaults}
    if len(defaults) == 1:
        return texts[next(iter(defaults))]
    return ", ".join(
        texts[value] if {*SHARED} & {*choices} else f"{texts[value]} ({', '.join(choices)})"
        for value, choices in defaults.items()
    )


def _about(path: Path) -> str:
    """Return the comment at the top of a config file, or else the first paragraph of the docstring of its class."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("# @package")]
    comment = []
    for line in lines:
        if not line.startswith("#"):
            break
        comment.append(line.removeprefix("#").strip())
    if comment:
        return " ".join(comment)
    target = (yaml.safe_load("\n".join(lines)) or {}).get("_target_")
    if not str(target).startswith("heedful."):
        return f"`{target}`" if target else ""
    return " ".join(inspect.getdoc(find_class(target, TRUSTED)).split("\n\n")[0].split())  # type: ignore[union-attr]


def _file_rows(path: Path, package: str) -> Iterator[tuple[Row, str]]:
    """Yield the options in a config file with their default values."""
    text = path.read_text(encoding="utf-8")
    if text.startswith("# @package _global_"):
        package = ""
    comments = file_comments(text, package)
    yield from _node_rows(yaml.compose(text), package, path, text, comments)


def _node_rows(
    node: Any, package: str, path: Path, text: str, comments: Mapping[str, str]
) -> Iterator[tuple[Row, str]]:
    if not isinstance(node, yaml.MappingNode):
        return
    documented = _documented(package, path.stem, _target(node, path))
    for key, value in node.value:
        name = str(key.value)
        if name in ("defaults", "_target_"):
            continue
        option = f"{package}.{name}" if package else name
        if isinstance(value, yaml.MappingNode) and not value.flow_style:
            yield from _node_rows(value, option, path, text, comments)
            continue
        default = text[value.start_mark.index : value.end_mark.index]
        hint, meaning = documented.get(name, (None, ""))
        comment = comments.get(option, "").removeprefix("# ")
        yield Row(option, _describe(hint, yaml.safe_load(default)), comment or meaning), default


def _target(node: Any, path: Path) -> str | None:
    """Return the class that a config file names, or else the first file that it includes; None if there is none."""
    values = {key.value: value for key, value in node.value}
    if "_target_" in values:
        return str(values["_target_"].value)
    for default in values["defaults"].value if "defaults" in values else ():
        base = path.with_name(f"{default.value}.yaml") if isinstance(default.value, str) else path
        if base != path and base.exists():
            return _target(yaml.compose(base.read_text(encoding="utf-8")), base)
    return None


@cache
def _documented(package: str, command: str, target: str | None) -> dict[str, tuple[Any, str]]:
    """Return the annotation and meaning of each option of the class `target`, or of the record at `package` if None."""
    if target is None:
        record = RECORDS.get(package) if package else COMMANDS.get(command)
        return {name: (option.hint, "") for name, option in (record or {}).items()}
    if package.startswith("hydra"):  # its plugins may not be installed
        return {}
    cls = find_class(target, TRUSTED)
    meanings: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("heedful."):
            meanings |= _arguments(inspect.cleandoc(base.__doc__ or ""))
    return {name: (option.hint, meanings.get(name, "")) for name, option in of_class(cls).options.items()}


def _arguments(documentation: str) -> dict[str, str]:
    """Return the entries of the section `Args` of a docstring, by the name of the parameter."""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)*)", documentation, re.MULTILINE)
    entries = re.findall(r"^    (\w+): (.*(?:\n     .*)*)", section.group(1), re.MULTILINE) if section else []
    return {name: re.sub(r"\bNone\b", "null", " ".join(text.split()).removesuffix(".")) for name, text in entries}


def _describe(hint: Any, value: Any) -> str:
    """Return the type of an option: its annotation, or else the type of its default value."""
    words = "any" if hint is None else _words(hint)
    if words == "any" and value is not None and not (isinstance(value, str) and "${" in value):
        words = _words(type(value))
    members = set(words.split(" or "))  # Python's typing ignores the order when it caches unions
    if "number" in members:
        members.discard("integer")
    return " or ".join(sorted(members, key=lambda member: (member == "null", member)))


def _words(hint: Any) -> str:
    """Describe an annotation in plain words: `int | None` is "integer or null"; a class in a union is omitted."""
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        return _words(arguments[0])
    if origin in (Union, UnionType, Literal):
        members = [hint] if origin is Literal else arguments
        literals = [member for member in members if get_origin(member) is Literal]
        choices = dict.fromkeys(format_value(choice) for literal in literals for choice in get_args(literal))
        words = [_words(member) for member in members if member not in literals]
        if choices:
            words.insert(0, f"one of {format_names(choices)}" if len(choices) > 1 else format_names(choices))
        known = [word for word in dict.fromkeys(words) if word != "any"]
        return "any" if known in ([], ["null"]) else " or ".join(known)
    if origin is tuple and arguments[-1:] != (Ellipsis,):
        return f"list of length {len(arguments)}: {', '.join(map(_words, arguments))}"
    if origin in (list, tuple, Sequence):
        return "list" if not arguments or arguments[0] is Any else f"list of {_words(arguments[0])}"
    return WORDS.get(origin, "any")


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    print(f"Written to {PAGE.relative_to(ROOT)}")
