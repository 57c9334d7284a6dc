"""The page of a comparison: its markup, and its behaviour in a browser."""

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from src.compare.page import render
from src.compare.page.texts import MAX_OPEN
from src.terms.claims import Claim
from src.terms.comparison import Comparison, compare
from src.terms.significance import ClaimVerdict
from src.terms.study import ClaimDefinition
from tests.comparison.sweeps import text, write_failed, write_whole_sweep
from tests.reports.page.browser import needs_browser, visit
from tests.reports.page.reader import Reader, check_page

ALL_SECTIONS = ["ranking", "differences", "claims", "grid", "cost", "curves", "texts", "confusion", "failures"]
INJECTION = "</script><script>document.title='broken'</script>"
LONG = text(37)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Four variants of three seeds, and a run that failed."""
    sweep = tmp_path_factory.mktemp("sweep")
    write_whole_sweep(sweep, ["rnn", "bilstm"], ["none", "bahdanau"], texts=[text(11), LONG])
    write_failed(sweep, "RuntimeError: out of memory\nin some line")
    return compare([sweep])


@pytest.fixture(scope="module")
def html(comparison: Comparison) -> str:
    return render(comparison)


def section_ids(html: str) -> list[str | None]:
    return [section.attributes["id"] for section in Reader(html).all("section")]


def test_every_section_is_present_and_the_page_is_self_contained(html: str) -> None:
    check_page(html)
    assert section_ids(html) == ALL_SECTIONS


def test_the_head_describes_the_runs(html: str, comparison: Comparison) -> None:
    head = " ".join(text for _, text in Reader(html.split("</header>")[0] + "</header></body></html>").texts)
    for fact in ("4 variants of encoder × attention", "12 runs", "211 test texts", "1 to 3", "imdb", "2026-11-21"):
        assert fact in head
    assert comparison.baseline.variant.name in head and "1 folder" in head


def test_numbers_are_those_of_the_comparison(html: str, comparison: Comparison) -> None:
    content = " ".join(text for _, text in Reader(html).texts)
    for row in comparison.rows:
        value, low, high = row.metrics["acc"]
        assert f"{value:.3f}" in content and f"{low:.3f} to {high:.3f}" in content
        if row.difference is not None:
            assert f"{row.difference.value:+.3f}".replace("-", "\N{MINUS SIGN}") in content
    for claim in comparison.claims:
        assert claim.definition.claim in content and claim.verdict in content
    assert "RuntimeError: out of memory" in content


def test_every_verdict_on_a_claim_has_a_style(comparison: Comparison) -> None:
    definition = ClaimDefinition.model_construct(claim="A claim", source="a source")
    claims = tuple(Claim(definition, verdict, reason="a reason") for verdict in get_args(ClaimVerdict))
    html = render(replace(comparison, claims=claims))
    check_page(html)
    for verdict in get_args(ClaimVerdict):
        kind = html.split(f">{verdict}</span>")[0].rsplit('class="verdict ', 1)[1].rstrip('"')
        assert kind == "inconclusive" or f".verdict.{kind}::before" in html, verdict


def test_variants_are_ranked_by_each_score_and_by_calibration_error_ascending(
    html: str, comparison: Comparison
) -> None:
    panes = html.split('<section id="ranking"')[1].split("data-pane=")[1:5]
    for metric, pane in zip(("acc", "f1_macro", "auroc", "ece"), panes, strict=True):
        best = min if metric == "ece" else max
        first = best(comparison.rows, key=lambda row: row.metrics[metric].value)
        assert pane.startswith(f'"ranking" data-value="{metric}"')
        assert pane.index(first.variant.name) == min(pane.index(row.variant.name) for row in comparison.rows)


def test_every_variant_has_the_same_texts(html: str, comparison: Comparison) -> None:
    section = html.split('<section id="texts"')[1].split("</section>")[0]
    assert section.count("<details") == 2 * len(comparison.rows)
    assert section.count('<p class="strip"') == 2 * len(comparison.rows)


def test_strips_of_uniform_weights_are_closed_initially(tmp_path: Path) -> None:
    sweep = write_whole_sweep(tmp_path, ["lstm", "bilstm"], ["none", "bahdanau", "luong_dot"], [1], texts=[LONG])
    for path in sweep.glob("*_attention-none_*/attention.json"):
        (example,) = json.loads(path.read_text())
        path.write_text(json.dumps([example | {"weights": [round(1 / len(LONG), 6)] * len(LONG)}]))
    page = render(compare([sweep])).split('<section id="texts"')[1].split("</section>")[0]
    opened = [strip.split("</span>")[0] for strip in page.split("<details open>")[1:]]
    assert len(opened) == MAX_OPEN and not any("none" in name for name in opened)


def test_the_number_of_texts_is_limited(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("src.compare.page.texts.MAX_WORDS", 4 * 11)
    assert render(comparison).count('<p class="strip"') == len(comparison.rows)


def test_a_single_run_has_the_sections_of_one_run(tmp_path: Path) -> None:
    html = render(compare([write_whole_sweep(tmp_path, ["lstm"], ["none"], [1])]))
    check_page(html)
    assert section_ids(html) == ["ranking", "curves", "texts", "confusion"]
    assert "the variation between seeds is unknown" in html


def test_a_sparse_grid_is_omitted(comparison: Comparison) -> None:
    best, second, *_ = comparison.rows
    two_variants = replace(comparison, rows=(best, second))
    differences = [
        name for name in ("encoder", "attention") if best.variant.differs[name] != second.variant.differs[name]
    ]
    assert ("grid" in section_ids(render(two_variants))) == (len(differences) == 2)


def test_text_is_escaped_everywhere(tmp_path: Path) -> None:
    write_whole_sweep(tmp_path, ["lstm"], ["none", "bahdanau"], [1], texts=[[INJECTION, "a\ud800"]])
    write_failed(tmp_path, INJECTION)
    for path in tmp_path.glob("*/result.json"):
        result = json.loads(path.read_text())
        path.write_text(json.dumps(result | {"device": INJECTION, "git_commit": INJECTION, "precision": INJECTION}))
    for path in tmp_path.glob("*/config.yaml"):
        config = path.read_text().replace("lr: 0.001", f"lr: {json.dumps(INJECTION + path.parent.name[:1])}")
        path.write_text(config)
    comparison = compare([tmp_path])
    assert any(INJECTION in variant.name for variant in comparison.variants)
    html = render(comparison)
    html.encode()
    assert len(Reader(html).all("script")) == 1
    assert INJECTION not in html


INTERACTION = """
const visible = (name) => [...document.querySelectorAll(`[data-pane=${name}]`)]
  .filter((pane) => pane.checkVisibility()).map((pane) => pane.dataset.value);
const press = (element) => {  // click on the topmost element at its centre, as a mouse does
  element.scrollIntoView({block: "center"});
  const {left, top, width, height} = element.getBoundingClientRect();
  document.elementFromPoint(left + width / 2, top + height / 2).click();
};
const result = {start: ["ranking", "grid", "cost", "curves", "text"].map(visible)};
for (const [name, value] of Object.entries({ranking: "ece", grid: "auroc", cost: "memory", curves: "loss"})) {
  press(document.querySelector(`input[name="${name}"][value="${value}"]`));
}
press(document.querySelector("[data-step='1']"));
result.end = ["ranking", "grid", "cost", "curves", "text"].map(visible);
const bars = [...document.querySelectorAll("canvas.bars")].filter((canvas) => canvas.checkVisibility());
const isDrawn = (canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, 1).data.some((byte) => byte > 0);
result.bars = bars.map((canvas) => [canvas.width, isDrawn(canvas)]);
const word = [...document.querySelectorAll(".strip span")].find((word) => word.checkVisibility());
word.dispatchEvent(new PointerEvent("pointerover", {bubbles: true}));
result.readout = document.querySelector("#texts .readout").textContent === `${word.textContent}: ${word.title}`;
press(document.querySelector("[data-step='1']"));
result.wrapped = visible("text");
result.overflow = document.documentElement.scrollWidth - innerWidth;
result.width = innerWidth;
result.paper = getComputedStyle(document.body).backgroundColor;
return result;
"""


@pytest.fixture(scope="module")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a sweep with twenty variants, five seeds and long texts."""
    texts = [text(length, length) for length in (61, 230, 187, 412, 300, 150)]
    sweep = tmp_path_factory.mktemp("large_page")
    return render(compare([write_whole_sweep(sweep, seeds=(1, 2, 3, 4, 5), texts=texts)]))


def test_the_page_of_a_hundred_runs_is_below_10_mb(large_page: str) -> None:
    check_page(large_page)
    assert len(large_page.encode()) < 10e6


@needs_browser
def test_a_browser_renders_the_page_of_a_hundred_runs(large_page: str, tmp_path: Path) -> None:
    state = visit(large_page, tmp_path, "return [document.querySelectorAll('#ranking tbody tr').length, innerWidth]")
    assert state == [5 * 20, 1280]


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["desktop", "phone, dark mode"])
def test_pickers_switch_panes(html: str, tmp_path: Path, width: int, dark: bool) -> None:
    state = visit(html, tmp_path, INTERACTION, width=width, dark=dark)
    assert state["start"] == [["acc"], ["acc"], ["seconds"], ["acc"], ["test_0"]]
    assert state["end"] == [["ece"], ["auroc"], ["memory"], ["loss"], ["test_1"]]
    assert state["wrapped"] == ["test_0"]
    assert state["bars"] == [[37, True]] * 4
    assert state["readout"]
    assert state["width"] == width and state["overflow"] <= 0
    assert state["paper"] == ("rgb(19, 22, 27)" if dark else "rgb(255, 255, 255)")


def test_a_damaged_file_of_one_run_is_omitted_and_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sweep = write_whole_sweep(tmp_path, ["rnn", "bilstm"], ["none"], [1], texts=[LONG, text(11)])
    first, second = sorted(path.parent for path in sweep.glob("*/result.json"))
    (first / "attention.json").write_text("[7]")
    (second / "csv" / "metrics.csv").write_text("epoch,train/loss\nx,y\n")
    page = render(compare([sweep]))
    check_page(page)
    assert "curves" in section_ids(page) and "ranking" in section_ids(page)
    for path in (first / "attention.json", second / "csv" / "metrics.csv"):
        assert f"{path} cannot be read" in caplog.text
