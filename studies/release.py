"""Release the records of a sweep as one Parquet file, and restore the runs' folders from such a file.

A record contains the data that a comparison reads, but no texts: the settings, the result, the predictions for the test
split, the statistics of the attention weights, the gradient norms and the curves. Each row of the file is one run:

| column | content |
|---|---|
| `run` | name of the folder |
| `result`, `config` | `result.json` and `config.yaml` as JSON, without paths or the command line |
| `log_odds` | n×(C - 1) 16-bit floats, text by text: ln(p_c / p_C) of each class c except the last, clipped to ±40 |
| `labels`, `index` | n integers each: the class of each text, and the row of the text in the test split |
| `class_names` | the C classes |
| `position_mean`, `entropy`, `length` | the arrays of `attention_stats.npz`; empty if the file is missing |
| `gradients`, `curves` | `gradients.csv` and `csv/metrics.csv`; empty if the file is missing |

Probabilities from 16-bit log-odds differ from the original probabilities by at most 0.0002 with two classes, and by at
most 0.004 with more; the most probable class is the same. `docs/run-folders.md` describes the files of a run.
"""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from pydantic import TypeAdapter
from scipy.special import softmax

from src.config.keys import LOCAL, is_within
from src.errors import UserError
from src.files import csv_line, replace_atomically, write_arrays, write_text
from src.records.files import GRADIENTS_FILE, HISTORY_FILE, STATISTICS_FILE, read_statistics
from src.records.runs import FinishedRun, find_runs
from src.run_result import RESULT_FILE, RunResult

LOCAL_KEYS = (*LOCAL, "data.path", "data.val_path", "data.test_path")  # options with paths that a run reads or writes
LIMIT = 40.0  # bound on the absolute log-odds, in nats
DIGITS = 6  # significant digits of gradient norms and curves
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # much faster, but not available on every machine
DECIMAL = re.compile(r"-?\d+(\.\d+(e[-+]\d+)?|e[-+]\d+)")
RECORD = TypeAdapter(RunResult)
DESCRIPTION = ("run", "result", "config")
STATISTICS = ("position_mean", "entropy", "length")  # arrays of attention_stats.npz
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in DESCRIPTION),
        ("log_odds", pa.list_(pa.float16())),
        *((name, pa.list_(pa.int32())) for name in ("labels", "index")),
        ("class_names", pa.list_(pa.string())),
        *((name, pa.list_(pa.float32())) for name in STATISTICS),
        *((name, pa.string()) for name in ("gradients", "curves")),
    ]
)


def write_release(sweep: Path, file: Path) -> int:
    """Write the records of all completed and tested runs below a sweep's folder to a file, and return their number."""
    runs = find_runs([sweep]).runs
    rows = [_record(run) for run in runs]
    columns = {name: [row[name] for row in rows] for name in SCHEMA.names}
    encodings = {
        "labels.list.element": "DELTA_BINARY_PACKED",
        "index.list.element": "DELTA_BINARY_PACKED",
        "log_odds.list.element": "BYTE_STREAM_SPLIT",
    }
    write_table(pa.table(columns, SCHEMA), file, use_dictionary=False, column_encoding=encodings)
    return len(rows)


def write_table(table: pa.Table, file: Path, **options: Any) -> None:
    """Write a table as a Parquet file, compressed as much as possible."""
    with replace_atomically(file) as part:
        pq.write_table(table, part, compression="zstd", compression_level=19, **options)


def unpack_release(file: Path, folder: Path) -> list[Path]:
    """Write a folder for each run of a released file below `folder`, and return the paths of these folders."""
    return [_write_run(row, folder, file) for row in read_table(file, SCHEMA).to_pylist()]


def read_table(file: Path, schema: pa.Schema | None = None) -> pa.Table:
    """Read a released file; None as the schema retains that of the file."""
    try:
        table = pq.read_table(file, schema=schema)
        table.select(DESCRIPTION)  # fails for a file without these columns
    except (OSError, KeyError, pa.ArrowException) as error:
        raise UserError(f"{file} is not a release ({str(error).splitlines()[0]})") from None
    return table


def pack_probabilities(probabilities: np.ndarray) -> np.ndarray:
    """Convert probabilities n×C to 16-bit log-odds n×(C - 1) against the last class, with the same predicted class."""
    logs = np.log(np.maximum(probabilities.astype(np.float64), 1e-30))
    odds = (logs[:, :-1] - logs[:, -1:]).clip(-LIMIT, LIMIT).astype(np.float16)  # n×(C - 1)
    predicted = probabilities.argmax(1)
    while (rows := np.flatnonzero(unpack_probabilities(odds).argmax(1) != predicted)).size:
        # raise the predicted class by the smallest step; if it is the last class, lower all others instead
        is_last = predicted[rows] == odds.shape[1]
        others, last = rows[~is_last], rows[is_last]
        odds[others, predicted[others]] = np.nextafter(odds[others, predicted[others]], np.float16(np.inf))
        odds[last] = np.nextafter(odds[last], np.float16(-np.inf))
    return odds


def unpack_probabilities(odds: np.ndarray) -> np.ndarray:
    """Convert log-odds n×(C - 1) to probabilities n×C, float32."""
    logits = np.concatenate([odds.astype(np.float64), np.zeros((len(odds), 1))], axis=1)
    return np.asarray(softmax(logits, axis=1), dtype=np.float32)


def _record(run: FinishedRun) -> dict[str, Any]:
    predictions, statistics = run.predictions(), read_statistics(run.folder)
    if predictions.split != "test":
        raise UserError(f"{run.folder} has no predictions for the test split")
    record = describe_run(run) | {
        "log_odds": pack_probabilities(predictions.probabilities).ravel(),
        "labels": predictions.labels,
        "index": predictions.index,
        "class_names": predictions.class_names,
        "gradients": _round_numbers(run.folder / GRADIENTS_FILE),
        "curves": _round_numbers(run.folder / HISTORY_FILE),
    }
    for column in STATISTICS:
        record[column] = [] if statistics is None else getattr(statistics, column).astype(np.float32)
    return record


def describe_run(run: FinishedRun) -> dict[str, Any]:
    """Return the columns of DESCRIPTION: the name of the run's folder, its result and its configuration."""
    result = replace(run.result, command=None, overrides=())
    return {
        "run": run.folder.name,
        "result": _json(RECORD.dump_python(result, mode="json", exclude_none=True), run.folder),
        "config": _json(_without_folders(run.config), run.folder),
    }


def _without_folders(value: Any, path: str = "") -> Any:
    """Return a configuration without LOCAL_KEYS, and with the file names of other absolute paths."""
    if isinstance(value, dict):
        items = ((key, f"{path}.{key}" if path else str(key), item) for key, item in value.items())
        return {key: _without_folders(item, name) for key, name, item in items if not is_within(name, LOCAL_KEYS)}
    if isinstance(value, list):
        return [_without_folders(item, path) for item in value]
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _json(value: Any, folder: Path) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for part in (str(folder.resolve().parent), str(Path.home())):
        if part != "/" and part in text:
            raise UserError(f"{folder}: a setting contains the path {part}; a release must not name folders")
    return text


def _round_numbers(path: Path) -> str:
    """Return the content of a CSV file with decimals rounded to DIGITS significant digits; "" if it is missing."""
    if not path.exists():
        return ""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    rounded = [[f"{float(cell):.{DIGITS}g}" if DECIMAL.fullmatch(cell) else cell for cell in row] for row in rows]
    return "".join(map(csv_line, rounded))


def write_description(row: dict[str, Any], folder: Path, file: Path) -> Path:
    """Write `result.json` and `config.yaml` of a released run, and return the path of its folder."""
    name = str(row["run"])
    if Path(name).name != name or name in ("", ".", ".."):
        raise UserError(f"{file}: {name!r} is not the name of a run")
    write_text(folder / name / RESULT_FILE, row["result"])
    config = yaml.dump(json.loads(row["config"]), Dumper=DUMPER, sort_keys=False)
    write_text(folder / name / "config.yaml", config)
    return folder / name


def _write_run(row: dict[str, Any], folder: Path, file: Path) -> Path:
    run, classes = write_description(row, folder, file), row["class_names"]
    odds = np.array(row["log_odds"], dtype=np.float16).reshape(-1, len(classes) - 1)
    labels, index = (np.array(row[column], dtype=np.int64) for column in ("labels", "index"))
    predictions = {"labels": labels, "index": index, "class_names": np.array(classes)}
    write_arrays(run / "predictions" / "test.npz", probabilities=unpack_probabilities(odds), **predictions)
    if row["entropy"]:
        arrays = {column: np.array(row[column], dtype=np.float32) for column in STATISTICS}
        write_arrays(run / STATISTICS_FILE, effective=np.exp(arrays["entropy"]), **arrays)
    for column, target in (("gradients", run / GRADIENTS_FILE), ("curves", run / HISTORY_FILE)):
        if row[column]:
            write_text(target, row[column])
    return run
