"""Measure how faithful rankings of tokens are to predictions: `heedful faithfulness <runs or sweeps>`."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import get_args

from heedful.base.process import exit_with_message, typed
from heedful.config.schema import Device
from heedful.report.folder import add_folders, report_folder, write_report

TEXTS = 100
DESCRIPTION = """\
Measures how faithfully attention weights, and six other rankings of tokens, account for the predictions of trained
models. It reads the checkpoints and the data of the runs below the folders, and writes faithfulness.md, .csv and
.html. Runs that were measured before are not measured again. docs/faithfulness.md explains each measure."""


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the runs, write the files, and print the tables and the paths of the files."""
    with exit_with_message("standard output"):
        args = arguments().parse_args(argv)
        out = report_folder(args, "faithfulness")

        from heedful.base.optional_packages import require_extra

        require_extra("captum", by=typed("faithfulness"), extra="faithfulness")

        from heedful.faithfulness.measurement import measure_folders
        from heedful.faithfulness.sections import faithfulness_files, sections
        from heedful.faithfulness.verdict import faithfulness_verdict
        from heedful.report.terminal import render_terminal

        command = f"{typed('faithfulness')} {shlex.join(sys.argv[1:] if argv is None else argv)}"
        report = measure_folders(args, command)
        parts = sections(report)
        write_report(
            out, faithfulness_files(report, parts), render_terminal(parts, faithfulness_verdict(report.summaries))
        )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(typed("faithfulness"), description=DESCRIPTION)
    text = f"size of the stratified sample of test texts (default: {TEXTS})"
    parser.add_argument("--texts", type=_positive, default=TEXTS, metavar="N", help=text)
    parser.add_argument("--seed", type=_natural, default=0, metavar="N", help="seed of all random numbers (default: 0)")
    text = "path of the data, which replaces data.path of the checkpoints"
    parser.add_argument("--data-path", metavar="PATH", help=text)
    text = "auto, cpu or cuda (default: auto, which is cuda if there is a GPU)"
    parser.add_argument("--device", choices=get_args(Device), default="auto", help=text)
    add_folders(parser, "faithfulness")
    return parser


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number without a sign")
    return int(text)


def _positive(text: str) -> int:
    if not (number := _natural(text)):
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


if __name__ == "__main__":
    main()
