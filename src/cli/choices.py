"""Whether an override chooses a file that exists in its group."""

from collections.abc import Collection, Mapping

from src.cli.parsing import Given
from src.config.mistakes import Mistake, listed, nearest, no_such_choice, shown
from src.config.required import is_required
from src.sweep.launchers import install_hint

Groups = Mapping[str, list[str]]  # group → its choices


def is_choice(given: Given, groups: Groups) -> bool:
    return given.key in groups and not any(isinstance(value, dict) for value in given.values)


def check_choice(given: Given, groups: Groups, required: Collection[str]) -> tuple[list[Mistake], list[str]]:
    """The mistakes in the values of an override of a group, and the overrides that were probably meant.

    Args:
        given: the override.
        groups: with their choices.
        required: groups of which one choice must stay.
    """
    choices = groups[given.key]
    if given.mark == "~" and given.key in required:
        return [Mistake(given.line, is_required(given.key, choices))], []
    if given.mark == "~" and choices:
        return [], given.lines
    if not choices:
        within = [group for group in groups if group.startswith(f"{given.key}/")]
        return [Mistake(given.line, f"has no choices of its own; there are {listed(sorted(within))}")], []
    mistakes, meant = [], []
    if not given.values:
        mistakes.append(Mistake(given.line, f"fits none of the choices ({listed(sorted(choices))})"))
    for value, line in zip(given.values, given.lines, strict=True):
        names = value if isinstance(value, list) else [value]
        wrong = [name for name in names if not _exists(given.key, name, groups)]
        mistakes += [Mistake(given.with_value(shown(name)), _advice(name, given, choices, required)) for name in wrong]
        right = [near for name in names for near in (nearest(str(name), choices) if name in wrong else [name])]
        if not wrong:
            meant.append(line)
        elif right:
            meant.append(given.with_value(f"[{','.join(right)}]" if isinstance(value, list) else right[0]))
    return mistakes, meant


def _exists(group: str, name: object, groups: Groups) -> bool:
    """A choice may stand in a folder of its group: `experiment=mine/first`."""
    folder, _, file = f"{group}/{name}".rpartition("/")
    return isinstance(name, str) and file.removesuffix(".yaml") in groups.get(folder, [])


def _advice(name: object, given: Given, choices: list[str], required: Collection[str]) -> str:
    hydras = given.key in ("hydra/launcher", "hydra/sweeper")
    plugin = f"; {install_hint(name) or 'is its plugin installed?'}" if hydras else ""
    if name is None and "none" not in choices:
        is_needed = given.key in required
        return is_required(given.key, choices) if is_needed else f"no such choice; to leave it out write ~{given.key}"
    return no_such_choice("none" if name is None else name, choices) + plugin
