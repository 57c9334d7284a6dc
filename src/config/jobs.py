"""Names of jobs and of job folders, for the OmegaConf resolvers that the files in conf/ use."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf

MAX_NAME_LENGTH = 100
FRACTION = re.compile(r"(?<![\w.])[0-9]+\.[0-9]{5,}(e-?[0-9]+)?(?![\w.])", re.ASCII)  # five or more decimal places


def job_folder(number: int, overrides: Iterable[str]) -> str:
    """Return the name of a job's folder, which consists of the job's number and overrides.

    `3`, `["model/attention=bahdanau", "seed=1"]` → `3_attention-bahdanau_seed-1`.

    A number with five or more decimal places, such as a value that a search sampled, is rounded to four significant
    digits. If several options have the same last word, the name also contains the word before it:
    `3_encoder.dropout-0.1_head.dropout-0.3`.

    The name consists of at most 100 ASCII letters, digits, dots, hyphens and underscores. It therefore contains no
    slash, and needs no quotes in an override such as `ckpt_path=<folder>/checkpoints/best.ckpt`. The number makes the
    name unique.

    Args:
        overrides: the overrides that vary between the jobs of the sweep.
    """
    pairs = [override.partition("=")[::2] for override in overrides]
    keys = [re.split("[/.]", key) for key, _ in pairs]
    counts = Counter(key[-1] for key in keys)
    words = [str(number)]
    for key, (_, value) in zip(keys, pairs, strict=True):
        name = ".".join(key[-2:] if counts[key[-1]] > 1 else key[-1:])
        words.append(re.sub("[^A-Za-z0-9._]+", "-", f"{name}={FRACTION.sub(_rounded, value)}"))
    return "_".join(words)[:MAX_NAME_LENGTH].strip("-_.")


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.4g}"


def job_name(kind: str) -> str | None:
    """Return the name of the current Hydra job's command, folder or sweep; None if there is no job.

    With `--cfg`, which only prints the configuration, the result is also None for the folder and the sweep.

    Args:
        kind: `command` for the name of the command, such as train; `name` for the name of the job's folder;
            `sweep` for the name of the sweep's folder, which is None in a single run.

    Raises:
        ValueError: if `kind` has another value.
    """
    if kind not in ("command", "name", "sweep"):
        raise ValueError(f"${{job:{kind}}}: {kind} must be command, name or sweep")
    if not HydraConfig.initialized():
        return None
    hydra = HydraConfig.get()
    if kind == "command":
        return str(hydra.job.name)
    if OmegaConf.is_missing(hydra.runtime, "output_dir"):  # with --cfg, which only prints the configuration
        return None
    folder = Path(hydra.runtime.output_dir)
    if kind == "name":
        return folder.name
    return folder.parent.name if hydra.mode == RunMode.MULTIRUN else None
