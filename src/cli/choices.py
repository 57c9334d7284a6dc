"""Validate overrides that choose config files, such as `model/encoder=gru`."""

from collections.abc import Mapping, Sequence

from src.cli.parsing import ParsedOverride
from src.config.composition import Repository
from src.config.mistakes import Mistake
from src.extras import plugin_install_hint
from src.formatting import format_names, format_value
from src.misspellings import nearest, no_such_choice

Groups = Mapping[str, list[str]]  # group → its choices


def is_choice(override: ParsedOverride, groups: Groups) -> bool:
    return override.key in groups and not any(isinstance(value, dict) for value in override.values)


def required_message(group: str, choices: Sequence[str]) -> str:
    """Return the message about an override that removes a required group."""
    if "none" in choices:
        return f"cannot be removed: write {group}=none"
    return f"is required: choose one of {format_names(sorted(choices))}"


def describe_folder(group: str, groups: Groups) -> str:
    """Return the message about a group that contains only groups, such as `model`."""
    subgroups = sorted(name for name in groups if name.startswith(f"{group}/"))
    return f"is a folder of groups; its groups are {format_names(subgroups)}"


def check_choice(override: ParsedOverride, repository: Repository) -> tuple[list[Mistake], list[str]]:
    """Check an override that chooses config files.

    Returns:
        The mistakes; and one override per value, with the nearest valid choice in place of an invalid one. Values that
            resemble no valid choice are omitted.
    """
    groups = repository.groups
    choices = groups[override.key]
    if override.prefix == "~" and override.key in repository.required_groups:
        return [Mistake(override.line, required_message(override.key, choices))], []
    if override.prefix == "~" and choices:
        return [], override.lines
    if not choices:
        return [Mistake(override.line, describe_folder(override.key, groups))], []
    mistakes, corrected = [], []
    if not override.values:
        mistakes.append(Mistake(override.line, f"matches none of the choices ({format_names(sorted(choices))})"))
    for value, line in zip(override.values, override.lines, strict=True):
        names = value if isinstance(value, list) else [value]
        wrong = [name for name in names if not _exists(override.key, name, groups)]
        mistakes += [
            Mistake(override.with_value(format_value(name)), _describe_wrong_choice(name, override, repository))
            for name in wrong
        ]
        suggestions = [near for name in names for near in (nearest(str(name), choices) if name in wrong else [name])]
        if not wrong:
            corrected.append(line)
        elif suggestions:
            corrected.append(
                override.with_value(f"[{','.join(suggestions)}]" if isinstance(value, list) else suggestions[0])
            )
    return mistakes, corrected


def _exists(group: str, name: object, groups: Groups) -> bool:
    """Return whether a choice exists in a group or in a subfolder of the group, as in `experiment=mine/first`."""
    folder, _, file = f"{group}/{name}".rpartition("/")
    return isinstance(name, str) and file.removesuffix(".yaml") in groups.get(folder, [])


def _describe_wrong_choice(name: object, override: ParsedOverride, repository: Repository) -> str:
    choices = repository.groups[override.key]
    if name is None and "none" not in choices:
        if override.key in repository.required_groups:
            return required_message(override.key, choices)
        return f"no such choice; to remove the group, write ~{override.key}"
    hint = f"; {plugin_install_hint(name)}" if override.key in ("hydra/launcher", "hydra/sweeper") else ""
    return no_such_choice("none" if name is None else name, choices) + hint
