"""What several tests need: the configuration of a small run, and the run itself."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

CONF = str(Path(__file__).parents[1] / "conf")


def small_config(folder: Path, overrides: Sequence[str] = (), config_name: str = "train") -> DictConfig:
    """A quick run on the bundled CSV that writes to `folder` alone."""
    paths = [f"paths.output_dir={folder}", f"data.cache_dir={folder.parent / 'cache'}"]
    with initialize_config_dir(CONF, version_base="1.3"):
        return compose(config_name, [*paths, *overrides])


def train(folder: Path, *overrides: str) -> dict[str, Any]:
    """Run `src.train` in this process and return its result.json."""
    from src.train import main

    quiet = ["logger=csv", "~callbacks.progress", "~callbacks.model_summary"]
    cfg = small_config(folder, ["model.encoder.hidden_dim=6", "trainer.max_epochs=2", *quiet, *overrides])
    main.__wrapped__(cfg)  # type: ignore[attr-defined]
    return json.loads((folder / "result.json").read_text())
