from collections.abc import Callable
from pathlib import Path

import numpy as np

from src.records.examples import Example
from src.reports.page.attention import token_maps
from src.reports.page.run import run_page
from tests.reports.page.browser import needs_browser, visit
from tests.reports.page.fragments import render
from tests.reports.page.reader import Reader, check_page

WORDS = ["not", "so", "bad"]
TWO_HEADS = np.array([[[0.8, 0.1, 0.1], [0.2, 0.3, 0.5], [0, 0, 1]], [[0.6, 0.3, 0.1], [0.4, 0.1, 0.5], [0, 1, 0]]])
ONE_HEAD = np.full((1, 3, 3), 1 / 3)


def layered_example(**maps: np.ndarray) -> Example:
    """A text with a map for each layer, by its name."""
    kind = type("Layered", (Example,), {"maps": {name.replace("_", " "): matrix for name, matrix in maps.items()}})
    return kind("test", 1, "bad", "good", {"bad": 0.25, "good": 0.75}, WORDS, np.array([0.4, 0.2, 0.4]), None)


def render_maps(example: Example) -> str:
    return render("{{ page.token_maps('a', maps) }}", maps=token_maps(example))


def test_every_layer_has_a_template_for_each_head_and_the_mean() -> None:
    reader = Reader(render_maps(layered_example(attention=TWO_HEADS, encoder_1=ONE_HEAD)))
    names = [
        (template.attributes["data-layer"], template.attributes["data-head"]) for template in reader.all("template")
    ]
    numbers = [[int(number) for number in text.split()] for name, text in reader.texts if name == "template"]
    assert names == [("attention", "mean"), ("attention", "1"), ("attention", "2"), ("encoder 1", "mean")]
    assert numbers[0] == [7000, 2000, 1000, 3000, 2000, 5000, 0, 5000, 5000]
    assert numbers[2] == [6000, 3000, 1000, 4000, 1000, 5000, 0, 10000, 0]
    assert numbers[3] == [3333] * 9


def test_nan_weights_become_zero() -> None:
    assert "nan" not in render_maps(layered_example(attention=np.full((1, 3, 3), np.nan)))


def test_a_text_without_a_matrix_has_no_map() -> None:
    assert token_maps(Example("test", 1, None, "good", {}, WORDS, np.full(3, 1 / 3), None)) is None


READ_WEIGHTS = """
const canvas = document.querySelector("canvas"), readout = document.querySelector(".readout");
const pick = (name, value) => document.querySelector(`input[name^="${name}"][value="${value}"]`).click();
const hover = (column, row) => {
  const box = canvas.getBoundingClientRect(), cell = 30, margin = box.width - 3 * cell;
  const offset = (index) => margin + (index + 0.5) * cell;
  const position = {clientX: box.left + offset(column), clientY: box.top + offset(row), bubbles: true};
  canvas.dispatchEvent(new PointerEvent("pointermove", position));
  return readout.textContent;
};
const messages = [hover(0, 1)];
pick("head", "1"); messages.push(readout.textContent);
pick("head", "2"); messages.push(readout.textContent);
pick("layer", "encoder 1"); messages.push(readout.textContent);
messages.push(hover(-1, 1));
return messages;
"""


@needs_browser
def test_selected_layer_and_head_determine_the_weight(make_run: Callable[..., Path], tmp_path: Path) -> None:
    text = {
        **{"split": "test", "index": 1, "label": "bad", "predicted": "good", "probabilities": [0.25, 0.75]},
        **{"words": WORDS, "weights": [0.4, 0.2, 0.4]},
        **{"matrix": TWO_HEADS.tolist(), "layers": {"encoder 1": ONE_HEAD.tolist()}},
    }
    html = run_page(make_run(examples=[text], names=["bad", "good"]))
    assert html is not None
    check_page(html)
    weights = ["0.3000, 0.9 × uniform", "0.2000, 0.6 × uniform", "0.4000, 1.2 × uniform", "0.3333, 1.0 × uniform"]
    expected = [f"so (2) → not (1): weight {weight}" for weight in weights]
    assert visit(html, tmp_path, READ_WEIGHTS) == [*expected, expected[-1]]
