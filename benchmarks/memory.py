"""Peak memory of a process, above what its imports take: `python -m benchmarks.memory` weighs imports alone."""

import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STATUS = Path("/proc/self/status")


def used() -> dict[str, Any]:
    """What this process has used so far, for `above_imports`: its peak in MB, and the modules that it has imported.

    `resource.getrusage` would not do: a process starts with its parent's peak.
    """
    return {"peak": megabytes("VmHWM"), "modules": list(sys.modules)}


def above_imports(used: dict[str, Any]) -> float | None:
    """The peak less what a process takes that imports the same modules and does nothing, in MB; None off Linux."""
    if used["peak"] is None:
        return None
    return used["peak"] - run("benchmarks.memory", used["modules"])


def run(module: str, job: Any, arguments: Sequence[str] = ()) -> Any:
    """What a module, run in a process of its own, prints on its last line as JSON, given a job as JSON.

    Raises:
        subprocess.CalledProcessError: it failed; what it said stands on standard error.
    """
    line = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(line, cwd=ROOT, input=json.dumps(job), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def megabytes(field: str, status: Path = STATUS) -> float | None:
    """A field of a process's memory, such as VmRSS, in MB; None off Linux."""
    if not status.exists():
        return None
    (line,) = (line for line in status.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) / 1024


def main() -> None:
    for name in json.load(sys.stdin):
        with suppress(Exception):  # what cannot be imported by its name alone came with another
            importlib.import_module(name)
    print(f"\n{json.dumps(megabytes('VmRSS'))}")


if __name__ == "__main__":
    main()
