"""A command line: its flags, its overrides and the configuration that they describe, validated before all else."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from heedful.base.errors import UserError
from heedful.base.formatting import format_value
from heedful.base.lightning import import_lightning
from heedful.base.process import is_further_process, typed
from heedful.config.compose import ConfigFiles, config_folder, divide_search, read_options, without_hydra
from heedful.config.keys import CONF, is_within, paths_in
from heedful.config.mistakes import Mistake, format_mistakes, no_such
from heedful.config.overrides import key_of

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
    flags, unknown = parser.parse_known_intermixed_args(arguments)
    if unknown:
        key, _, value = unknown[0].lstrip("-").partition("=")
        parser.error(f"{unknown[0]}: no such flag; options have no dashes: write {key}={value or '…'}")
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
    folders, flags.overrides = divide_search(flags.overrides)
    search = [*([] if flags.config_dir is None else [flags.config_dir]), *folders]
    folder = CONF if flags.config_path is None else config_folder(flags.config_path)
    if folder != CONF and str(CONF) not in map(str, map(config_folder, search)):
        search.append(str(CONF))
    return ConfigFiles(command, folder, search, flags.config_name)


def compose_command(command: str, flags: Namespace) -> tuple[ConfigFiles, DictConfig]:
    """Compose and validate the configuration that the flags and overrides of a command describe.

    It includes the node `hydra`. If a training resumes, the overrides of its run replace `flags.overrides`.
    """
    flags.overrides = last_of_each_key(flags.overrides)
    if command == "train" and "ckpt_path" in map(key_of, flags.overrides):
        from heedful.launch.resume import restore_run_overrides

        restore_run_overrides(flags)
    files = config_files(command, flags)
    try:
        cfg, mistakes = files.check(flags.overrides, flags.multirun)
    except RecursionError:
        raise UserError("the configuration is nested too deeply: write it in fewer levels") from None
    sweeps = flags.multirun or cfg.hydra.mode == RunMode.MULTIRUN
    wrong = {mistake.entry for mistake in mistakes}
    others = any(line not in wrong and key_of(line) not in files.groups for line in flags.overrides)
    if mistakes and others and not sweeps:  # the values of other options may be wrong, too
        lacking = [key_of(entry) for entry in wrong]  # the value of such a key is not in `cfg`
        mistakes += [m for m in wrong_values(files, cfg, ".") if not is_within(m.path, lacking)]
    elif not mistakes and (flags.hydra_help or flags.info):
        mistakes = list(untrusted(files, cfg, flags.overrides))
    elif not (mistakes or flags.help or flags.cfg):
        mistakes = find_mistakes(files, cfg, flags.overrides, sweeps)
    if mistakes:
        raise UserError(format_mistakes(mistakes))
    return files, cfg


def find_mistakes(files: ConfigFiles, cfg: DictConfig, lines: Sequence[str], sweeps: bool) -> list[Mistake]:
    """Validate a configuration that was composed from the overrides `lines` and includes the node `hydra`.

    The jobs of a sweep are validated later.
    """
    mistakes = list(untrusted(files, cfg, lines))
    if cfg.hydra.job.chdir:
        mistakes.append(Mistake("hydra.job.chdir=true", "paths are relative to the folder of the command: remove it"))
    if sweeps:
        named = [line for line in lines if key_of(line) == "hydra.sweep.subdir" and files.command == "train"]
        mistakes += [Mistake(line, "is set by the program, from the overrides of a job: remove it") for line in named]
        return mistakes
    try:
        folder = str(cfg.hydra.run.dir)
    except OmegaConfBaseException as error:
        return [*mistakes, Mistake("hydra.run.dir", f"cannot be resolved: {str(error).splitlines()[0]}")]
    resumes = files.command == "train" and cfg.get("ckpt_path")
    if files.command in ("train", "eval") and not (mistakes or resumes or is_further_process()):
        from heedful.runs.folder import require_new

        require_new(Path(folder))
    if OmegaConf.select(cfg, "sweep.dry_run") is True:
        mistakes.append(Mistake("sweep.dry_run=true", "applies only to sweeps: add -m"))
    return mistakes + wrong_values(files, cfg, folder)


def wrong_values(files: ConfigFiles, cfg: DictConfig, folder: str) -> list[Mistake]:
    """Find the mistakes that the schema finds in the configuration of a run in `folder`."""
    from heedful.config.schema import config_mistakes

    with as_run(cfg, folder) as task:
        if files.command in ("train", "eval"):  # prediction and export need no metrics
            import_lightning()
        return config_mistakes(task, files.command, variables=files.variables)


@contextmanager
def as_run(cfg: DictConfig, folder: str, number: int = 0) -> Iterator[DictConfig]:
    """Yield the configuration without the node `hydra`, as a run, or job `number`, in `folder` receives it.

    References such as ${hydra:job.num} can be resolved in the block.
    """
    with read_write(cfg.hydra), open_dict(cfg.hydra):  # as Hydra does at the start of a run
        cfg.hydra.runtime.output_dir = os.path.abspath(folder)
        cfg.hydra.job.num, cfg.hydra.job.id = number, str(number)
    outer = HydraConfig.instance().cfg
    OmegaConf.set_readonly(cfg.hydra, True)
    HydraConfig.instance().cfg = cfg  # type: ignore[assignment]  # set_config would copy the node
    try:
        yield without_hydra(cfg)
    finally:
        HydraConfig.instance().cfg = outer


def untrusted(files: ConfigFiles, cfg: DictConfig, lines: Sequence[str]) -> Iterator[Mistake]:
    """Find trusted modules that neither the command line nor conf/extras names, and files that others may have written
    and that set options of Hydra, which could run any program.

    The user's own files are those in the current folder and in the folder of the primary config.
    """
    from heedful.config.places import TRUSTED
    from heedful.config.schema import trusted_modules

    def is_own(path: Path) -> bool:
        return any(path.resolve().is_relative_to(folder.resolve()) for folder in (CONF, files.folder, Path.cwd()))

    if not any(key_of(line) in ("extras", "extras.trusted_modules") for line in lines):
        path = files.file(f"extras/{cfg.hydra.runtime.choices.get('extras')}")
        file = read_options(path) if path and is_own(path) else {}
        if untrusted := sorted(trusted_modules(cfg) - TRUSTED - set(file.get("trusted_modules") or ())):
            entry = f"extras.trusted_modules={format_value(untrusted)}"
            yield Mistake(entry, "is allowed only on the command line or in conf/extras")
    for path, package in files.selected(lines) if len(files.folders) > 1 else ():
        sets_hydra = package.startswith("hydra") if package else "hydra" in read_options(path)
        if sets_hydra and not is_own(path):
            remedy = "if you trust it, copy it into the current folder"
            yield Mistake(str(path), f"sets options of Hydra, which could run any program: {remedy}")


def config_page(cfg: DictConfig, flags: Namespace) -> str:
    """Return the part of a configuration that --cfg, --package and --resolve select, as YAML."""
    with as_run(cfg, str(cfg.hydra.run.dir)) if flags.resolve else nullcontext():
        values: Any = OmegaConf.to_container(cfg, resolve=flags.resolve)
    if flags.cfg != "all":
        values = {key: value for key, value in values.items() if (key == "hydra") == (flags.cfg == "hydra")}
    if flags.package in (None, "_global_"):
        return OmegaConf.to_yaml(values)
    nodes = paths_in(values)
    if flags.package not in nodes:
        raise UserError(f"--package={flags.package}: {no_such('node', flags.package, nodes)}")
    node = nodes[flags.package]
    return f"# @package {flags.package}\n{OmegaConf.to_yaml(node)}" if isinstance(node, dict | list) else f"{node}\n"
