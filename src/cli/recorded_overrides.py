"""Write the configuration in a checkpoint as overrides of this installation's config files."""

import logging
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

from omegaconf import OmegaConf

from src.cli.checkpoint_policy import policy_mistakes
from src.config.composition import Repository, without_hydra
from src.config.keys import LOCAL, is_within
from src.config.mistakes import format_mistakes
from src.config.paths import make_paths_absolute
from src.config.quoting import escape_references, require_names, write_override
from src.errors import UserError
from src.formatting import format_value

log = logging.getLogger(__name__)

UNCHOSEN = ("hparams_search", "debug")  # groups whose choices a resumed run does not repeat
REMOVED = object()


def recorded_overrides(
    config: dict[str, Any],
    checkpoint: str,
    folder: str,
    typed: Mapping[str, Any],
    trusted: Set[str],
    repository: Repository,
) -> list[str]:
    """Return overrides that compose the configuration of a checkpoint again.

    Paths below the folder of the earlier run become paths below `folder`.

    Args:
        checkpoint: path of the checkpoint, for messages.
        folder: the folder in which the run resumes.
        typed: values on the command line, by key; the limits on checkpoints do not apply to these options.
        trusted: modules whose classes the configuration may name.
        repository: the config files of this installation.

    Raises:
        UserError: if the configuration is not allowed, or an option cannot be written as an override.
    """
    paths = config.get("paths")
    earlier = str(paths.get("output_dir")) if isinstance(paths, dict) else ""
    choices = list(_choices(config, repository))

    def missing_overrides(present: list[str]) -> list[str]:
        composed = plain_config(repository, [*choices, *present], earlier)
        differences = _differences({key: composed[key] for key in composed if key in config}, config)
        changes = {option: _moved(value, earlier, folder) for option, value in differences}
        lines = [_write(option, value, checkpoint) for option, value in changes.items()]
        untyped = {option: value for option, value in changes.items() if not is_within(option, typed)}
        if mistakes := list(policy_mistakes(untyped, folder, trusted)):
            raise UserError(f"the configuration in {checkpoint} is not allowed. {format_mistakes(mistakes)}")
        return [line for line in lines if line not in present]

    overrides: list[str] = []
    # An override of seed also changes the options that refer to it, such as data.seed; these may then need overrides
    while missing := missing_overrides(overrides):
        overrides += missing
    return [*choices, *overrides, *_logger_removals(config, typed, choices, repository)]


def plain_config(repository: Repository, overrides: list[str], output_dir: str = ".") -> dict[str, Any]:
    """Compose a configuration, without the node `hydra`, and resolve it with `output_dir` as the run's folder."""
    cfg = without_hydra(repository.compose(overrides))
    cfg.paths.output_dir = escape_references(output_dir)
    plain: dict[str, Any] = make_paths_absolute(OmegaConf.to_container(cfg, resolve=True))
    return plain


def _choices(config: dict[str, Any], repository: Repository) -> Iterator[str]:
    """Yield the overrides that choose the config files of the run, if these files exist in this installation."""
    recorded = config.get("choices") or {}
    for group in repository.compose([]).hydra.runtime.choices:
        name = recorded.get(str(group).split("/")[-1])
        if name is None or str(group).startswith("hydra") or group in UNCHOSEN:
            continue
        names = re.findall(r"[\w.-]+", name)
        if set(names) <= set(repository.groups.get(str(group), [])):
            yield f"{group}=[{','.join(names)}]" if name.startswith("[") else f"{group}={name}"


def _differences(old: dict[str, Any], new: dict[str, Any], parent: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the options in which `new` differs from `old`, with their new values, except options in `LOCAL`.

    At the top level, only the nodes of `old` are compared. A `description` is ignored, because the program reads it
    from the files of a pretrained model.
    """
    for key in {**old, **new} if parent else old:
        path = f"{parent}.{key}" if parent else str(key)
        if is_within(path, LOCAL) or path.endswith(".description"):
            continue
        before, after = old.get(key), new.get(key, REMOVED)
        if key in old and isinstance(before, dict) and isinstance(after, dict):
            yield from _differences(before, after, path)
        elif key not in old or repr(before) != repr(after):
            yield path, after


def _moved(value: Any, source: str, target: str) -> Any:
    """Return a value with each path below the folder `source` moved to the same place below the folder `target`."""
    if isinstance(value, dict):
        return {key: _moved(item, source, target) for key, item in value.items()}
    if isinstance(value, str) and source and value.startswith(f"{source}/"):
        return f"{target}{value[len(source) :]}"
    return value


def _write(option: str, value: Any, checkpoint: str) -> str:
    """Return the override that sets an option or, if it was removed, the override `~option`."""
    try:
        if value is not REMOVED:
            return write_override(option, value)
        require_names(option.split("."))
        return f"~{option}"
    except ValueError as error:
        raise UserError(f"{checkpoint}: {error}; to resume, repeat the complete command line of the run") from error


def _logger_removals(
    config: dict[str, Any], typed: Mapping[str, Any], choices: list[str], repository: Repository
) -> Iterator[str]:
    """Yield overrides that remove loggers that the run did not have; warn of ignored options of the other loggers."""
    nodes: Any = OmegaConf.to_container(repository.compose(choices), resolve=False)
    present, recorded = (node.get("logger") or {} for node in (nodes, config))
    if not isinstance(recorded, dict) or "logger" in typed:
        return
    for name, node in present.items():
        if recorded.get(name) is None:
            yield f"~logger.{name}"
            continue
        for key, value in recorded[name].items() if isinstance(recorded[name], dict) else ():
            own, path = node.get(key), f"logger.{name}.{key}"
            if own != value and "${" not in str(own) and path not in typed:
                log.warning(
                    "%s=%s in the checkpoint is ignored, because a checkpoint must not determine where results are "
                    "sent: to use the value, add it to the command line",
                    path,
                    format_value(value),
                )
