"""Export a checkpoint, and run the script of an export in a new interpreter without torch and Heedful."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from heedful.config.compose import without_hydra
from tests.helpers import repository

# Calls predict.py for each pair of arguments and standard input, in a console of an encoding.
CALLS = """
import io, json, runpy, sys
for name in ("torch", "heedful", "hydra", "pytorch_lightning"):
    sys.modules[name] = None  # makes its import fail
sys.path.insert(0, ".")
streams, results = (sys.stdin, sys.stdout, sys.stderr), []
for arguments, given, encoding in json.loads(sys.stdin.read()):
    output, sys.argv = io.BytesIO(), ["predict.py", *arguments]
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode("latin-1")), encoding)
    sys.stdout, sys.stderr = io.TextIOWrapper(output, encoding, write_through=True), io.StringIO()
    try:
        runpy.run_path("predict.py", run_name="__main__")
        message = sys.stderr.getvalue()
    except SystemExit as end:
        message = str(end.code)
    results.append((output.getvalue().decode(encoding), message))
    sys.stdin, sys.stdout, sys.stderr = streams
print(json.dumps(results))
"""


class Call(NamedTuple):
    """A call of predict.py."""

    arguments: tuple[str, ...] = ()
    given: bytes = b""  # on standard input
    encoding: str = "utf-8"  # of the console


class Answer(NamedTuple):
    """What predict.py prints, one object per line, and its message on standard error."""

    results: list[dict[str, Any]]
    message: str


def export(checkpoint: Path, out: Path, *overrides: str) -> None:
    """Run `src.export` in this process."""
    from heedful.commands.export import main

    cfg = repository("export").compose([f"ckpt_path='{checkpoint}'", f"out='{out}'", *overrides])
    main.__wrapped__(without_hydra(cfg))  # type: ignore[attr-defined]


def run_script(folder: Path, *calls: Call) -> list[Answer]:
    """Call predict.py of an export several times in one new interpreter."""
    lines = json.dumps([(arguments, given.decode("latin-1"), encoding) for arguments, given, encoding in calls])
    line = [sys.executable, "-c", CALLS]
    process = subprocess.run(line, cwd=folder, input=lines, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""  # onnxruntime warns of its optimizations of a branch
    answers = json.loads(process.stdout)
    return [Answer([json.loads(row) for row in output.splitlines()], message) for output, message in answers]
