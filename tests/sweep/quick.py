"""`python -m tests.sweep.quick`: `src.train` without pictures, because drawing takes most of a small job's time."""

from pathlib import Path

import src.run
from src.train import main


def draw_nothing(folder: Path) -> list[Path]:
    return []


src.run.draw_all = draw_nothing
if __name__ == "__main__":
    main()
