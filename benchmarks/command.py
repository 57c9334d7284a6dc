"""What the command lines of all benchmarks share."""

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from rich import box
from rich.table import Table

from benchmarks.reviews import overrides
from src.errors import UserError

OUT = Path("outputs/benchmarks")


def parser(description: str | None) -> argparse.ArgumentParser:
    """Options of every benchmark; those of the data with `add_data`."""
    chosen = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen.add_argument("--quick", action="store_true", help="less of everything: to see that it works")
    chosen.add_argument("--out", type=Path, default=OUT, help=f"the folder for figures and charts ({OUT})")
    return chosen


def add_data(parser: argparse.ArgumentParser) -> None:
    """Options that choose the reviews."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--data-path", type=Path, help="a folder with IMDb's parquet files")
    which.add_argument("--hub", action="store_true", help="IMDb from the hub; without both, made-up reviews")


def add_turns(parser: argparse.ArgumentParser, of: str = "of one measurement") -> None:
    """Options that say for how long, and how often, contestants take turns; read them with `turns`."""
    parser.add_argument("--seconds", type=float, default=4.0, help=of)
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each, in turn")


def turns(parser: argparse.ArgumentParser, given: list[str], quick_repeats: int) -> argparse.Namespace:
    """The options given; with --quick half a second, and so many repeats."""
    options = parser.parse_args(given)
    if options.quick:
        options.seconds, options.repeats = 0.5, quick_repeats
    if options.seconds <= 0 or options.repeats < 1:
        parser.error("--seconds and --repeats must be above 0")
    return options


def reviews(options: argparse.Namespace, folder: Path, train: int, test: int) -> list[str]:
    """Overrides for the reviews that the command line chose; `train` and `test` is how many of them to make up."""
    return ["data=imdb", *overrides(options.data_path, options.hub, folder, train, test)]


def described(options: argparse.Namespace) -> str:
    """What those reviews are."""
    return "IMDb" if options.hub or options.data_path else "made-up reviews of IMDb's lengths"


def names(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Reads an argument `a,b,c` of known names."""

    def read(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: choose of {', '.join(known)}")
        return chosen

    return read


def machine(device: str = "cpu") -> dict[str, Any]:
    """Where the figures come from."""
    name = torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()} CPU"
    return {
        "device": name,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def table(what: str, record: dict[str, Any], columns: Sequence[str]) -> Table:
    """An empty table that says where its figures come from."""
    where = record["machine"]
    machine = f"{where['device']}, {where['threads']} threads, torch {where['torch']}"
    title = f"{what}: {machine}; {record['data']}"
    shown = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False, collapse_padding=True)
    for column in columns:
        shown.add_column(column, justify="right" if column else "left", no_wrap=True)
    return shown


def write(out: Path, name: str, record: Any) -> None:
    """The record as `<out>/<name>.json`."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(record, indent=1), encoding="utf-8")


def start(main: Callable[[Path], None]) -> None:
    """Run `main` with a folder for whatever it needs no longer than that.

    A user's mistake and Ctrl-C end it in one message.
    """
    try:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
    except UserError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print("Stopped; figures that were complete are written", file=sys.stderr)
        sys.exit(130)
