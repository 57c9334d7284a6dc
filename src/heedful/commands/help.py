"""The page that --help shows: the groups with their choices, the options with their values, and the flags.

Hydra's own help can show neither the comments on options nor the selected choices.
"""

import re
import textwrap
from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from heedful.config.compose import ConfigFiles, without_hydra
from heedful.config.keys import join_path

FLAGS = """\
  -m          one run for each combination of values: -m model/attention=none,bahdanau seed=1,2,3
  --cfg job   print the configuration composed from the other arguments, with all options and their values;
              -p optimizer prints a part, --resolve resolves references; --cfg hydra and --cfg all are Hydra's options
  -cn, -cp    name and folder of another primary config; --config-dir is searched for further choices
  --info, --hydra-help, --shell-completion   as in every application of Hydra
  --help      print this page for the configuration composed from the other arguments

  In a shell, text with spaces, commas or = needs two pairs of quotes: 'tags=["a, b"]'
"""


def help_page(files: ConfigFiles, overrides: list[str], cfg: DictConfig, about: str, width: int) -> str:
    """Return the help page of a command for the configuration `cfg`, which is composed from valid overrides."""
    selected = list(files.selected(overrides))
    groups: list[str] = []
    for group, choices in files.groups.items():
        several = [path.stem for path, _ in selected if str(path.parent).endswith(f"/{group}")]  # logger=[csv,wandb]
        chosen = cfg.hydra.runtime.choices.get(group, several)
        if chosen == [] or (chosen is not None and len(choices) == 1) or group.split("/")[0] == "hydra":
            continue  # not a group of this command, or without another choice
        names = re.findall(r"[\w./-]+", str(chosen))
        text = " ".join(f"{choice}*" if choice in names else choice for choice in choices if choice != "base")
        groups += textwrap.wrap(text, width, initial_indent=f"  {group:<18}", subsequent_indent=" " * 20)
    if groups:
        groups = ["Groups, set by group=choice; * marks the selected choices:", "", *groups, ""]
    comments: dict[str, str] = {}
    for path, package in selected:
        comments |= file_comments(path.read_text(encoding="utf-8"), package)
    text = OmegaConf.to_yaml(without_hydra(cfg))
    rows = zip(text.splitlines(), _options(text), strict=True)
    lines = [f"  {line} {comments.get(path, '')}".rstrip() for line, (path, _) in rows]
    title = "Options, set by path.of.option=value, with current values:"
    return "\n".join([about.strip(), "", *groups, title, "", *lines, "", "Flags:", "", FLAGS])


def file_comments(text: str, package: str) -> dict[str, str]:
    """Return the comment on each option in the text of a config file, by the option's dotted path.

    Args:
        package: dotted path of the node whose options the file sets; empty for the root.
    """
    return {join_path(package, path): comment for path, comment in _options(text) if path and comment}


def _options(text: str) -> Iterator[tuple[str, str]]:
    """Yield the dotted path of the option on each line of a YAML text, and the comment after it; both may be empty."""
    above: list[tuple[int, str]] = []  # indentation and key of each node that contains the line
    for line in text.splitlines():
        option = re.match(r"( *)([\w.-]+):(?: .*?)??(?: +(# .*))?$", line)
        if option is None:
            yield "", ""
            continue
        indent, key, comment = len(option[1]), option[2], option[3] or ""
        above = [*(node for node in above if node[0] < indent), (indent, key)]
        yield ".".join(name for _, name in above), comment
