"""Read and validate JSON files, among them the record of a run, `result.json`."""

import json
from pathlib import Path
from typing import Any

from src.errors import UserError
from src.files.plain import require

FILE = "result.json"
NUMBER, TEXT = (float, None), (str, None)
SCORE = {"value?": NUMBER, "low?": NUMBER, "high?": NUMBER, "n?": (int, None)}
RECORD = {
    "format?": int,
    "task?": str,
    "status?": str,
    "error?": TEXT,
    "command?": str,
    "overrides?": [str],
    "seed?": int,
    "choices?": {str: str},
    "started?": str,
    "finished?": str,
    "data?": {"fingerprint?": str, "class_names?": [str], "vocabulary?": int, "train?": int, "val?": int, "test?": int},
    "parameters?": {"total": int, "trainable?": int, "by_part?": {str: int}},
    "device?": str,
    "precision?": str,
    "versions?": {str: str},
    "git_commit?": TEXT,
    "best?": {"checkpoint?": str, "monitor?": TEXT, "value?": NUMBER, "epoch?": int},
    "metrics?": {str: SCORE},
    "seconds?": {"total?": float, "fit?": float, "test?": float, "per_epoch?": [float]},
    "texts_per_second?": NUMBER,
    "peak_memory_mb?": {"process?": NUMBER, "cuda?": NUMBER},
}


def read_record(folder: Path) -> dict[str, Any] | None:
    """Read the record of the run in a folder; return None if there is none.

    Raises:
        UserError: if it cannot be read, or is invalid.
    """
    path = folder / FILE
    try:
        return read_json(path, RECORD)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}): delete it or run again") from error


def read_json(path: Path, spec: Any) -> Any:
    """Read a JSON file and check its content.

    Args:
        path: path of the file.
        spec: specification of the content for `src.files.plain.require`.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is not JSON, or does not match `spec`.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("has too many levels") from None
    require(value, spec)
    return value
