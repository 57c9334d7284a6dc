"""`python -m tests.sweep.quick`: `src.train` without pictures, whose drawing takes most of a small job's time."""

from pathlib import Path

from src.sweep import processes
from src.train import main


def nothing(folder: Path) -> list[Path]:
    return []


if __name__ == "__main__":
    processes.IMPORTED += (f"tests.sweep.{Path(__file__).stem}",)  # before a job is forked off
    main()
else:
    import src.run

    src.run.draw_all = nothing
