"""A page as a browser shows it: Chromium without a window, where it is installed."""

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
ASK = "(async () => parent.postMessage(await (async () => { %s })(), '*'))();"
FRAME = """<!doctype html><iframe src="page.html" style="width: %dpx; height: 900px; border: 0"></iframe>
<script>addEventListener("message", ({data}) => document.body.append(JSON.stringify(data)))</script>"""


def visit(html: str, folder: Path, script: str, *, width: int = 1280, dark: bool = False) -> Any:
    """What `script`, which may wait and ends in `return`, returns in the page; a message on the console fails.

    The page is opened under its own policy, to which that one script is added, in a frame: a window of its own could
    not be as narrow as a phone.
    """
    asked = ASK % script
    digest = base64.b64encode(hashlib.sha256(asked.encode()).digest()).decode()
    assert html.count("script-src ") == 1
    probed = html.replace("script-src ", f"script-src 'sha256-{digest}' ")
    probed = probed.replace("</body>", f"<script>{asked}</script></body>")
    (folder / "page.html").write_text(probed, encoding="utf-8")
    (folder / "frame.html").write_text(FRAME % width, encoding="utf-8")
    options = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=5000"),
        *("--enable-logging=stderr", "--v=0", f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000"),
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
    ]
    line = [str(BROWSER), *options, (folder / "frame.html").as_uri()]
    done = subprocess.run(line, capture_output=True, encoding="utf-8", check=True)
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert said == []
    found = re.search(r"</script>(.*)</body>", done.stdout, re.DOTALL)
    assert found and found[1].strip(), "the script did not come to its end"
    return json.loads(unescape(found[1]))
