"""HTML that cannot be left unescaped: whatever is not made here is text."""

from html import escape


class Html(str):
    """Markup; any other string is text, and is escaped where it is put in."""

    __slots__ = ()


Inside = Html | str | int | None
VOID = frozenset({"input", "meta"})


def tag(name: str, /, *inside: Inside, **attributes: str | float | bool | None) -> Html:
    """An element with its attributes and what stands in it.

    Args:
        name: such as "td".
        inside: text, or markup from here; None is left out.
        attributes: `_` becomes `-` and a trailing one is dropped (class_, data_pane, aria_label). None and False leave
            an attribute out, True gives one without a value.
    """
    named = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    return Html(f"<{name}{named}>" if name in VOID else f"<{name}{named}>{join(*inside)}</{name}>")


def join(*inside: Inside) -> Html:
    """One after the other, nothing in between."""
    return Html("".join(part if isinstance(part, Html) else escape(str(part)) for part in inside if part is not None))


def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
