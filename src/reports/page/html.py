"""HTML elements; every string that is not Html is escaped."""

from html import escape


class Html(str):
    """Markup. `tag` and `join` escape any other string."""

    __slots__ = ()


Inside = Html | str | int | None
VOID = frozenset({"input", "meta"})


def tag(name: str, /, *content: Inside, **attributes: str | float | bool | None) -> Html:
    """An element with its attributes and content.

    Args:
        name: of the element, for example "td".
        content: text or Html; None is omitted.
        attributes: `_` becomes `-`, a trailing `_` is removed (class_, data_pane, aria_label). None and False omit the
            attribute, True gives an attribute without a value.
    """
    formatted = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    return Html(f"<{name}{formatted}>" if name in VOID else f"<{name}{formatted}>{join(*content)}</{name}>")


def join(*content: Inside) -> Html:
    """Concatenate elements and escaped text."""
    return Html("".join(part if isinstance(part, Html) else escape(str(part)) for part in content if part is not None))


def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
