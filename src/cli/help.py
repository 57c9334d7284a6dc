"""The page that --help shows: the groups with their choices, the options with their values, and the flags.

Hydra's own help can show neither the comments on options nor the selected choices.
"""

import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping

import yaml
from omegaconf import OmegaConf

from src.config.composition import Repository, without_hydra
from src.config.hydra_adapter import file_of
from src.files import YAML_LOADER
from src.process.startup import drop_if_broken

FLAGS = """\
  -m          one run for each combination of values: -m model/attention=none,bahdanau seed=1,2,3
  --cfg job   print the configuration composed from the other arguments; --resolve replaces references with values
  --help      print this page for the configuration composed from the other arguments
  --hydra-help, --version and other flags are Hydra's

  In a shell, text with spaces, commas or = needs two pairs of quotes: 'tags=["a, b"]'
"""


def help_page(repository: Repository, overrides: list[str], about: str, width: int) -> str:
    """Return the help page of a command for the configuration that is composed from `overrides`.

    Args:
        overrides: valid overrides.
        about: description of the command.
        width: columns of the terminal.
    """
    lines = [about.strip(), "", "Groups, set by group=choice; * marks the selected choices:", ""]
    selected = repository.choices(overrides)
    for group, choices in sorted(repository.groups.items()):
        if choices and group.split("/")[0] != "hydra":
            hidden = _shared_bases(repository, group)
            text = " ".join(
                f"{choice}*" if f"{group}/{choice}" in selected else choice
                for choice in sorted(choices)
                if choice not in hidden
            )
            lines += textwrap.wrap(text, width, initial_indent=f"  {group:<18}", subsequent_indent=" " * 20)
    options = OmegaConf.to_yaml(without_hydra(repository.compose(overrides)))
    options = "\n".join(_with_comments(options, _comments(repository, overrides)))
    lines += ["", "Options, set by path.of.option=value, with current values:", "", textwrap.indent(options, "  "), ""]
    return "\n".join([*lines, "Flags:", "", FLAGS])


def _shared_bases(repository: Repository, group: str) -> set[str]:
    """Return the choices that more than half of a group's files include, such as data/base; the page omits them."""
    counts: Counter[str] = Counter()
    for choice in repository.groups[group]:
        if path := file_of(repository.files, f"{group}/{choice}"):
            try:
                content = yaml.load(path.read_text(encoding="utf-8"), YAML_LOADER)
            except (OSError, ValueError, yaml.YAMLError):  # an error that is reported if the file is chosen
                continue
            defaults = content.get("defaults") if isinstance(content, dict) else None
            counts.update(map(str, defaults if isinstance(defaults, list) else ()))
    return {choice for choice, count in counts.items() if 2 * count > len(repository.groups[group])} - {"_self_"}


def _comments(repository: Repository, overrides: list[str]) -> dict[str, str]:
    """Return the comment on each option in the selected config files, by the option's dotted path."""
    comments: dict[str, str] = {}
    for path, package in repository.selected_files(overrides):
        comments |= file_comments(path.read_text(encoding="utf-8"), package)
    return comments


def file_comments(text: str, package: str) -> dict[str, str]:
    """Return the comment on each option in the text of a config file, by the option's dotted path.

    Args:
        package: dotted path of the node whose options the file sets; empty for the root.
    """
    comments: dict[str, str] = {}
    lines = text.splitlines()
    for option, line, column in _positions(text, package):
        rest = lines[line][column:].lstrip(": ")
        if rest.startswith("# "):
            comments[option] = rest
    return comments


def _with_comments(text: str, comments: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a YAML text, each with the comment on its option."""
    options = {line: option for option, line, _ in _positions(text, "")}
    for number, line in enumerate(text.splitlines()):
        comment = comments.get(options.get(number, ""), "")
        yield f"{line} {comment}".rstrip()


def _positions(text: str, package: str) -> Iterator[tuple[str, int, int]]:
    """Yield each option's dotted path in a YAML text, and the line and column (from 0) where a comment may follow."""
    pending = [(package, yaml.compose(text, YAML_LOADER))]
    while pending:
        parent, node = pending.pop()
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            path = f"{parent}.{key.value}" if parent else str(key.value)
            end = value.end_mark if value.start_mark.line == value.end_mark.line == key.end_mark.line else key.end_mark
            yield path, end.line, end.column
            pending.append((path, value))


def print_page(text: str) -> None:
    """Print text; a closed pipe, as in `--help | head`, is not an error."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        drop_if_broken(sys.stdout)  # otherwise, the flush at exit would raise the error again
