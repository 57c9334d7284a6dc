"""The command lines of the benchmarks: common options, trainings, tables and files."""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from rich import box
from rich.table import Table

from heedful.base.errors import UserError
from heedful.report.terminal import OutputConsole

ROOT = Path(__file__).resolve().parents[1]
OUT = Path("outputs/benchmarks")


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that all benchmarks share; `add_data` adds the options of the data."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--quick", action="store_true", help="smoke test: small sizes and few repeats")
    result.add_argument("--out", type=Path, default=OUT, help=f"folder for records ({OUT})")
    return result


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the options that select the reviews."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--data-path", type=Path, help="folder with IMDb's parquet files")
    source.add_argument("--hub", action="store_true", help="download IMDb from the hub (default: made-up reviews)")


def add_names(
    parser: argparse.ArgumentParser, option: str, known: Sequence[str], default: Sequence[str] | None = None
) -> None:
    """Add an option for known names, separated by commas; by default all of them."""

    def read(text: str) -> list[str]:
        selection = text.split(",")
        if unknown := [name for name in selection if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: choose from {', '.join(known)}")
        return selection

    parser.add_argument(option, type=read, default=list(default or known), help=", ".join(known))


def sizes(text: str) -> list[int]:
    """Read an option of several numbers above 0, separated by commas."""
    sizes = [int(size) if size.isdecimal() else 0 for size in text.split(",")]
    if min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be numbers above 0")
    return sizes


def train(*arguments: str) -> None:
    """Run `python -m src.train` in a process of its own.

    Raises:
        UserError: if the training failed.
    """
    line = [sys.executable, "-m", "src.train", *arguments]
    process = subprocess.run(line, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        raise UserError(f"python -m src.train failed:\n{process.stderr.strip()}")


def new_record(options: argparse.Namespace, device: str = "cpu") -> dict[str, Any]:
    """Return a record that describes the machine and the reviews, to which a benchmark adds its measurements."""
    data = "IMDb" if options.hub or options.data_path else "made-up reviews of IMDb's lengths"
    return {"machine": machine(device), "data": data}


def machine(device: str = "cpu") -> dict[str, Any]:
    """Describe the machine on which the benchmark runs."""
    name = torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()} CPU"
    return {
        "device": name,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def table(name: str, record: dict[str, Any], columns: Sequence[str]) -> Table:
    """Return an empty table whose title names the machine and the data."""
    machine = record["machine"]
    title = f"{name}: {machine['device']}, {machine['threads']} threads, torch {machine['torch']}; {record['data']}"
    result = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False, collapse_padding=True)
    for column in columns:
        result.add_column(column, justify="right" if column else "left", no_wrap=True)
    return result


def show(table: Table) -> None:
    """Print a table on standard output, also without a terminal as wide as its text."""
    OutputConsole(width=200).print(table)


def write(out: Path, name: str, record: Any) -> None:
    """Write the record to `<out>/<name>.json`."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(record, indent=1), encoding="utf-8")


def start(main: Callable[[Path], None]) -> None:
    """Run `main` with a temporary folder; after a `UserError` or Ctrl-C, exit with one message."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
    except UserError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print("Interrupted; the completed measurements have been written", file=sys.stderr)
        sys.exit(130)
