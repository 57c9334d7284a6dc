"""Size and loading time of a comparison page of 100 runs: `python -m benchmarks.page`."""

import argparse
import base64
import hashlib
import re
import statistics
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from src.compare.page import render
from src.terms.comparison import compare
from tests.comparison.sweeps import text, write_whole_sweep
from tests.reports.page.browser import BROWSER

WORDS = (61, 230, 187, 412, 300, 150)  # number of words of each example review on the page
CLOCK = "addEventListener('load', () => { document.title = `${performance.now()} ms`; });"


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.page", description=__doc__)
    parser.add_argument("--texts", type=int, default=25_000, help="number of test texts")
    parser.add_argument("--repeats", type=int, default=5, help="number of times that Chromium loads the page")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        sweep = write_whole_sweep(
            Path(folder) / "sweep",
            seeds=(1, 2, 3, 4, 5),
            n=args.texts,
            texts=[text(length, length) for length in WORDS],
        )
        start = time.perf_counter()
        html = render(compare([sweep]))
        seconds = time.perf_counter() - start
        print(f"100 runs of {args.texts:,} texts: {len(html.encode()) / 1e6:.2f} MB, written in {seconds:.1f} s")
        if BROWSER is None:
            raise SystemExit("Chromium is not installed; the loading time was not measured")
        times = [loading_seconds(html, Path(folder)) for _ in range(args.repeats)]
        low, median, high = min(times), statistics.median(times), max(times)
        print(f"loaded by Chromium in {median:.2f} s (median of {args.repeats}; {low:.2f} to {high:.2f})")


def loading_seconds(html: str, folder: Path) -> float:
    """Measure the seconds from the start of navigation to the load event, in a new browser profile."""
    digest = base64.b64encode(hashlib.sha256(CLOCK.encode()).digest()).decode()
    timed = html.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    page = folder / "page.html"
    page.write_text(timed.replace("</body>", f"<script>{CLOCK}</script></body>"), encoding="utf-8")
    with TemporaryDirectory() as profile:
        line = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"--user-data-dir={profile}"]
        process = subprocess.run([*line, page.as_uri()], capture_output=True, encoding="utf-8", timeout=60, check=True)
    title = re.search(r"<title>([\d.]+) ms</title>", process.stdout)
    if title is None:
        raise SystemExit("Chromium did not load the page")
    return float(title[1]) / 1000


if __name__ == "__main__":
    main()
