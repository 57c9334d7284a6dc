"""Whether what a callback monitors is measured, and in which direction it improves."""

from collections.abc import Iterator
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from src.config.metrics import LOGGED
from src.config.mistakes import Mistake, did_you_mean, format_names, format_value, nearest

MODES = ("min", "max")
OURS = ("src.", "pytorch_lightning.")


def monitor_mistakes(cfg: DictConfig) -> Iterator[Mistake]:
    """Each `monitor` of a callback that no metric provides, and each `mode` that is no direction.

    A callback of the user's own may log metrics, which nobody knows before it runs: beside one, any name may be right.
    """
    try:
        callbacks = OmegaConf.to_container(cfg.get("callbacks") or OmegaConf.create({}), resolve=True)
    except OmegaConfBaseException:  # reported where it stands
        return
    nodes: Any = callbacks if isinstance(callbacks, dict) else {}
    watching = {f"callbacks.{name}": node for name, node in nodes.items() if isinstance(node, dict)}
    all_known = all(str(node.get("_target_")).startswith(OURS) for node in watching.values())
    for path, node in watching.items():
        monitor, mode = node.get("monitor"), node.get("mode")
        if all_known and isinstance(monitor, str) and monitor not in LOGGED:
            meant = did_you_mean([nearest_metric(monitor)]) if nearest_metric(monitor) else ""
            yield Mistake(f"{path}.monitor={format_value(monitor)}", f"no such metric{meant} ({format_names(LOGGED)})")
        if "monitor" in node and isinstance(mode, str) and mode not in MODES:
            yield Mistake(f"{path}.mode={format_value(mode)}", f"must be one of {format_names(MODES)}")


def nearest_metric(name: str) -> str:
    """The metric that was probably meant; `val_loss` means `val/loss`."""
    return next(iter(nearest(name.replace("_", "/", 1) if "/" not in name else name, LOGGED)), "")
