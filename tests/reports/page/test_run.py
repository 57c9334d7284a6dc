"""The page of one run: its markup and its behaviour in a browser."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from src.errors import UserError
from src.reports.page.document import FOLDER
from src.reports.page.run import write_page
from tests.reports.page.browser import needs_browser, visit
from tests.reports.page.reader import Reader, check_page
from tests.reports.runs import example

MakeRun = Callable[..., Path]
MALICIOUS = "</script><script>document.title='broken'</script>"
METRICS = {
    f"{split}/{name}": {"value": 0.75, "low": 0.7, "high": 0.8, "n": 31}
    for split in ("test", "val")
    for name in ("acc", "nll")
}


def add_result(run: Path, **changes: Any) -> Path:
    """Write a complete result.json into the run folder."""
    result = json.loads((run / "result.json").read_text())
    result |= {
        "command": "python -m src.train",
        "seed": 3,
        "choices": {"encoder": "lstm", "attention": "qkv", "data": "imdb"},
        "metrics": METRICS,
        "parameters": {"total": 1009},
        "seconds": {"per_epoch": [2.0, 4.0]},
        "started": "2026-11-21T10:11:12.5+00:00",
        "device": "cpu",
        "precision": "32-true",
        "git_commit": "0123456789abcdef",
    }
    (run / "result.json").write_text(json.dumps(result | changes))
    return run


def read_page(run: Path) -> str:
    path = write_page(run)
    assert path == run / "page.html"
    return path.read_text(encoding="utf-8")


def test_the_page_of_a_complete_run_has_every_section_and_loads_nothing(make_run: MakeRun) -> None:
    texts = [example(11, heads=3, index=1), example(7, index=2)]
    html = read_page(add_result(make_run(examples=texts)))
    reader = check_page(html)
    assert [element.attributes["id"] for element in reader.all("section")] == [
        "numbers",
        "curves",
        "classes",
        "attention",
    ]
    assert len(reader.all("div", "map")) == 1
    content = " ".join(text for _, text in reader.texts)
    for fact in ("lstm · qkv on imdb", "1,009", "2 epochs of 3 s", "2026-11-21 10:11 UTC", "0.700 to 0.800"):
        assert fact in content


@pytest.mark.parametrize(
    ("file", "section"),
    [("csv/metrics.csv", "curves"), ("predictions/test.npz", "classes"), ("attention.json", "attention")],
)
def test_a_missing_file_omits_only_its_section(file: str, section: str, make_run: MakeRun) -> None:
    run = add_result(make_run())
    before = {element.attributes["id"] for element in Reader(read_page(run)).all("section")}
    (run / file).unlink()
    assert before - {element.attributes["id"] for element in Reader(read_page(run)).all("section")} == {section}


def test_the_data_section_has_the_numbers_of_the_record(make_run: MakeRun) -> None:
    split = {"texts": 30, "cut_texts": 30, "cut_share": 0.97, "tokens": 9, "class_counts": {MALICIOUS: 30}}
    data = {"class_names": [MALICIOUS], "max_length": 500, "splits": {"train": split}}
    html = read_page(add_result(make_run(), data=data))
    reader = check_page(html)
    assert [element.attributes["id"] for element in reader.all("section")][-1] == "data"
    content = " ".join(text for _, text in reader.texts)
    assert "30 of 30 texts are longer than 500 tokens; 97.0 % of the tokens are not read" in content
    assert MALICIOUS not in html


def test_an_empty_run_has_no_page(tmp_path: Path) -> None:
    assert write_page(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_text_is_escaped_everywhere(make_run: MakeRun) -> None:
    names = [MALICIOUS, "b"]
    text = example(3, heads=2, names=names) | {"words": [MALICIOUS, "a\ud800", "https://example.org"]}
    html = read_page(
        add_result(make_run(examples=[text], names=names), command=MALICIOUS, device=MALICIOUS, git_commit=MALICIOUS)
    )
    reader = Reader(html)
    assert len(reader.all("script")) == 1 and "document.title" not in html.split("<script>")[1]
    assert not any("href" in element.attributes for element in reader.elements if element.tag != "a")
    assert MALICIOUS in [text for _, text in reader.texts]
    assert "a?" in [text for _, text in reader.texts]  # a lone surrogate becomes "?"


def test_a_failed_write_keeps_the_previous_page(make_run: MakeRun) -> None:
    run = make_run()
    before = read_page(run)
    broken = example(3) | {"weights": [0.5]}
    (run / "attention.json").write_text(json.dumps([broken]))
    with pytest.raises(UserError, match="1 weights for 3 words"):
        write_page(run)
    assert (run / "page.html").read_text() == before
    assert not list(run.glob(".*"))


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    pairs = [digit * 2 for digit in digits] if len(digits) == 3 else re.findall("..", digits)
    channels = [int(pair, 16) / 255 for pair in pairs]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrast_of_text_and_marks(scheme: int) -> None:
    """WCAG 2.2, 1.4.3 and 1.4.11: a contrast of 4.5 for letters, also on the deepest colour, and of 3 for marks."""
    root = re.findall(r":root \{(.*?)\}", (FOLDER / "page.css").read_text(), re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]+)", root))
    hue = [int(channel) for channel in re.findall(r"--hue: (\d+) (\d+) (\d+)", root)[0]]
    depth = float(re.findall(r"--depth: ([.\d]+)", root)[0])
    paper = (
        [255] * 3
        if colours["paper"] == "#fff"
        else [int(colours["paper"][start : start + 2], 16) for start in (1, 3, 5)]
    )
    mixed = [round(depth * over + (1 - depth) * under) for over, under in zip(hue, paper, strict=True)]
    deepest = "#" + "".join(f"{channel:02x}" for channel in mixed)

    def contrast(foreground: str, background: str) -> float:
        low, high = sorted((luminance(foreground), luminance(background)))
        return (high + 0.05) / (low + 0.05)

    assert contrast(colours["ink"], deepest) > 4.5
    assert min(contrast(colours[name], colours["paper"]) for name in ("ink", "soft")) > 4.5
    assert (
        min(contrast(colours[name], colours["paper"]) for name in ("faint", *(f"s{series}" for series in range(7)))) > 3
    )


INTERACTION = """
const choose = (name, value) => {
  const button = document.querySelector(`input[name="${name}"][value="${value}"]`);
  button.click();
  return button.checked;
};
const map = document.querySelector(".map"), canvas = map.querySelector("canvas");
const pixels = () => canvas.toDataURL();
const drawn = [pixels()];
for (const head of ["1", "2", "mean"]) { choose("head-test_1", head); drawn.push(pixels()); }
const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
press("ArrowRight"); press("ArrowDown"); press("ArrowDown"); press("ArrowLeft"); press("ArrowLeft");
const split = () => [...document.querySelectorAll("[data-pane=split]")].map((pane) => pane.checkVisibility());
const before = split();
choose("split", "val");
return {
  distinct: new Set(drawn).size, same: drawn[0] === drawn[3], readout: map.querySelector("output").textContent,
  ring: !map.querySelector(".ring").hidden, before, after: split(), focusable: canvas.tabIndex,
};
"""


@needs_browser
def test_pickers_change_the_visible_panes(make_run: MakeRun, tmp_path: Path) -> None:
    text = example(5, heads=2, index=1)
    text["matrix"][0][2][0], text["matrix"][1][2][0] = 0.75, 0.25  # third row, first column: 0.5 on average
    html = read_page(add_result(make_run(examples=[text])))
    state = visit(html, tmp_path, INTERACTION)
    first, third = text["words"][0], text["words"][2]
    assert state == {
        "distinct": 3,
        "same": True,
        "readout": f"{third} (3) → {first} (1): weight 0.5000, 2.5 × uniform",
        "ring": True,
        "before": [True, False],
        "after": [False, True],
        "focusable": 0,
    }
