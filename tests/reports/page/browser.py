"""Run scripts in a page in headless Chromium, if it is installed."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs Chromium, which is not installed")
PROBE = "(async () => parent.postMessage(await (async () => { %s })(), '*'))();"
FRAME = """<!doctype html><iframe src="page.html" style="width: %dpx; height: 900px; border: 0"></iframe>
<script>addEventListener("message", ({data}) => document.body.append(JSON.stringify(data)))</script>"""


def visit(html: str, folder: Path, script: str, *, width: int = 1280, dark: bool = False) -> Any:
    """Run an asynchronous script that ends with `return` in the page and return its result; console messages fail.

    The content security policy of the page remains in force and additionally allows the script. The page is in a
    frame, because a window cannot be as narrow as a phone.
    """
    probe = PROBE % script
    digest = base64.b64encode(hashlib.sha256(probe.encode()).digest()).decode()
    assert html.count("script-src ") == 1
    modified = html.replace("script-src ", f"script-src 'sha256-{digest}' ")
    modified = modified.replace("</body>", f"<script>{probe}</script></body>")
    (folder / "page.html").write_text(modified, encoding="utf-8")
    (folder / "frame.html").write_text(FRAME % width, encoding="utf-8")
    options = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=5000"),
        *("--enable-logging=stderr", "--v=0", f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000"),
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
    ]
    line = [str(BROWSER), *options, (folder / "frame.html").as_uri()]
    process = subprocess.run(line, capture_output=True, encoding="utf-8", check=True)
    messages = [line for line in process.stderr.splitlines() if "CONSOLE" in line]
    assert messages == []
    output = re.search(r"</script>(.*)</body>", process.stdout, re.DOTALL)
    assert output and output[1].strip(), "the script did not finish"
    return json.loads(unescape(output[1]))
