"""Parse the markup of a page with Python's HTML parser."""

from html.parser import HTMLParser
from typing import NamedTuple


class Element(NamedTuple):
    tag: str
    attributes: dict[str, str | None]
    within: tuple[str, ...]  # enclosing tags, outermost first


class Reader(HTMLParser):
    """Every element, and the text of each kind of element."""

    VOID = ("input", "meta")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.texts: list[tuple[str, str]] = []  # tag, text
        self.open: list[str] = []
        self.feed(html)
        assert self.open == [], "elements that are not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs), tuple(self.open)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def tags(self) -> set[str]:
        return {element.tag for element in self.elements}

    def all(self, tag: str, class_: str | None = None) -> list[Element]:
        return [
            element
            for element in self.elements
            if element.tag == tag and (class_ is None or class_ in (element.attributes.get("class") or "").split())
        ]


def check_page(html: str) -> Reader:
    """Raise AssertionError if the page loads resources, runs foreign scripts or is not accessible."""
    reader = Reader(html)
    assert "://" not in html
    assert not {"link", "iframe", "img", "object", "base", "form"} & reader.tags()
    assert len(reader.all("script")) == 1
    for element in reader.elements:
        assert not {"src", "onclick", "onload", "onerror"} & set(element.attributes)
        assert (element.attributes.get("href") or "#").startswith("#")
        if element.tag == "th":
            assert "scope" in element.attributes
        if element.attributes.get("role") == "img":
            assert element.attributes["aria-label"]
        if element.tag in ("input", "select"):
            assert "label" in element.within
    names = [element.attributes["id"] for element in reader.elements if "id" in element.attributes]
    assert len(names) == len(set(names))
    targets = {element.attributes["href"] for element in reader.all("a")}
    assert targets <= {f"#{name}" for name in names}
    return reader
