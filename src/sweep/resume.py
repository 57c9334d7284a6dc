"""Resume a sweep from its recorded command line, and a job from its last checkpoint."""

import logging
from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig

from src.config.quoting import quote
from src.errors import UserError
from src.sweep.jobs import Sweep

log = logging.getLogger(__name__)


def requests_resume(overrides: Sequence[str]) -> bool:
    """Return whether one of the overrides is `sweep.resume=<folder>`."""
    return any(override.lstrip("+").startswith("sweep.resume=") for override in overrides)


def restore_sweep_arguments(overrides: Sequence[str]) -> list[str]:
    """Return the command line that resumes the sweep in `sweep.resume=<folder>`, with its recorded arguments.

    Args:
        overrides: `sweep.resume`, and new values of Hydra's own options, such as another launcher.

    Raises:
        UserError: if the folder contains no sweep, or there are other overrides.
    """
    by_key = {override.lstrip("+").partition("=")[0]: override for override in overrides}
    folder = Path(str(OverridesParser.create().parse_override(by_key["sweep.resume"]).value())).expanduser().absolute()
    if other := [line for key, line in by_key.items() if not key.startswith(("hydra.", "hydra/", "sweep."))]:
        raise UserError(f"sweep.resume takes all overrides from the sweep: remove {' '.join(other)}")
    replaced = {key for key in by_key if key != "sweep.resume"} | {"hydra.sweep.dir"}
    dropped = "hydra.launcher." if "hydra/launcher" in by_key else "sweep."  # another launcher has other options
    arguments = [
        argument
        for argument in Sweep.read(folder).arguments
        if argument.partition("=")[0] not in replaced and not argument.startswith(("sweep.", dropped))
    ]
    flag = [] if {"-m", "--multirun"} & set(arguments) else ["-m"]
    folders = [f"{key}={quote(str(folder))}" for key in ("hydra.sweep.dir", "sweep.resume")]
    return [*arguments, *(line for key, line in by_key.items() if key != "sweep.resume"), *folders, *flag]


def resume_from_last_checkpoint(cfg: DictConfig, folder: Path) -> None:
    """Set `cfg.ckpt_path` to the last checkpoint in the job's folder, if it exists and can be read.

    Rows that were logged after this checkpoint are removed, because the job logs them again.
    """
    from src.run_folder import trim_logs

    steps = _checkpoint_steps(folder / "checkpoints" / "last.ckpt") if cfg.get("train") else 0
    if steps:
        cfg.ckpt_path = str(folder / "checkpoints" / "last.ckpt")
        log.info("Resuming at step %d", steps)
    trim_logs(folder, steps)


def _checkpoint_steps(path: Path) -> int:
    """Return the number of optimizer steps before a checkpoint was written; 0 if it is missing or damaged."""
    if not path.exists():
        return 0

    from src.training_state import read_training_state

    try:
        return int(read_training_state(path)["global_step"])
    except UserError as error:
        log.warning("%s; the job restarts from the beginning", error)
        return 0
