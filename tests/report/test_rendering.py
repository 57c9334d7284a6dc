"""Sections for the terminal, as Markdown and HTML."""

import base64
import hashlib
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console

from heedful.report.html import render_html
from heedful.report.markdown import render_markdown
from heedful.report.section import (
    Columns,
    Command,
    Content,
    Coverage,
    Dot,
    Dots,
    Group,
    Heat,
    Limit,
    Lines,
    Maps,
    Matrix,
    Section,
    Strip,
    Table,
    Texts,
    Warning,
)
from heedful.report.terminal import render_terminal
from heedful.report.words import coloured_words

INJECTION = "</script><script>alert(1)</script>"
SPECIAL = r"a_b|50% & <i>\x{$#^~"


def sections(text: str) -> list[Section]:
    strip = Strip(text, coloured_words([text, "word"], np.array([0.9, 0.1])))
    return [
        Section(
            text, [Table([text, "number", "verdict"], [[text, "1.5", text], ["b", Heat("0.25", 0.25), "v"]])], text
        ),
        Section("Rest", [Lines([text, "second line"]), Group(text, [strip, Lines(["inner"])], False)]),
        Section("Maps", [Maps([text, "b"], {text: np.array([[0.25, 0.75], [1.0, 0.0]]), "head 2": np.eye(2)})]),
    ]


def contents(text: str) -> list[Content]:
    """One of each kind of content that other formats show as a table."""
    return [
        Columns(
            [Dots([Dot(text, 0.25, 0.125, 0.5, 0.75, rings=[0.3], strokes=[(0.4, True)], choice=(text, text))], text)]
        ),
        Matrix([text, "b"], np.array([[5, 2], [0, 3]])),
        Coverage([Limit(0.9, 4, 0, 0.0, 0.4), Limit(0.0, 10, 2, None, None)], text),
        Texts([{"t": text, "y": 0, "k": 1, "x": 1, "s": [], "o": text}], 10, [text, "b"], [("wrong", text, 1)]),
        Command(text, text),
        Warning(text, text, text),
    ]


class Reader(HTMLParser):
    """The texts of a page, and its elements; checks that elements are closed in order."""

    VOID = ("meta", "br", "input", "link")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.elements.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_is_self_contained_and_escapes_every_text() -> None:
    every = [*sections(INJECTION), Section(INJECTION, contents(INJECTION)), Section("", contents(INJECTION))]
    html = render_html(INJECTION, INJECTION, {INJECTION: INJECTION}, every, INJECTION)
    reader = Reader(html)
    assert INJECTION not in html
    assert {"table", "details", "template"} <= set(reader.elements)
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html and "default-src 'none'; style-src" in html
    assert not re.search(r'(src|href)="(?!#)', html.replace("xlink:href", "href"))


def test_the_page_contains_weights_and_depths() -> None:
    html = render_html("t", "l", {}, sections("text"))
    assert '<td class="num heat" style="--w:0.250">0.25</td>' in html
    assert '<span style="--w:0.900" title="weight 0.9000, 1.8 × uniform">text</span>' in html
    assert re.search(r'<template data-name="text" data-full="[\d.]+">2500 7500 10000 0</template>', html)
    assert 'data-words="[&#34;text&#34;, &#34;b&#34;]"' in html


def test_a_page_is_the_same_each_time_and_without_lone_surrogates() -> None:
    assert render_html("t", "l", {}, sections("a")) == render_html("t", "l", {}, sections("a"))
    render_html("\ud800", "\ud800", {}, [Section("\ud800", [Lines(["\ud800"])])]).encode()


def test_markdown_is_escaped_and_complete() -> None:
    text = render_markdown("T", ">99.9 %", sections(SPECIAL))
    assert text.startswith("# T\n\n&gt;99.9 %\n\n## a_b\\|50% & &lt;i&gt;\\\\x{$#^~\n\n")
    table = next(block for block in text.split("\n\n") if block.startswith("|"))
    assert {line.replace(r"\|", "").count("|") for line in table.split("\n")} == {4}
    assert table.split("\n")[1] == "| --- | ---: | --- |"
    assert "- second line" in text and "- inner" in text and "<i>" not in text
    assert "## Maps" not in text


def test_other_formats_show_dots_matrices_and_texts_as_tables() -> None:
    """The values are those of `contents`."""
    text = render_markdown("T", "", [Section("S", contents("a"))])
    for row in (
        "| a | 25.0 % (12.5 to 50.0 %) | 75.0 % |",
        "| a | 5 | 2 |",
        "| 40.0 % | 0.0 % |",
        "| a | a | b |",
        "| a | a a |",
    ):
        assert row in text
    pipe = io.StringIO()
    Console(file=pipe, width=100).print(render_terminal([Section("", contents("a"))]))
    assert "25.0 % (12.5 to 50.0 %)" in pipe.getvalue() and "100.0 %" in pipe.getvalue()


def test_the_ticks_of_an_axis_are_round_numbers() -> None:
    assert Dots([], "", (-0.05, 0.12)).ticks == [
        (pytest.approx((x + 0.05) / 0.17), f"{100 * x:g} %") for x in (-0.05, 0.0, 0.05, 0.1)
    ]
    assert [name for _, name in Dots([], "", (0.0, 1.0), False).ticks] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_shows_tables_and_lines_without_markup(width: int) -> None:
    pipe = io.StringIO()
    Console(file=pipe, width=width).print(render_terminal(sections("[red]a[/red]"), "[b]V[/b]"))
    text = pipe.getvalue()
    assert text.startswith("[b]V[/b]\n\n")
    assert "[red]a[/red]" in text and "second line" in text and "inner" not in text
    assert "Maps" not in text and "\x1b" not in text and max(map(len, text.splitlines())) <= width
