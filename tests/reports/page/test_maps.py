from pathlib import Path

import numpy as np

from src.reports.files import Example
from src.reports.page.document import Section, render_document
from src.reports.page.html import tag
from src.reports.page.maps import token_maps
from src.reports.page.strips import strip
from tests.reports.page.browser import needs_browser, visit
from tests.reports.page.reader import Reader, check_page

WORDS = ["not", "so", "bad"]
TWO_HEADS = np.array([[[0.8, 0.1, 0.1], [0.2, 0.3, 0.5], [0, 0, 1]], [[0.6, 0.3, 0.1], [0.4, 0.1, 0.5], [0, 1, 0]]])
ONE_HEAD = np.full((1, 3, 3), 1 / 3)


def layered(**maps: np.ndarray) -> Example:
    """A text with a map for each layer, by its name."""
    kind = type("Layered", (Example,), {"maps": {name.replace("_", " "): matrix for name, matrix in maps.items()}})
    return kind("test", 1, "bad", "good", {"bad": 0.25, "good": 0.75}, WORDS, np.array([0.4, 0.2, 0.4]), None)


def test_every_layer_and_head_is_kept_and_the_mean_of_several() -> None:
    reader = Reader(token_maps(layered(attention=TWO_HEADS, encoder_1=ONE_HEAD)))
    held = [(one.attributes["data-layer"], one.attributes["data-head"]) for one in reader.all("template")]
    numbers = [[int(number) for number in text.split()] for name, text in reader.texts if name == "template"]
    assert held == [("attention", "mean"), ("attention", "1"), ("attention", "2"), ("encoder 1", "mean")]
    assert numbers[0] == [7000, 2000, 1000, 3000, 2000, 5000, 0, 5000, 5000]
    assert numbers[2] == [6000, 3000, 1000, 4000, 1000, 5000, 0, 10000, 0]
    assert numbers[3] == [3333] * 9


def test_what_is_no_number_weighs_nothing() -> None:
    assert "nan" not in token_maps(layered(attention=np.full((1, 3, 3), np.nan)))


def test_a_text_without_a_map_has_none() -> None:
    assert token_maps(Example("test", 1, None, "good", {}, WORDS, np.full(3, 1 / 3), None)) == ""


READ = """
const canvas = document.querySelector("canvas"), reading = document.querySelector(".reading");
const pick = (name, value) => document.querySelector(`input[name^="${name}"][value="${value}"]`).click();
const point = (column, row) => {
  const box = canvas.getBoundingClientRect(), cell = 30, margin = box.width - 3 * cell;
  const place = (at) => margin + (at + 0.5) * cell;
  const where = {clientX: box.left + place(column), clientY: box.top + place(row), bubbles: true};
  canvas.dispatchEvent(new PointerEvent("pointermove", where));
  return reading.textContent;
};
const said = [point(0, 1)];
pick("head", "1"); said.push(reading.textContent);
pick("head", "2"); said.push(reading.textContent);
pick("layer", "encoder 1"); said.push(reading.textContent);
said.push(point(-1, 1));
return said;
"""


@needs_browser
def test_layers_and_heads_are_picked_and_read(tmp_path: Path) -> None:
    example = layered(attention=TWO_HEADS, encoder_1=ONE_HEAD)
    article = tag("article", strip(example.words, example.weights), token_maps(example))
    html = render_document("Map", "", {}, [Section("map", "Map", "", article)])
    check_page(html)
    weights = ["0.3000, 0.9 × even", "0.2000, 0.6 × even", "0.4000, 1.2 × even", "0.3333, 1.0 × even"]
    expected = [f"so (2) → not (1): weight {weight}" for weight in weights]
    assert visit(html, tmp_path, READ) == [*expected, expected[-1]]
