"""Token × token maps for every layer and head; the script of the page draws the selected map."""

import numpy as np

from src.reports.files import Example
from src.reports.page.html import Html, tag
from src.reports.page.selector import picker

MEAN = "mean"
RESOLUTION = 10_000  # weights are stored as integer multiples of 1/10,000, as in attention.json
COLOUR_QUANTILE = 0.995  # cells above this quantile have the full colour, so that small weights remain visible


def token_maps(example: Example) -> Html:
    """The maps of one text with pickers for layer and head; the script reads the words from the strip of the text."""
    layers = example.maps
    if not layers:
        return Html()
    max_heads = max(len(matrix) for matrix in layers.values())
    heads = {MEAN: "mean of heads"} | {str(head + 1): f"head {head + 1}" for head in range(max_heads)}
    pickers = (
        picker(f"layer-{example.name}", "Layer", {name: name for name in layers}),
        picker(f"head-{example.name}", "Head", heads if max_heads > 1 else {}),
    )
    templates = [
        _template(name, head, weights) for name, matrix in layers.items() for head, weights in _heads(matrix).items()
    ]
    size = len(example.words)
    description = f"Map of {size} × {size} words: rows attend to columns. Arrow keys move the selection."
    ring = tag("span", class_="ring", hidden=True)  # marks the selected cell
    return tag(
        "div",
        tag("div", *pickers, class_="pickers"),
        tag("div", tag("canvas", tabindex="0", role="img", aria_label=description), ring, class_="scroll"),
        tag("output", "Hover or use the arrow keys to show a weight.", class_="readout"),
        *templates,
        class_="map needs-script",
    )


def _heads(matrix: np.ndarray) -> dict[str, np.ndarray]:
    """The mean over heads, then each head if there are several."""
    single = {str(head + 1): weights for head, weights in enumerate(matrix)} if len(matrix) > 1 else {}
    return {MEAN: matrix.mean(0)} | single


def _template(layer: str, head: str, weights: np.ndarray) -> Html:
    finite = np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0)
    integers = np.rint(RESOLUTION * finite).astype(int).ravel().tolist()
    limit = max(float(np.quantile(finite, COLOUR_QUANTILE)), min(1.0, 3 / len(finite)))
    return tag("template", " ".join(map(str, integers)), data_layer=layer, data_head=head, data_full=f"{limit:.4f}")
