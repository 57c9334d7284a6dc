"""Choices that the reader makes: a picker, and panes of which it shows one."""

from collections.abc import Mapping

from src.reports.page.html import Html, tag

LETTERS = 60  # of all choices together, that stand side by side; longer ones go into a list


def picker(name: str, legend: str, choices: Mapping[str, str]) -> Html:
    """Offers the choices, value → label, the first of them taken; with fewer than two there is nothing to pick."""
    if len(choices) < 2:
        return Html()
    if sum(map(len, choices.values())) > LETTERS:
        options = [tag("option", label, value=value) for value, label in choices.items()]
        listed = tag("select", *options, name=name, autocomplete="off")
        return tag("label", tag("span", legend), listed, class_="picker")
    first = next(iter(choices))
    buttons = []
    for value, label in choices.items():
        # autocomplete: or a reloaded page would keep what was picked, and show what was not
        button = tag("input", type="radio", name=name, value=value, checked=value == first, autocomplete="off")
        buttons.append(tag("label", button, tag("span", label)))
    return tag("fieldset", tag("legend", legend), *buttons, class_="picker")


def panes(name: str, parts: Mapping[str, Html]) -> Html:
    """One part for each choice of the picker of that name; the first is shown."""
    first = next(iter(parts), None)
    shown = [tag("div", part, data_pane=name, data_value=value, hidden=value != first) for value, part in parts.items()]
    return Html("".join(shown))
