"""Resume a sweep from its recorded overrides, and a job from its last checkpoint."""

import logging
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig

from src.cli.sweep_policy import recorded_flag_mistakes, recorded_override_mistakes
from src.config.composition import Repository
from src.config.hydra_adapter import parse_flags
from src.config.keys import key_of
from src.config.mistakes import format_mistakes
from src.config.quoting import quote
from src.errors import UserError
from src.sweep.jobs import FILE, Sweep

log = logging.getLogger(__name__)


def requests_resume(overrides: Sequence[str]) -> bool:
    """Return whether one of the overrides is `sweep.resume=<folder>`."""
    return any(override.lstrip("+").startswith("sweep.resume=") for override in overrides)


def restore_sweep_overrides(flags: Namespace, repository: Repository) -> list[str]:
    """Return the overrides that resume the sweep in the folder that `sweep.resume=<folder>` names.

    They are the typed overrides and the recorded overrides that the typed overrides do not replace.

    Args:
        flags: the command line. Apart from `sweep.resume`, it may contain new values of Hydra's own options, such as
            another launcher, and must repeat recorded overrides and flags that `src.cli.sweep_policy` does not trust.
        repository: the config files that the command line selects.

    Raises:
        UserError: if `sweep.resume` is empty, the folder contains no valid sweep, or the command line has other
            overrides or does not repeat a recorded override or flag that must be repeated.
    """
    by_key = {key_of(override): override for override in flags.overrides}
    value = OverridesParser.create().parse_override(by_key.pop("sweep.resume")).value()
    if value is None or not str(value).strip():
        raise UserError("sweep.resume= is empty: name the folder of a sweep, such as outputs/train/multiruns/<time>")
    folder = Path(str(value)).expanduser().absolute()
    sweep = Sweep.read(folder)
    recorded = parse_flags(sweep.arguments)
    typed = list(by_key.values())
    own = ("hydra.", "hydra/", "sweep.")
    if other := [line for key, line in by_key.items() if not key.startswith(own) and line not in recorded.overrides]:
        raise UserError(f"sweep.resume takes all overrides from the sweep: remove {' '.join(other)}")
    dropped = "hydra.launcher." if "hydra/launcher" in by_key else "sweep."  # another launcher has other options
    replaced = {*by_key, "hydra.sweep.dir"}
    remaining = [
        line
        for line in recorded.overrides
        if key_of(line) not in replaced and not key_of(line).startswith(("sweep.", dropped))
    ]
    lines = [*remaining, *(line for job in sweep.jobs for line in job.overrides)]
    mistakes = [
        *recorded_flag_mistakes(vars(recorded), vars(flags)),
        *recorded_override_mistakes(lines, typed, str(folder), repository),
    ]
    if mistakes:
        raise UserError(f"{folder / FILE} has overrides or flags that are not allowed. {format_mistakes(mistakes)}")
    folders = [f"{key}={quote(str(folder))}" for key in ("hydra.sweep.dir", "sweep.resume")]
    return [*remaining, *typed, *folders]


def resume_from_last_checkpoint(cfg: DictConfig, folder: Path) -> None:
    """Set `cfg.ckpt_path` to the last checkpoint in the job's folder, if the job trains and the file can be read.

    The rows that were logged after this checkpoint are removed, because the job logs them again; if the job does not
    resume from a checkpoint, all rows are removed.
    """
    from src.run_folder import trim_logs

    last = folder / "checkpoints" / "last.ckpt"
    steps = _checkpoint_steps(last) if cfg.get("train") else 0
    if steps:
        cfg.ckpt_path = str(last)
        log.info("Resuming at step %d", steps)
    trim_logs(folder, steps)


def _checkpoint_steps(path: Path) -> int:
    """Return the number of optimizer steps before a checkpoint; 0 if the file is missing or damaged."""
    if not path.exists():
        return 0

    from src.training_state import read_training_state

    try:
        return read_training_state(str(path)).steps
    except UserError as error:
        log.warning("%s; the job restarts from the beginning", error)
        return 0
