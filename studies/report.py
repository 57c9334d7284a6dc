"""Write docs/results.md and docs/faithfulness-results.md, with their tables, page and figures, from released records.

`python -m studies.report --check` computes everything again and compares it with the files. It does not compare the
figures, which depend on the version of matplotlib.
"""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.figure import Figure

from heedful.base.process import exit_with_message
from heedful.report.figures.style import save_figure
from studies.faithfulness.results import DataSetResults
from studies.figures import draw_intervals
from studies.plan import RESULTS, ROOT, Plan, load_plan, release_file
from studies.release import unpack_release
from studies.results import StudyResults

DOCS = ROOT / "docs"
DATA_SETS = ("sst2", "imdb", "eraser_movies")  # of the faithfulness study
NORMALIZERS = ("normalizers_sst2", "normalizers_imdb")  # the faithfulness of components, if it was measured
LONG_DECIMAL = re.compile(r"-?\d\.\d{9,}(e-\d+)?|-?\d(\.\d+)?e-\d+")


def render(template: str, **values: Any) -> str:
    """Fill a template in `studies/`."""
    loader = FileSystemLoader(ROOT / "studies")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["rows"] = lambda rows: "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    return environment.get_template(template).render(values)


def unpack(folder: Path) -> tuple[StudyResults, dict[str, DataSetResults]]:
    """Unpack all released records below a folder, and return the results of both studies."""
    sweeps = load_plan().sweeps
    plan = Plan(sweeps={name: sweep for name, sweep in sweeps.items() if (RESULTS / name).exists()})  # that ran
    for name, sweep in plan.sweeps.items():
        for seed in sweep.seeds:
            file = release_file(name, seed)
            unpack_release(file, folder / name / file.stem)
    data_sets = {name: DataSetResults(folder / "faithfulness" / name) for name in DATA_SETS}
    for name, results in data_sets.items():
        unpack_release(RESULTS / "faithfulness" / f"{name}.parquet", results.folder)
    for name in NORMALIZERS:
        if (file := RESULTS / "faithfulness" / f"{name}.parquet").exists():
            unpack_release(file, folder / "faithfulness" / name)
    return StudyResults(plan, folder), data_sets


def render_files(study: StudyResults, data_sets: Mapping[str, DataSetResults]) -> dict[Path, str]:
    """Return the content of the reports, the tables and the page of the comparison."""
    contents = {
        DOCS / "results.md": render("results.md.j2", study=study),
        RESULTS / "comparison.html": study.page(),
        DOCS / "faithfulness-results.md": render("faithfulness-results.md.j2", **data_sets),
    }
    for name, results in data_sets.items():
        contents |= {RESULTS / "faithfulness" / file: text for file, text in results.files(name).items()}
    return contents


def draw_figures(study: StudyResults, data_sets: Mapping[str, DataSetResults]) -> dict[Path, Figure]:
    figures = {RESULTS / "accuracy.png": draw_intervals(study.bars(), "Test accuracy", "%")}
    for name, results in data_sets.items():
        figures |= {DOCS / "pictures" / f"faithfulness_{name}.png": figure for figure in results.figures()}
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Write or check the reports."""
    parser = argparse.ArgumentParser("python -m studies.report", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the files with the records; write nothing")
    is_check = parser.parse_args(arguments).check
    with exit_with_message("standard output"), TemporaryDirectory() as folder:
        results = unpack(Path(folder))
        changed = {path: text for path, text in render_files(*results).items() if not has_content(path, text)}
        if is_check and changed:
            sys.exit("\n".join(f"{path} differs from the released records" for path in changed))
        for path, figure in ({} if is_check else draw_figures(*results)).items():
            save_figure(figure, path)
        for path, text in changed.items():
            path.write_text(text, encoding="utf-8")
        print("The reports agree with the released records" if not changed else f"Wrote {', '.join(map(str, changed))}")


def has_content(path: Path, text: str) -> bool:
    """Return whether a file has this content, apart from the last digits, which depend on versions."""
    return path.exists() and _comparable(path.read_text(encoding="utf-8")) == _comparable(text)


def _comparable(text: str) -> str:
    return LONG_DECIMAL.sub(lambda number: f"{round(float(number[0]), 9) + 0.0}", text)


if __name__ == "__main__":
    main()
