"""Compare finished runs: `python -m src.compare outputs/train/multiruns/…`."""

import argparse
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from src.cli.exits import exit_with_message
from src.errors import UserError

ABOUT = """\
Groups the runs below the folders by what differs between them, over seeds, and writes comparison.md, .csv, .tex and
.html. Reads the files that runs left, and nothing else. docs/comparing.md says what each number means."""


def main(argv: Sequence[str] | None = None) -> None:
    """Compare, write the files, and print the tables and where the files are."""
    with exit_with_message("standard output"):
        args = arguments().parse_args(argv)
        out = args.out or (args.folders[0] if len(args.folders) == 1 else _fresh())

        from src.config.outputs import unwritable_reason

        if (args.out or out.is_dir()) and (why := unwritable_reason(out)):
            raise UserError(f"{out} cannot be written to ({why}): name another folder with --out")

        from src.comparison.comparison import compare
        from src.comparison.write import show, write

        comparison = compare(args.folders, args.baseline, args.metric)
        show(comparison, write(comparison, out))


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m src.compare", description=ABOUT)
    parser.add_argument(
        "folders", nargs="+", type=named_folder, metavar="FOLDER", help="a sweep, a run, or what holds some"
    )
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help='the variant to compare with, such as "lstm none"; without it, the one without attention (of several, '
        "the best on validation), and where all have attention the first that was started",
    )
    parser.add_argument(
        "--metric", default="acc", metavar="SCORE", help="acc (as without it), f1_macro, auroc, ece, nll or brier"
    )
    parser.add_argument(
        "--out",
        type=named_folder,
        metavar="FOLDER",
        help="where to write; without it, the folder compared, or outputs/compare/<time> where there are several",
    )
    return parser


def named_folder(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty: name a folder")
    return Path(text)


def _fresh() -> Path:
    return Path("outputs/compare") / datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")


if __name__ == "__main__":
    main()
