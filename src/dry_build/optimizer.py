"""The dry build of the optimizer, its parameter groups and the scheduler."""

import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from src import build
from src.config.copying import copy_config
from src.config.keys import MODEL_COMPONENTS
from src.config.mistakes import Mistake
from src.config.options import of_class
from src.config.plain import plain_value
from src.config.values import describe_type, describe_value, matches_type
from src.dry_build.invalid_options import build_valid, check_mistakes, without_options
from src.formatting import format_value

log = logging.getLogger(__name__)
EXAMPLE_SHAPE = torch.Size([2, 3])


def optimizer_mistakes(cfg: DictConfig, model: Any) -> Iterator[Mistake]:
    """Find mistakes in the optimizer, its parameter groups and the scheduler.

    The optimizer and the scheduler are built for a single parameter. If there is a model and no mistake so far, the
    optimizer is also built for the model.
    """
    optimizer, mistakes = build_valid(cfg, "optimizer", _for_one_parameter)
    yield from mistakes
    if optimizer is None:
        return
    cfg = without_options(cfg, mistakes)
    group_mistakes = list(_param_group_mistakes(cfg, optimizer))
    yield from group_mistakes
    if model is not None and not mistakes and not group_mistakes:
        yield from build_valid(cfg, "optimizer", lambda cfg: build.optimizer(cfg, model)).mistakes
    if OmegaConf.select(cfg, "scheduler._target_") is not None:
        yield from build_valid(
            cfg, "scheduler", lambda cfg: build.scheduler(cfg, _for_one_parameter(cfg), steps=1)
        ).mistakes


def _for_one_parameter(cfg: DictConfig) -> Any:
    return build.make(cfg, "optimizer", [torch.nn.Parameter(torch.zeros(1))])


def example_state(cfg: DictConfig, options: dict[str, Any]) -> dict[str, Any]:
    """Return the optimizer's state for a parameter of the shape `EXAMPLE_SHAPE` after the first step.

    Args:
        options: a parameter group; its options are used, but its parameters are not.

    Returns:
        The values of the state by name; empty if the step fails, for example because it needs a closure.
    """
    parameter = torch.nn.Parameter(torch.zeros(EXAMPLE_SHAPE))
    parameter.grad = torch.zeros(EXAMPLE_SHAPE)
    try:
        optimizer = build.make(cfg, "optimizer", [parameter])
        optimizer.param_groups[0].update({name: value for name, value in options.items() if name != "params"})
        optimizer.step()
    except Exception as error:
        log.debug("The optimizer's state cannot be checked: %s", error)
        return {}
    return dict(optimizer.state[parameter])


def _param_group_mistakes(cfg: DictConfig, optimizer: torch.optim.Optimizer) -> Iterator[Mistake]:
    """Check the optimizer options of each component, because torch accepts any option in a parameter group."""
    accepted = of_class(type(optimizer)).options  # type: ignore[arg-type]  # a class is hashable
    for name, options in (plain_value(cfg, "param_groups") or {}).items():
        path = f"param_groups.{name}"
        if options and name not in MODEL_COMPONENTS:
            yield Mistake(path, f"no such component; the components are {', '.join(MODEL_COMPONENTS)}")
            continue
        yield from check_mistakes(partial(build.require_options, options or {}, optimizer, path), path)
        single = copy_config(cfg)
        for name, value in (options or {}).items():
            option = accepted.get(name)
            if option is not None and not matches_type(value, option.hint):
                message = f"expects {describe_type(option.hint)}, {describe_value(value)}"
                yield Mistake(f"{path}.{name}={format_value(value)}", message)
            elif name in optimizer.defaults:
                OmegaConf.update(single, f"optimizer.{name}", value, force_add=True)
        for entry, message in build_valid(single, "optimizer", _for_one_parameter).mistakes:
            yield Mistake(entry.replace("optimizer", path, 1), message)
