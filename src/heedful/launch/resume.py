"""Resume a run or a sweep from its folder: `heedful train ckpt_path=<run>`.

The folder is trusted: the run repeats the overrides that `.hydra/overrides.yaml` records, and may run any code that its
configuration names.
"""

import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from heedful.base.errors import UserError
from heedful.base.process import announce, is_further_process
from heedful.config.compose import read_options
from heedful.config.keys import MAY_CHANGE_ON_RESUME, is_conf, is_within
from heedful.config.mistakes import Mistake, format_mistakes
from heedful.config.overrides import key_of, parse_override, path_of, quote
from heedful.runs.folder import LAST, checkpoint_in, run_folder_of
from heedful.runs.sweep_record import Sweep

OF_A_SWEEP = ("hparams_search", "sweep", "hydra")  # recorded overrides that a single run does not repeat
FOLDERS = ("hydra.run.dir", "hydra.output_subdir", "paths.output_dir")  # a run resumes in its own folder


def restore_run_overrides(flags: Namespace) -> None:
    """If a training command resumes a run, replace its overrides by those of the run and the typed ones."""
    lines = {key_of(line): line for line in flags.overrides}
    try:
        checkpoint = parse_override(lines.get("ckpt_path", "ckpt_path=null"), {}).value()
    except ValueError:
        return  # reported later
    if not isinstance(checkpoint, str) or flags.multirun or flags.help:
        return
    checkpoint = str(checkpoint_in(checkpoint, LAST))
    named = f"ckpt_path={quote(checkpoint)}"
    flags.overrides = [named if line is lines["ckpt_path"] else line for line in flags.overrides]
    folder = run_folder_of(checkpoint)
    if not Path(checkpoint).is_file() or not (folder / ".hydra" / "overrides.yaml").is_file():
        raise UserError(
            f"ckpt_path={checkpoint} is not a checkpoint in the folder of a run (<run>/checkpoints/last.ckpt): a "
            "training resumes only there"
        )
    _announce_owner(folder)
    recorded = [
        line for line in read_options(folder / ".hydra" / "overrides.yaml") if not is_within(path_of(line), OF_A_SWEEP)
    ]
    may_change = [line for line in flags.overrides if is_within(path_of(line), MAY_CHANGE_ON_RESUME)]
    mistakes = [
        Mistake(line, "cannot change when a run resumes: remove it")
        for line in flags.overrides
        if line not in recorded and (line not in may_change or path_of(line) in FOLDERS)
    ]
    if mistakes and not is_further_process():  # Lightning adds options to the commands of further processes
        raise UserError(format_mistakes(mistakes))
    node = read_options(folder / ".hydra" / "hydra.yaml")["hydra"]
    searchpath = [line for line in node["overrides"]["hydra"] if line.startswith("hydra.searchpath=")]
    flags.config_name = flags.config_name or node["job"]["config_name"]
    sources = {source["provider"]: source["path"] for source in node["runtime"]["config_sources"]}
    main = Path(sources["main"])
    if not is_conf(main) and (main / f"{flags.config_name}.yaml").is_file():  # named by --config-path
        flags.config_path = str(main)
    keys = {key_of(line) for line in may_change}
    replaced = keys & {"callbacks", "logger"}  # a new choice of callbacks or loggers also replaces their options
    kept = [line for line in recorded if key_of(line) not in keys and not is_within(key_of(line), replaced)]
    fixed = [f"hydra.run.dir={quote(str(folder))}", "hydra.output_subdir=null", "hydra.mode=RUN"]
    flags.overrides = [*searchpath, *kept, *may_change, *fixed]


def restore_sweep_arguments(typed: Sequence[str]) -> list[str]:
    """Return the command line of the sweep whose folder `sweep.resume=<folder>` names, with the typed options added.

    A typed option replaces the recorded one; a typed launcher also replaces the recorded options of the launcher.
    """
    lines = {key_of(line): line for line in typed if not line.startswith("-")}
    folder = Path(lines.pop("sweep.resume").partition("=")[2].strip("'\" ")).expanduser().absolute()
    recorded = Sweep.read(folder).arguments
    _announce_owner(folder)
    may_change = ("sweep", "hydra")
    if other := [line for line in lines.values() if not is_within(path_of(line), may_change) and line not in recorded]:
        raise UserError(f"sweep.resume takes all overrides from the sweep: remove {' '.join(other)}")
    replaced = [*lines, "sweep", "hydra.sweep.dir", *(["hydra.launcher"] if "hydra/launcher" in lines else [])]
    kept = [line for line in recorded if line.startswith("-") or not is_within(key_of(line), replaced)]
    folders = [f"{key}={quote(str(folder))}" for key in ("hydra.sweep.dir", "sweep.resume")]
    return [*kept, *(line for line in typed if key_of(line) != "sweep.resume"), *folders]


def _announce_owner(folder: Path) -> None:
    if folder.stat().st_uid != os.getuid():
        announce(f"{folder} belongs to another user: resuming runs the code that its configuration names")
