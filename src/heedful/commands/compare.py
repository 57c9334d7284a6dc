"""Compare finished runs: `heedful compare outputs/train/multiruns/…`."""

import argparse
import shlex
import sys
from collections.abc import Sequence

from heedful.base.errors import UserError
from heedful.base.process import exit_with_message, typed
from heedful.report.folder import add_folders, report_folder, write_report

DESCRIPTION = """\
Groups the runs below the folders into variants, compares the variants over seeds and texts, and writes comparison.md,
.csv and .html. It reads only the files in the run folders, and outside.<name>=<file>, predictions of another program.
docs/comparing.md explains each number."""


def main(argv: Sequence[str] | None = None) -> None:
    """Compare the runs, write the files, and print the tables and the files' paths."""
    with exit_with_message("standard output"):
        args = arguments().parse_args(argv)
        given = [str(path) for path in args.folders if str(path).startswith("outside.")]
        args.folders = [path for path in args.folders if str(path) not in given]
        if not args.folders:
            raise UserError("name folders of runs or sweeps, to which the predictions are compared")
        out = report_folder(args, "compare")

        from heedful.compare.output import comparison_files
        from heedful.compare.sections import sections
        from heedful.compare.verdict import comparison_verdict
        from heedful.records.outside import parse_outside
        from heedful.report.terminal import render_terminal
        from heedful.tasks.stored import trusting
        from heedful.terms.comparison import compare

        outside = parse_outside(given)
        command = f"{typed('compare')} {shlex.join(sys.argv[1:] if argv is None else argv)}"
        with trusting(args.trusted_modules):
            comparison = compare(args.folders, args.baseline, args.metric, command, args.ignore, outside)
        parts = sections(comparison)
        write_report(out, comparison_files(comparison, parts), render_terminal(parts, comparison_verdict(comparison)))


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(typed("compare"), description=DESCRIPTION)
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help='the variant to compare the others with, such as "lstm none"; default: the variant without attention (if '
        "there are several, the one with the best validation accuracy) or, if all have attention, the variant that "
        "started first",
    )
    parser.add_argument(
        "--metric",
        metavar="SCORE",
        help="a score of the task: acc (default), balanced_acc, precision_macro, f1_macro, mcc, auroc, ece, nll or "
        "brier with one class for each text; or a metric that the configuration of the runs adds",
    )
    text = "an option that makes no other variant, such as callbacks.mine; may be repeated"
    parser.add_argument("--ignore", action="append", default=[], metavar="KEY", help=text)
    add_folders(parser, "compare")
    return parser


if __name__ == "__main__":
    main()
