"""Peak memory of a process, minus the memory of its imports, which `python -m benchmarks.memory` measures."""

import importlib
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STATUS = Path("/proc/self/status")


def used() -> dict[str, Any]:
    """Return the peak memory of this process in MB, and the names of the imported modules, for `above_imports`.

    `resource.getrusage` is unsuitable, because its initial peak is that of the parent process.
    """
    return {"peak": megabytes("VmHWM"), "modules": list(sys.modules)}


def above_imports(used: dict[str, Any]) -> float | None:
    """Return the peak in MB, minus the memory of a process that only imports the same modules; None if not on Linux."""
    if used["peak"] is None:
        return None
    return used["peak"] - run("benchmarks.memory", used["modules"])


def run(module: str, job: Any) -> Any:
    """Run a module in its own process with a job as JSON on standard input; return the JSON in its last line of output.

    Raises:
        subprocess.CalledProcessError: if the module failed; the cause is on standard error.
    """
    line = [sys.executable, "-m", module]
    process = subprocess.run(line, cwd=ROOT, input=json.dumps(job), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(process.stdout.splitlines()[-1])


def megabytes(field: str, status: Path = STATUS) -> float | None:
    """Return a memory field of a process, such as VmRSS, in MB; None if the process has ended, or if not on Linux."""
    try:
        lines = status.read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):  # the second: the process ended during the reading
        return None
    # A zombie process has no memory fields
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:")), None)


def main() -> None:
    for name in json.load(sys.stdin):
        with suppress(Exception):  # some modules cannot be imported alone
            importlib.import_module(name)
    print(f"\n{json.dumps(megabytes('VmRSS'))}")


if __name__ == "__main__":
    main()
