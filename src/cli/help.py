"""The page that --help shows: the groups with their choices, the options with their values, and the flags."""

import os
import sys
import textwrap

from omegaconf import OmegaConf

from src.config.composition import Repository, without_hydra

FLAGS = """\
  -m          one run for each combination of values: -m model/attention=none,bahdanau seed=1,2,3
  --cfg job   show the configuration that the other arguments make, and stop; --resolve fills in references
  --help      this page, with what the other arguments change
  --hydra-help, --version and others are Hydra's

  In a shell, text with spaces, commas or = takes two pairs of quotes: 'tags=["a, b"]'
"""


def help_page(repository: Repository, overrides: list[str], about: str, width: int) -> str:
    """The page for a command, with what `overrides` make of its configuration.

    Args:
        repository: the command's config files.
        overrides: right ones.
        about: what the command does.
        width: columns of the terminal.
    """
    lines = [about.strip(), "", "Groups, group=choice; * is chosen now:", ""]
    chosen = repository.chosen(overrides)
    for group, choices in sorted(repository.groups.items()):
        if choices and group.split("/")[0] != "hydra":
            text = " ".join(f"{one}*" if f"{group}/{one}" in chosen else one for one in sorted(choices))
            lines += textwrap.wrap(text, width, initial_indent=f"  {group:<18}", subsequent_indent=" " * 20)
    options = OmegaConf.to_yaml(without_hydra(repository.compose(overrides)))
    lines += ["", "Options, option.within=value, as they are now:", "", textwrap.indent(options, "  ")]
    return "\n".join([*lines, "Flags:", "", FLAGS])


def print_page(text: str) -> None:
    """Print; a reader that has seen enough, as in `--help | head`, is no error."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
