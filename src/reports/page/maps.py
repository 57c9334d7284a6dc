"""Which word attends to which: a map for every layer and head, drawn by the page as the reader picks."""

import numpy as np

from src.reports.files import Example
from src.reports.page.html import Html, tag
from src.reports.page.selector import picker

MEAN = "mean"
PER_ONE = 10_000  # maps are kept in whole ten-thousandths, as in attention.json
FULL = 0.995  # share of the cells below full colour, so that faint stripes show beside a few strong cells


def token_maps(example: Example) -> Html:
    """The maps of one text with pickers for layer and head; the words come from the strip beside it."""
    layers = example.maps
    if not layers:
        return Html()
    most = max(len(matrix) for matrix in layers.values())
    heads = {MEAN: "mean of heads"} | {str(head + 1): f"head {head + 1}" for head in range(most)}
    pickers = (
        picker(f"layer-{example.name}", "Layer", {name: name for name in layers}),
        picker(f"head-{example.name}", "Head", heads if most > 1 else {}),
    )
    held = [_held(name, head, weights) for name, matrix in layers.items() for head, weights in _heads(matrix).items()]
    size = len(example.words)
    said = f"Map of {size} × {size} words: rows attend to columns. Arrow keys move over it."
    ring = tag("span", class_="ring", hidden=True)  # about the cell that is read
    return tag(
        "div",
        tag("div", *pickers, class_="pickers"),
        tag("div", tag("canvas", tabindex="0", role="img", aria_label=said), ring, class_="scroll"),
        tag("output", "Hover, or use the arrow keys, to read a weight.", class_="reading"),
        *held,
        class_="map needs-script",
    )


def _heads(matrix: np.ndarray) -> dict[str, np.ndarray]:
    """The mean, and behind it each head where there are several."""
    single = {str(head + 1): weights for head, weights in enumerate(matrix)} if len(matrix) > 1 else {}
    return {MEAN: matrix.mean(0)} | single


def _held(layer: str, head: str, weights: np.ndarray) -> Html:
    finite = np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0)
    whole = np.rint(PER_ONE * finite).astype(int).ravel().tolist()
    strongest = max(float(np.quantile(finite, FULL)), min(1.0, 3 / len(finite)))
    return tag("template", " ".join(map(str, whole)), data_layer=layer, data_head=head, data_full=f"{strongest:.4f}")
