"""Names of jobs and of job folders, for the OmegaConf resolvers that the files in conf/ use."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

MAX_NAME_LENGTH = 100
FRACTION = re.compile(r"(?<![\w.])[0-9]+\.[0-9]{5,}(e-?[0-9]+)?(?![\w.])", re.ASCII)  # five or more decimal places


def job_folder(number: int, overrides: Iterable[str]) -> str:
    """Return the name of a job's folder: `3`, `["model/attention=none", "seed=1"]` → `3_attention-none_seed-1`.

    A number with five or more decimal places, such as a value that a search sampled, is rounded to four significant
    digits. If several options have the same last word, the name also contains the word before it. The name consists of
    at most 100 ASCII letters, digits, dots, hyphens and underscores, so an override needs no quotes around it.

    Args:
        overrides: the overrides that vary between the jobs of the sweep.
    """
    pairs = [override.partition("=")[::2] for override in overrides]
    keys = [re.split("[/.]", key) for key, _ in pairs]
    counts = Counter(key[-1] for key in keys)
    words = [str(number)]
    for key, (_, value) in zip(keys, pairs, strict=True):
        name = ".".join(key[-2:] if counts[key[-1]] > 1 else key[-1:])
        value = FRACTION.sub(lambda digits: f"{float(digits[0]):.4g}", value)
        words.append(re.sub("[^A-Za-z0-9._]+", "-", f"{name}={value}"))
    return "_".join(words)[:MAX_NAME_LENGTH].strip("-_.")


def job_name(kind: str) -> str | None:
    """Return the name of the current Hydra job; None if there is no job.

    Args:
        kind: `command` for the name of the command, such as train; `name` for the name of the job's folder;
            `sweep` for the name of the sweep's folder, which is None in a single run.
    """
    if not HydraConfig.initialized():
        return None
    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    sweep = folder.parent.name if hydra.mode == RunMode.MULTIRUN else None
    return {"command": str(hydra.job.name), "name": folder.name, "sweep": sweep}[kind]
