"""Validate overrides that choose a file of a group."""

from collections.abc import Collection, Mapping

from src.cli.parsing import ParsedOverride
from src.config.mistakes import Mistake, format_names, format_value, nearest, no_such_choice
from src.config.required import required_message
from src.extras import launcher_install_hint

Groups = Mapping[str, list[str]]  # group → its choices


def is_choice(override: ParsedOverride, groups: Groups) -> bool:
    return override.key in groups and not any(isinstance(value, dict) for value in override.values)


def check_choice(
    override: ParsedOverride, groups: Groups, required: Collection[str]
) -> tuple[list[Mistake], list[str]]:
    """Check the values of a group override; return the mistakes and the valid overrides nearest to it.

    Args:
        override: the override.
        groups: all groups with their choices.
        required: groups that need a choice.
    """
    choices = groups[override.key]
    if override.prefix == "~" and override.key in required:
        return [Mistake(override.line, required_message(override.key, choices))], []
    if override.prefix == "~" and choices:
        return [], override.lines
    if not choices:
        subgroups = [group for group in groups if group.startswith(f"{override.key}/")]
        return [
            Mistake(override.line, f"is not a group with choices; its groups are {format_names(sorted(subgroups))}")
        ], []
    mistakes, corrected = [], []
    if not override.values:
        mistakes.append(Mistake(override.line, f"matches none of the choices ({format_names(sorted(choices))})"))
    for value, line in zip(override.values, override.lines, strict=True):
        names = value if isinstance(value, list) else [value]
        wrong = [name for name in names if not _exists(override.key, name, groups)]
        mistakes += [
            Mistake(override.with_value(format_value(name)), _describe_wrong_choice(name, override, choices, required))
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
    """Whether a choice exists, also in a folder of its group: `experiment=mine/first`."""
    folder, _, file = f"{group}/{name}".rpartition("/")
    return isinstance(name, str) and file.removesuffix(".yaml") in groups.get(folder, [])


def _describe_wrong_choice(
    name: object, override: ParsedOverride, choices: list[str], required: Collection[str]
) -> str:
    is_plugin_group = override.key in ("hydra/launcher", "hydra/sweeper")
    plugin = f"; {launcher_install_hint(name) or 'is its plugin installed?'}" if is_plugin_group else ""
    if name is None and "none" not in choices:
        is_needed = override.key in required
        return (
            required_message(override.key, choices)
            if is_needed
            else f"no such choice; to remove it write ~{override.key}"
        )
    return no_such_choice("none" if name is None else name, choices) + plugin
