"""The configuration that a command line describes: composed and validated before anything starts."""

import os
from argparse import Namespace
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
from heedful.base.process import is_further_process
from heedful.commands.flags import config_files, last_of_each_key
from heedful.config.compose import ConfigFiles, read_options, without_hydra
from heedful.config.keys import CONF, is_within, paths_in
from heedful.config.mistakes import Mistake, format_mistakes, no_such
from heedful.config.overrides import key_of


def compose_command(command: str, flags: Namespace) -> tuple[ConfigFiles, DictConfig]:
    """Compose and validate the configuration that the flags and overrides of a command describe.

    It includes the node `hydra`. If a training resumes, the overrides of its run replace `flags.overrides`.
    """
    flags.overrides = last_of_each_key(flags.overrides)
    if command == "train" and "ckpt_path" in map(key_of, flags.overrides):
        from heedful.commands.resume import restore_run_overrides

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
    HydraConfig.instance().set_config(cfg)
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
        return any(path.resolve().is_relative_to(each.resolve()) for each in (CONF, files.folder, Path.cwd()))

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
