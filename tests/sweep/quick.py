"""`python -m tests.sweep.quick`: `src.train` without pictures, because drawing takes most of a small job's time."""

from pathlib import Path

from src.sweep import processes
from src.train import main


def draw_nothing(folder: Path) -> list[Path]:
    return []


if __name__ == "__main__":
    processes.IMPORTED += (f"tests.sweep.{Path(__file__).stem}",)  # imported before jobs are forked
    main()
else:
    import src.run

    src.run.draw_all = draw_nothing
