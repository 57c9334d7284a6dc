"""Pickers, and panes of which a picker shows one."""

from collections.abc import Mapping

from src.reports.page.html import Html, tag

MAX_LETTERS = 60  # of all labels together, for buttons side by side; otherwise a list


def picker(name: str, legend: str, choices: Mapping[str, str]) -> Html:
    """A control for choices (value → label) with the first selected; empty if there are fewer than two choices."""
    if len(choices) < 2:
        return Html()
    if sum(map(len, choices.values())) > MAX_LETTERS:
        options = [tag("option", label, value=value) for value, label in choices.items()]
        select = tag("select", *options, name=name, autocomplete="off")
        return tag("label", tag("span", legend), select, class_="picker")
    first = next(iter(choices))
    buttons = []
    for value, label in choices.items():
        # without autocomplete="off", a reloaded page keeps the selection but shows the first pane
        button = tag("input", type="radio", name=name, value=value, checked=value == first, autocomplete="off")
        buttons.append(tag("label", button, tag("span", label)))
    return tag("fieldset", tag("legend", legend), *buttons, class_="picker")


def panes(name: str, parts: Mapping[str, Html]) -> Html:
    """A pane for each choice of the picker with the same name; the first is visible."""
    first = next(iter(parts), None)
    contents = [
        tag("div", part, data_pane=name, data_value=value, hidden=value != first) for value, part in parts.items()
    ]
    return Html("".join(contents))
