"""The page that --help shows: the groups with their choices, the options with their values, and the flags."""

import os
import sys
import textwrap

from omegaconf import OmegaConf

from src.config.composition import Repository, without_hydra

FLAGS = """\
  -m          one run for each combination of values: -m model/attention=none,bahdanau seed=1,2,3
  --cfg job   print the configuration that the other arguments compose; --resolve resolves its references
  --help      print this page for the configuration that the other arguments compose
  --hydra-help, --version and others are Hydra's

  In a shell, quote text with spaces, commas or = twice: 'tags=["a, b"]'
"""


def help_page(repository: Repository, overrides: list[str], about: str, width: int) -> str:
    """The help page of a command for the configuration that `overrides` compose.

    Args:
        repository: the command's config files.
        overrides: valid overrides.
        about: description of the command.
        width: columns of the terminal.
    """
    lines = [about.strip(), "", "Groups, group=choice; * marks the selected choices:", ""]
    selected = repository.choices(overrides)
    for group, choices in sorted(repository.groups.items()):
        if choices and group.split("/")[0] != "hydra":
            text = " ".join(f"{choice}*" if f"{group}/{choice}" in selected else choice for choice in sorted(choices))
            lines += textwrap.wrap(text, width, initial_indent=f"  {group:<18}", subsequent_indent=" " * 20)
    options = OmegaConf.to_yaml(without_hydra(repository.compose(overrides)))
    lines += ["", "Options, path.of.option=value, with their current values:", "", textwrap.indent(options, "  ")]
    return "\n".join([*lines, "Flags:", "", FLAGS])


def print_page(text: str) -> None:
    """Print text; a closed pipe, as in `--help | head`, is not an error."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
