"""Pages in Chromium: accessibility, as axe-core finds it, in both widths and colour schemes, without any request.

AXE is the path of axe.min.js, for example from `npm install axe-core`; without it or without Chromium, the test is
skipped.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from heedful.compare.output import comparison_files
from heedful.report.html import render_html
from heedful.report.section import Section
from heedful.terms.comparison import compare
from tests.report.test_rendering import contents, sections
from tests.run_folders import write_sweep, write_table

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = Path(os.environ.get("AXE", "node_modules/axe-core/axe.min.js"))
AUDIT = """
const button = document.querySelector("button.filter[data-true]") ?? document.querySelector(".preset:last-of-type");
button.focus();
button.click();
const isPressed = document.activeElement === button && button.ariaPressed === "true";
const requests = performance.getEntriesByType("resource").length;
axe.run().then(({violations}) => {
  parent.postMessage(`AXE ${innerWidth} ${isPressed} ${requests} ${violations.map((each) => each.id)} END`, "*");
});
"""
FRAME = """<iframe src="page.html" width="{}" height="900" style="border: 0"></iframe>
<script>onmessage = ({{data}}) => (document.title = data)</script>"""  # no window is narrower than 500 pixels


@pytest.mark.skipif(CHROMIUM is None or not AXE.exists(), reason="needs Chromium and axe-core")
@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["contents", "comparison", "without script"])
def test_a_page_has_no_violation_and_makes_no_request(kind: str, width: int, scheme: str, tmp_path: Path) -> None:
    """The frame of the audited page has the width; its content policy is removed, so that axe can run in it."""
    parts = [Section("", contents("a")[:1]), Section("S", contents("a")), *sections("a")]
    page = render_html("Title", "A sentence.", {"Fact": "a"}, parts)
    if kind == "comparison":
        write_sweep(tmp_path / "sweep", {("rnn", "none"): 0.6, ("rnn", "bahdanau"): 0.8}, n=31)
        for run in (tmp_path / "sweep").iterdir():
            write_table(run, [f"text {i}" for i in range(31)], ["mail", "chat", "mail"] * 10 + ["chat"])
        page = comparison_files(compare([tmp_path / "sweep"]))["comparison.html"]
    elif kind == "without script":
        page = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    audited = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    audited = audited.replace("</body>", f"<script>{AXE.read_text('utf-8')}</script><script>{AUDIT}</script></body>")
    (tmp_path / "page.html").write_text(audited, "utf-8")
    (tmp_path / "frame.html").write_text(FRAME.format(width), "utf-8")
    flags = ["--force-dark-mode"] if scheme == "dark" else []
    command = [
        str(CHROMIUM),
        "--headless=old",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    command += ["--window-size=1300,900", "--virtual-time-budget=20000", *flags, "--dump-dom"]
    dom = subprocess.run([*command, f"file://{tmp_path / 'frame.html'}"], capture_output=True, text=True, check=False)
    found = re.search(r"AXE (\d+) (\w+) (\d+) (.*?) END", dom.stdout)
    expected = (str(width), str(kind != "without script").lower(), "0", "")
    assert found is not None and found.groups() == expected, dom.stderr[-500:]
