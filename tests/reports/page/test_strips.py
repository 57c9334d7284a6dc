import numpy as np
import pytest

from src.reports.page.attention import coloured_words
from src.reports.page.document import macro
from tests.reports.page.reader import Reader

MALICIOUS = '<script>alert("1 & 2")</script>'


def strip(words: list[str], weights: np.ndarray) -> str:
    return macro("strip")(coloured_words(words, weights))


def words(html: str) -> list[tuple[str, str, str]]:
    reader = Reader(html)
    spans = [(span.attributes["style"] or "", span.attributes["title"] or "") for span in reader.all("span")]
    texts = [text for tag, text in reader.texts if tag == "span"]
    return [(text, *span) for text, span in zip(texts, spans, strict=True)]


def test_each_word_has_its_weight() -> None:
    assert words(strip(["not", "good", "not", "bad"], np.array([0.8, 0.1, 0.06, 0.04])))[:2] == [
        ("not", "--w:1.000", "weight 0.8000, 3.2 × uniform"),
        ("good", "--w:0.125", "weight 0.1000, 0.4 × uniform"),
    ]


def test_uniform_weights_are_light() -> None:
    assert {style for _, style, _ in words(strip(list("abcdef"), np.full(6, 1 / 6)))} == {"--w:0.333"}


def test_text_is_escaped() -> None:
    html = strip([MALICIOUS], np.array([1.0]))
    assert "<script" not in html
    assert words(html)[0][0] == MALICIOUS


@pytest.mark.parametrize(("text", "weights"), [([], []), (["one"], [1.0]), (["a", "b"], [float("nan"), 0.0])])
def test_few_words_and_nan_weights_are_rendered(text: list[str], weights: list[float]) -> None:
    html = strip(text, np.array(weights))
    assert [word for word, *_ in words(html)] == text
    assert "nan" not in html


def test_each_word_requires_a_weight() -> None:
    with pytest.raises(ValueError, match="one weight for each word"):
        strip(["a"], np.array([0.5, 0.5]))
