"""The run's examples as one web page that needs nothing but itself."""

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path

from src.reports.files import Example
from src.reports.words import finite, full_colour, top_words

STYLE = """
:root { color-scheme: light dark;
  --ink: #111827; --soft: #5b6472; --paper: #ffffff; --rule: #d8dce3; --hue: 37 110 190 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaee; --soft: #a2abb8; --paper: #14171c; --rule: #333a45; --hue: 70 150 240 }
}
body { margin: 2rem auto; max-width: 68rem; padding: 0 1rem;
  color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.4rem }
h2 { font-size: 1.05rem; margin: 0 }
p { margin: .4rem 0 }
.soft { color: var(--soft) }
article { display: flex; flex-wrap: wrap; gap: 1rem 2rem;
  padding: 1.2rem 0; border-top: 1px solid var(--rule) }
header { flex: 1 0 100% }
.text { flex: 1 1 30rem; line-height: 1.9; overflow-wrap: anywhere }
.text span { padding: .12em .25em; border-radius: .2em; background: rgb(var(--hue) / calc(var(--w) * .62)) }
table { border-collapse: collapse; max-width: 24rem; align-self: flex-start;
  font-size: .88rem; font-variant-numeric: tabular-nums }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem }
th, td { text-align: right; font-weight: normal; padding: .08rem .9rem .08rem 0 }
th:first-child, td:first-child { text-align: start; overflow-wrap: anywhere }
"""


def write_page(examples: Sequence[Example], path: Path) -> Path:
    """Write the page, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(page(examples), encoding="utf-8", errors="replace")  # a lone surrogate becomes "?"
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def page(examples: Sequence[Example]) -> str:
    """HTML of every example: its text coloured by weight (hovering shows it) and its ten heaviest words."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Attention examples</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        "<h1>Attention examples</h1>\n"
        '<p class="soft">The deeper its colour, the more weight a word has; hover for the number.</p>\n'
        + "\n".join(_article(example) for example in examples)
        + "\n</body>\n</html>\n"
    )


def _article(example: Example) -> str:
    shares = ", ".join(f"{escape(name)} {share:.3f}" for name, share in _likeliest(example.probabilities))
    rows = "\n".join(
        f'<tr><td dir="auto">{escape(top.word)}</td><td>{top.weight:.4f}</td><td>{top.position + 1}</td></tr>'
        for top in top_words(example.words, example.weights)
    )
    return (
        f"<article>\n<header><h2>{escape(example.title)}</h2>\n"
        f'<p class="soft">{shares}</p></header>\n'
        f'<p class="text" dir="auto">{_strip(example)}</p>\n'
        "<table><caption>most attended words</caption>\n"
        f"<tr><th>word</th><th>weight</th><th>place</th></tr>\n{rows}\n</table>\n</article>"
    )


def _strip(example: Example) -> str:
    weights = finite(example.words, example.weights)
    strongest, even = full_colour(weights), 1 / max(1, len(weights))
    return " ".join(
        f'<span style="--w:{weight / strongest:.3f}" title="weight {weight:.4f}, {weight / even:.1f} × even">'
        f"{escape(word)}</span>"
        for word, weight in zip(example.words, weights, strict=True)
    )


def _likeliest(probabilities: dict[str, float], count: int = 5) -> list[tuple[str, float]]:
    return sorted(probabilities.items(), key=lambda item: -item[1])[:count]
