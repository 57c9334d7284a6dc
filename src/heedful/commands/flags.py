"""The flags and overrides of a command line."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from heedful.base.errors import UserError
from heedful.base.process import is_further_process, typed
from heedful.config.compose import ConfigFiles, config_folder
from heedful.config.keys import CONF
from heedful.config.mistakes import Mistake, format_mistakes
from heedful.config.overrides import key_of, parse_override

INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")


def parse_flags(arguments: Sequence[str]) -> Namespace:
    """Parse a command line; overrides and flags may come in any order."""
    parser = ArgumentParser(typed(Path(sys.argv[0]).stem), "%(prog)s [flags] [key=value …]", add_help=False)
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--help", "-h", action="store_true")
    actions = parser.add_mutually_exclusive_group()
    for name in ("--run -r", "--multirun -m", "--hydra-help", "--shell-completion -sc"):
        actions.add_argument(*name.split(), action="store_true")
    actions.add_argument("--cfg", "-c", choices=["job", "hydra", "all"])
    actions.add_argument("--info", "-i", nargs="?", const="all", choices=INFO)
    actions.add_argument("--experimental-rerun")
    parser.add_argument("--resolve", action="store_true")
    for name in ("--package -p", "--config-dir -cd", "--config-name -cn", "--config-path -cp"):
        parser.add_argument(*name.split())
    flags = parser.parse_intermixed_args(arguments)
    if (flags.resolve or flags.package) and not flags.cfg:
        raise UserError("--resolve and --package select what --cfg prints: add --cfg job")
    if flags.experimental_rerun:
        raise UserError("--experimental-rerun is not supported: ckpt_path=<run> resumes a run with its overrides")
    return flags


def last_of_each_key(lines: Sequence[str]) -> list[str]:
    """Return the overrides without those that a later one replaces, and say so on standard error.

    Lightning adds options to the commands of its processes, which say nothing.
    """
    last: dict[str, str] = {}
    for line in lines:
        key = line if line.startswith("~") else key_of(line)
        if replaced := last.pop(key, ""):
            line = f"+{line.lstrip('+')}" if replaced.startswith("+") else line
            if not is_further_process():
                print(f"{replaced} is ignored, because {line} follows", file=sys.stderr)
        last[key] = line
    return list(last.values())


def config_files(command: str, flags: Namespace) -> ConfigFiles:
    """Return the config files that the flags select.

    The folder of `--config-dir` is added to `hydra.searchpath`, so that the record of a run contains it. So is conf/ if
    `--config-path` names another folder.
    """
    search = [] if flags.config_dir is None else [flags.config_dir]
    for line in [line for line in flags.overrides if key_of(line) == "hydra.searchpath"]:
        try:
            folders = parse_override(line, {}).value()
        except ValueError:
            folders = None
        if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
            raise UserError(format_mistakes([Mistake(line, "must be a list of folders: hydra.searchpath=[…,…]")]))
        search += folders
        flags.overrides.remove(line)
    folder = CONF if flags.config_path is None else config_folder(flags.config_path)
    if folder != CONF and str(CONF) not in map(str, map(config_folder, search)):
        search.append(str(CONF))
    return ConfigFiles(command, folder, search, flags.config_name)
