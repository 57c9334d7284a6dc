"""Whether what a callback monitors is measured, and in which direction it improves."""

from collections.abc import Iterator
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from src.config.metrics import LOGGED
from src.config.mistakes import Mistake, did_you_mean, listed, nearest, shown

MODES = ("min", "max")
OURS = ("src.", "pytorch_lightning.")


def wrong_monitors(cfg: DictConfig) -> Iterator[Mistake]:
    """Each `monitor` of a callback that no metric provides, and each `mode` that is no direction.

    A callback of the user's own may log metrics, which nobody knows before it runs: beside one, any name may be right.
    """
    try:
        callbacks = OmegaConf.to_container(cfg.get("callbacks") or OmegaConf.create({}), resolve=True)
    except OmegaConfBaseException:  # reported where it stands
        return
    nodes: Any = callbacks if isinstance(callbacks, dict) else {}
    limit = OmegaConf.select(cfg, "trainer.limit_val_batches", throw_on_missing=False)
    validates_nothing = isinstance(limit, (int, float)) and limit == 0
    watching = {f"callbacks.{name}": node for name, node in nodes.items() if isinstance(node, dict)}
    all_known = all(str(node.get("_target_")).startswith(OURS) for node in watching.values())
    for path, node in watching.items():
        monitor, mode = node.get("monitor"), node.get("mode")
        if all_known and isinstance(monitor, str) and monitor not in LOGGED:
            meant = did_you_mean([nearest_metric(monitor)]) if nearest_metric(monitor) else ""
            yield Mistake(f"{path}.monitor={shown(monitor)}", f"no such metric{meant} ({listed(LOGGED)})")
        elif validates_nothing and isinstance(monitor, str) and monitor.startswith("val/"):
            yield Mistake(f"{path}.monitor={shown(monitor)}", "is not measured with trainer.limit_val_batches=0")
        if "monitor" in node and isinstance(mode, str) and mode not in MODES:
            yield Mistake(f"{path}.mode={shown(mode)}", f"must be one of {listed(MODES)}")


def nearest_metric(name: str) -> str:
    """The metric that was probably meant; `val_loss` means `val/loss`."""
    return next(iter(nearest(name.replace("_", "/", 1) if "/" not in name else name, LOGGED)), "")
