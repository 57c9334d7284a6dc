"""Resume a training run from its checkpoint alone: `python -m src.train ckpt_path=<run>/checkpoints/last.ckpt`."""

import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from src.cli.checkpoint_policy import TRUSTED_TO_RESUME
from src.cli.configuration import trusted_by_user
from src.cli.parsing import ParsedOverride, parse_overrides
from src.cli.recorded_overrides import plain_config, recorded_overrides
from src.config.composition import Repository
from src.config.keys import (
    COLLECTIONS,
    KEEPS_TRAINING,
    UNRELATED_TO_RESULT,
    changed_options,
    is_within,
    key_of,
    paths_in,
    with_present_names,
)
from src.config.mistakes import Mistake, format_mistakes
from src.config.quoting import quote
from src.errors import UserError
from src.kernels.malloc import reuse_freed_memory


def restore_run_overrides(flags: Namespace, repository: Repository) -> list[str]:
    """Return the overrides of a training command; if the command resumes a run, also those that the checkpoint records.

    `ckpt_path=<run>/checkpoints/last.ckpt` becomes `model/encoder=gru ++optimizer.lr=0.5 … hydra.run.dir=<run>
    ckpt_path=…`. If the overrides already select the model and the data of the checkpoint, they are returned unchanged.

    Raises:
        UserError: if training cannot resume from the checkpoint, an override would change the model, the data or the
            training, or the configuration in the checkpoint is not allowed.
    """
    lines: list[str] = flags.overrides
    if flags.multirun or flags.help or "ckpt_path" not in map(key_of, lines):
        return lines
    overrides, mistakes = parse_overrides(lines, repository.loader)
    typed = {override.key: override.values[0] for override in overrides if override.values}
    checkpoint = typed.get("ckpt_path")
    if mistakes or not isinstance(checkpoint, str) or typed.get("train") is False:
        return lines
    from src.training_state import read_training_state  # imports torch

    reuse_freed_memory()
    config = with_present_names(read_training_state(checkpoint)["heed"]["config"])
    changing = [override for override in overrides if not is_within(override.key.replace("/", "."), KEEPS_TRAINING)]
    if changing and _selects(lines, config, repository):
        return lines
    own = run_folder(checkpoint)
    folder = typed.get("paths.output_dir") or typed.get("hydra.run.dir") or own
    if folder is None:
        raise UserError(
            f"ckpt_path={checkpoint} is not in the folder of a run (<run>/checkpoints/last.ckpt): add "
            "hydra.run.dir=<folder> to resume in another folder"
        )
    trusted = trusted_by_user(repository, overrides, TRUSTED_TO_RESUME)
    recorded = recorded_overrides(config, checkpoint, str(folder), typed, trusted, repository)
    if own is not None and "hydra.run.dir" not in typed:
        recorded += [f"hydra.run.dir={quote(str(own))}", "hydra.output_subdir=null"]
    recorded.append("hydra.mode=RUN")
    mistakes = [mistake for override in changing if (mistake := _change(recorded, override, checkpoint, repository))]
    if mistakes:
        raise UserError(format_mistakes(mistakes))
    return _merge(recorded, overrides)


def run_folder(checkpoint: str) -> Path | None:
    """Return `<run>` for the path `<run>/checkpoints/last.ckpt`; None if the file is not in the folder of a run."""
    folder = Path(os.path.abspath(checkpoint)).parent
    is_in_run = folder.name == "checkpoints" and (folder.parent / "config.yaml").is_file()
    return folder.parent if is_in_run else None


def _selects(overrides: list[str], config: dict[str, Any], repository: Repository) -> bool:
    """Return whether overrides select the same model and data as `config`, the configuration in a checkpoint."""
    try:
        typed = plain_config(repository, overrides)
    except (HydraException, OmegaConfBaseException):
        return False
    options = paths_in(typed)
    before, after = ({key: node.get(key) for key in ("data", "model")} for node in (config, typed))
    changes = changed_options(before, after, UNRELATED_TO_RESULT)
    return not any(change.partition(":")[0] in options for change in changes)  # ignores options that only `config` has


def _change(recorded: list[str], override: ParsedOverride, checkpoint: str, repository: Repository) -> Mistake | None:
    """Return a mistake if an override would change the training, otherwise None."""
    try:
        before = plain_config(repository, recorded)
        after = plain_config(repository, _merge(recorded, [override]))
        changes = changed_options(before, after, KEEPS_TRAINING)
    except (HydraException, OmegaConfBaseException):
        changes = [f"{override.key}: is not an option of this run"]
    if not changes:
        return None
    return Mistake(override.line, f"would change the training that resumes from {checkpoint} ({changes[0]}): remove it")


def _merge(recorded: list[str], typed: list[ParsedOverride]) -> list[str]:
    """Return the recorded overrides, except those that a typed override replaces, followed by the typed overrides."""
    keys = {override.key for override in typed}
    replaced = keys & set(COLLECTIONS)  # a new choice of callbacks or loggers also replaces their options
    remaining = [line for line in recorded if key_of(line) not in keys and not is_within(key_of(line), replaced)]
    return [*remaining, *(override.line for override in typed)]
