"""The name of a job's folder in a sweep, derived from its overrides."""

import re
from collections.abc import Iterable

LONGEST = 100


def job_folder(number: int, overrides: Iterable[str]) -> str:
    """`3`, `["model/attention=bahdanau", "seed=1"]` → `3_attention-bahdanau_seed-1`.

    The name contains only ASCII letters, digits, dot, minus and underscore, and at most 100 characters. It is therefore
    one folder for any values, and Hydra's command line accepts it unquoted, as in
    `ckpt_path=<folder>/checkpoints/best.ckpt`. The number makes it unique.
    """
    words = [str(number)]
    for override in overrides:
        key, _, value = override.partition("=")
        leaf = re.split("[/.]", key)[-1]
        words.append(re.sub("[^A-Za-z0-9._]+", "-", f"{leaf}={value}"))
    return "_".join(words)[:LONGEST].strip("-_.")
