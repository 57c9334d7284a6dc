"""Write docs/results.md and docs/faithfulness-results.md, with their tables, page and figures, from released records.

`python -m studies.report --check` computes everything again and compares it with the files. It does not compare the
figures, which depend on the version of matplotlib.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.figure import Figure

from src.compare.files import render_page
from src.process import exit_with_message
from src.report.figures.comparison import draw_intervals
from src.report.figures.style import save_figure
from studies.faithfulness.results import DataSetResults
from studies.plan import RESULTS, ROOT, load_plan, release_file
from studies.release import unpack_release
from studies.results import StudyResults

REPORT = ROOT / "docs" / "results.md"
DATA_SETS = ("sst2", "imdb", "eraser_movies")  # of the faithfulness study
CHART, LONG_DECIMAL = re.compile(r"<svg.*?</svg>", re.DOTALL), re.compile(r"-?\d\.\d{9,}(e-\d+)?|-?\d(\.\d+)?e-\d+")
PAGE, FIGURE = "comparison.html", "accuracy.png"


def render(template: str, **values: Any) -> str:
    """Fill a template in `studies/`."""
    loader = FileSystemLoader(ROOT / "studies")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["rows"] = lambda rows: "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    return environment.get_template(template).render(values)


def write_report(check: bool = False, results: Path = RESULTS, report: Path = REPORT) -> list[Path]:
    """Write the reports with their tables, the page of the comparison and the figures.

    Args:
        check: whether to compare the files without writing.
        results: folder of the released records, the tables, the page and a figure.
        report: path of the report; that of the faithfulness study and its figures are written beside it.

    Returns:
        The paths of the reports, the tables and the page, without files that already agreed with the records.
    """
    with TemporaryDirectory() as folder:
        contents, figures = _main_study(Path(folder), results, report)
        of_faithfulness = _faithfulness_study(Path(folder), results / "faithfulness", report.parent)
        contents, figures = contents | of_faithfulness[0], figures | of_faithfulness[1]
    if not check:
        for path, figure in figures.items():
            save_figure(figure, path)
    changed = [path for path, text in contents.items() if not _has_content(path, text)]
    for path in [] if check else changed:
        path.write_text(contents[path], encoding="utf-8")
    return changed


def _main_study(folder: Path, results: Path, report: Path) -> tuple[dict[Path, str], dict[Path, Figure]]:
    """Return the content of the report and the page, and the figure."""
    plan = load_plan()
    for name, sweep in plan.sweeps.items():
        for file in (release_file(name, seed, results) for seed in sweep.seeds):
            if file.exists():
                unpack_release(file, folder / name / file.stem)
    study = StudyResults(plan, folder)
    contents = {report: render("results.md.j2", study=study)}
    if not study.has_main_table:
        return contents, {}
    contents[results / PAGE] = render_page(study.comparison)
    return contents, {results / FIGURE: draw_intervals(study.bars(), "Test accuracy", "%")}


def _faithfulness_study(folder: Path, results: Path, docs: Path) -> tuple[dict[Path, str], dict[Path, Figure]]:
    """Return the content of the report and the tables of the released data sets, and the figures."""
    contents: dict[Path, str] = {}
    figures: dict[Path, Figure] = {}
    released = {name: results / f"{name}.parquet" for name in DATA_SETS}
    found = {name: DataSetResults(folder / "faithfulness" / name) for name, file in released.items() if file.exists()}
    for name, data_set in found.items():
        unpack_release(released[name], data_set.folder)
        contents |= {results / file: text for file, text in data_set.files(name).items()}
        figures |= {docs / "pictures" / f"faithfulness_{name}.png": figure for figure in data_set.figures()}
    if {"sst2", "eraser_movies"} <= found.keys():  # IMDb's tables are not from records yet
        contents[docs / "faithfulness-results.md"] = render("faithfulness-results.md.j2", **found)
    return contents, figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Write or check the reports."""
    parser = argparse.ArgumentParser("python -m studies.report", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the files with the records; write nothing")
    options = parser.parse_args(arguments)
    with exit_with_message("standard output"):
        changed = write_report(options.check)
        if options.check and changed:
            sys.exit("\n".join(f"{path} differs from the released records" for path in changed))
        print("The reports agree with the released records" if not changed else f"Wrote {', '.join(map(str, changed))}")


def _has_content(path: Path, text: str) -> bool:
    """Return whether a file has this content, apart from its charts and the last digits, which depend on versions."""
    return path.exists() and _comparable(path.read_text(encoding="utf-8")) == _comparable(text)


def _comparable(text: str) -> str:
    return LONG_DECIMAL.sub(lambda number: f"{round(float(number[0]), 9) + 0.0}", CHART.sub("", text))


if __name__ == "__main__":
    main()
