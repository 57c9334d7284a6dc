"""Write docs/results.md, and the page and the figure in docs/results, from the released records.

`python -m studies.report --check` computes everything again and compares it with the report and the page. It does not
compare the figures, which depend on the version of matplotlib.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from src.compare.files import render_page
from src.process import exit_with_message
from src.report.figures.comparison import draw_intervals
from src.report.figures.style import save_figure
from studies.plan import RESULTS, ROOT, load_plan, release_file
from studies.release import unpack_release
from studies.results import StudyResults

REPORT = ROOT / "docs" / "results.md"
CHART = re.compile(r"<svg.*?</svg>", re.DOTALL)
PAGE, FIGURE = "comparison.html", "accuracy.png"


def render_report(results: StudyResults) -> str:
    """Fill the template `studies/results.md.j2`."""
    loader = FileSystemLoader(ROOT / "studies")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["rows"] = lambda rows: "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    return environment.get_template("results.md.j2").render(study=results)


def write_report(check: bool = False, results: Path = RESULTS, report: Path = REPORT) -> list[Path]:
    """Write the report, the page of the comparison and the figure.

    Args:
        check: whether to compare the files without writing.
        results: folder of the released records, the page and the figure.
        report: path of the report.

    Returns:
        The paths of the report and the page, without files that already agreed with the records.
    """
    plan = load_plan()
    with TemporaryDirectory() as folder:
        for name, sweep in plan.sweeps.items():
            for file in (release_file(name, seed, results) for seed in sweep.seeds):
                if file.exists():
                    unpack_release(file, Path(folder) / name / file.stem)
        study = StudyResults(plan, Path(folder))
        contents = {report: render_report(study)}
        if study.has_main_table:
            contents[results / PAGE] = render_page(study.comparison)
            if not check:
                save_figure(draw_intervals(study.bars(), "Test accuracy", "%"), results / FIGURE)
    changed = [path for path, text in contents.items() if not _has_content(path, text)]
    for path in [] if check else changed:
        path.write_text(contents[path], encoding="utf-8")
    return changed


def main(arguments: Sequence[str] | None = None) -> None:
    """Write or check the report."""
    parser = argparse.ArgumentParser("python -m studies.report", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the files with the records; write nothing")
    options = parser.parse_args(arguments)
    with exit_with_message("standard output"):
        changed = write_report(options.check)
        if options.check and changed:
            sys.exit("\n".join(f"{path} differs from the released records" for path in changed))
        print("The report agrees with the released records" if not changed else f"Wrote {', '.join(map(str, changed))}")


def _has_content(path: Path, text: str) -> bool:
    """Return whether a file has this content, apart from its charts, which depend on the version of matplotlib."""
    return path.exists() and CHART.sub("", path.read_text(encoding="utf-8")) == CHART.sub("", text)


if __name__ == "__main__":
    main()
