from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from src.reports.files import Example
from src.reports.page import page, write_page

SLY = '<script>alert("1 & 2")</script>'


def made(words: list[str], weights: list[float], **changes: object) -> Example:
    values: dict[str, Any] = {"split": "test", "index": 1, "label": "bad", "predicted": "good"}
    values |= {"probabilities": {"bad": 0.25, "good": 0.75}, "matrix": None}
    values |= {"words": words, "weights": np.array(weights)}
    return Example(**(values | changes))


class Reader(HTMLParser):
    """Collects every tag and the words with their titles and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[tuple[str, str, str]] = []
        self.inside: dict[str, str | None] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.inside = dict(attrs) if tag == "span" else None

    def handle_data(self, data: str) -> None:
        if self.inside is not None:
            self.words.append((data, self.inside["style"] or "", self.inside["title"] or ""))
        self.inside = None


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


def test_words_carry_their_weights() -> None:
    reader = read(page([made(["not", "good", "not", "bad"], [0.8, 0.1, 0.06, 0.04])]))
    assert reader.words[:2] == [
        ("not", "--w:1.000", "weight 0.8000, 3.2 × even"),
        ("good", "--w:0.125", "weight 0.1000, 0.4 × even"),
    ]
    assert reader.tags.count("tr") == 1 + 4


def test_text_is_escaped_everywhere() -> None:
    html = page([made([SLY], [1.0], label=SLY, predicted=SLY, probabilities={SLY: 1.0})])
    reader = read(html)
    assert "script" not in reader.tags and "<script" not in html
    assert reader.words[0][0] == SLY


def test_the_page_needs_nothing_else_and_knows_the_dark() -> None:
    html = page([made(["see", "https://example.org"], [0.5, 0.5])])
    reader = read(html)
    assert not {"link", "script", "img", "iframe"} & set(reader.tags)
    assert not any(address in html for address in ("src=", "href=", "url(", "@import"))
    assert "prefers-color-scheme: dark" in html


@pytest.mark.parametrize(("words", "weights"), [([], []), (["one"], [1.0]), (["a", "b"], [float("nan"), 0.0])])
def test_few_words_and_no_numbers(words: list[str], weights: list[float]) -> None:
    html = page([made(words, weights)])
    assert [word for word, *_ in read(html).words] == words
    assert "nan" not in html


def test_a_lone_surrogate_is_written(tmp_path: Path) -> None:
    path = write_page([made(["a\ud800", "日本", "😀"], [0.2, 0.3, 0.5])], tmp_path / "new" / "page.html")
    assert [word for word, *_ in read(path.read_text(encoding="utf-8")).words] == ["a?", "日本", "😀"]
    assert list(path.parent.iterdir()) == [path]


def test_a_page_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one weight a word"):
        write_page([made(["a"], [0.5, 0.5])], tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []
