"""Release the records of a sweep as one Parquet file, and restore the runs' folders from such a file.

`python -m studies.release <sweep> <file>` writes a file. A record contains the data that a comparison and the page of
the faithfulness study read, but no texts: the settings, the result, the predictions for the test split, the statistics
of the attention weights, the gradient norms, the curves and the measured faithfulness. Each row of the file is one run:

| column | content |
|---|---|
| `run` | name of the folder |
| `result`, `config` | `result.json` and `config.yaml` as JSON, without paths or the command line |
| `log_odds` | n×(C - 1) 16-bit floats, text by text: ln(p_c / p_C) of each class c except the last, clipped to ±40 |
| `labels`, `index` | n integers each: the class of each text, and the row of the text in the test split |
| `class_names` | the C classes |
| `groups` | n integers, the group of each text; missing if the data have no groups |
| `position_mean`, `entropy`, `length` | the arrays of `attention_stats.npz`; empty if the file is missing |
| `gradients`, `curves` | `gradients.csv` and `csv/metrics.csv`; empty if the file is missing |
| `<record>/<array>` | the arrays of each record `faithfulness*.npz`, flattened; `*_removal` as means over the shares |
| `shapes` | the shapes of these arrays as JSON |

The columns after `class_names` are optional. Probabilities from 16-bit log-odds differ from the original probabilities
by at most 0.0002 with two classes, and by at most 0.004 with more; the most probable class is the same. The files in
`docs/results/faithfulness` were released without probabilities: their log-odds, ±40, tell only the predicted class of
each text. `docs/run-folders.md` describes the files of a run.
"""

import argparse
import csv
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from pydantic import TypeAdapter
from scipy.special import softmax

from heedful.base.errors import UserError
from heedful.base.files import csv_line, read_arrays, replace_atomically, write_arrays, write_text
from heedful.base.process import exit_with_message
from heedful.config.keys import LOCAL, is_within
from heedful.records.runs import FinishedRun, find_runs
from heedful.runs.result import RESULT_FILE, RunResult
from heedful.runs.run_files import (
    GRADIENTS_FILE,
    HISTORY_FILE,
    STATISTICS_FILE,
    Predictions,
    read_statistics,
)
from heedful.tasks.multiclass import Multiclass

LOCAL_KEYS = (*LOCAL, "data.path", "data.val_path", "data.test_path")  # options with paths that a run reads or writes
LIMIT = 40.0  # bound on the absolute log-odds, in nats
DIGITS = 6  # significant digits of gradient norms and curves
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # much faster, but not available on every machine
DECIMAL = re.compile(r"-?\d+(\.\d+(e[-+]\d+)?|e[-+]\d+)")
RESULT = TypeAdapter(RunResult)
REQUIRED = ("run", "result", "config", "log_odds", "labels", "index", "class_names")
STATISTICS = ("position_mean", "entropy", "length")  # arrays of attention_stats.npz
TABLES = {"gradients": GRADIENTS_FILE, "curves": HISTORY_FILE}
HALF = ("log_odds", "faithfulness/weights", "faithfulness_erasure/")  # 16-bit floats; normalized values would need more
NARROW = {"f": np.float32, "i": np.int32}
WIDE = {"f": np.float64, "i": np.int64, "O": np.str_}
ENCODINGS = {"float": "BYTE_STREAM_SPLIT", "halffloat": "BYTE_STREAM_SPLIT", "int32": "DELTA_BINARY_PACKED"}


def write_release(sweep: Path, file: Path) -> int:
    """Write the records of all completed and tested runs below a sweep's folder to a file, and return their number."""
    rows = [_columns(run) for run in find_runs([sweep]).runs]
    if any(row.keys() != rows[0].keys() for row in rows):
        raise UserError(f"{sweep}: some runs lack a record that others have: measure all runs first")
    table = pa.Table.from_pylist(rows)
    elements = {field.name: str(field.type.value_type) for field in table.schema if pa.types.is_list(field.type)}
    encodings = {f"{name}.list.element": ENCODINGS[kind] for name, kind in elements.items() if kind in ENCODINGS}
    options: dict[str, Any] = {"compression": "zstd", "compression_level": 19, "use_dictionary": False}
    with replace_atomically(file) as part:
        pq.write_table(table, part, column_encoding=encodings, **options)
    return len(rows)


def unpack_release(file: Path, folder: Path) -> list[Path]:
    """Write a folder for each run of a released file below `folder`, and return the paths of these folders."""
    try:
        table = pq.read_table(file)
        table.select(REQUIRED)  # fails for a file without these columns
    except (OSError, KeyError, pa.ArrowException) as error:
        raise UserError(f"{file} is not a release ({str(error).splitlines()[0]})") from None
    columns = {name: table[name] for name in table.column_names}
    rows = ({name: _value(column[row]) for name, column in columns.items()} for row in range(len(table)))
    return [_write_run(row, folder, file) for row in rows]


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


def _columns(run: FinishedRun) -> dict[str, Any]:
    """Return the columns of a run: strings, and flat arrays with at most 32 bits for each number."""
    predictions, statistics = run.predictions(), read_statistics(run.folder)
    if predictions.split != "test":
        raise UserError(f"{run.folder} has no predictions for the test split")
    result = replace(run.result, command=None, overrides=())
    columns: dict[str, Any] = {
        "run": run.folder.name,
        "result": _json(RESULT.dump_python(result, mode="json", exclude_none=True), run.folder),
        "config": _json(_without_folders(run.config), run.folder),
        "log_odds": pack_probabilities(predictions.probabilities),
        "labels": predictions.labels,
        "index": predictions.index,
        "class_names": np.array(predictions.class_names),
        **({} if predictions.groups is None else {"groups": predictions.groups}),
        **{name: np.zeros(0) if statistics is None else getattr(statistics, name) for name in STATISTICS},
        **{name: _round_numbers(run.folder / path) for name, path in TABLES.items()},
    }
    shapes = {}
    for path in sorted(run.folder.glob("faithfulness*.npz")):
        for key, array in read_arrays(path).items():
            name, values = f"{path.stem}/{key}", array.mean(2) if array.ndim == 3 else array
            columns[name], shapes[name] = values if values.shape else str(values), values.shape
    if shapes:
        columns["shapes"] = json.dumps(shapes)
    return {name: value if isinstance(value, str) else _narrow(name, value) for name, value in columns.items()}


def _narrow(name: str, array: np.ndarray) -> np.ndarray:
    kind = array.dtype.kind
    is_half = kind == "f" and name.startswith(HALF)
    return array.ravel().astype(np.float16 if is_half else NARROW.get(kind, array.dtype))


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


def _value(cell: pa.Scalar) -> Any:
    """Return the content of a cell: a string, or an array with 64 bits for each number."""
    if pa.types.is_string(cell.type):
        return cell.as_py()
    array = cell.values.to_numpy(zero_copy_only=False)
    return array.astype(WIDE.get(array.dtype.kind, array.dtype))


def _write_run(row: dict[str, Any], folder: Path, file: Path) -> Path:
    name = row["run"]
    if Path(name).name != name or name in ("", ".", ".."):
        raise UserError(f"{file}: {name!r} is not the name of a run")
    run = folder / name
    write_text(run / RESULT_FILE, row["result"])
    write_text(run / "config.yaml", yaml.dump(json.loads(row["config"]), Dumper=DUMPER, sort_keys=False))
    probabilities = unpack_probabilities(row["log_odds"].reshape(-1, len(row["class_names"]) - 1))
    task = Multiclass(tuple(row["class_names"].tolist()))
    predictions = Predictions("test", probabilities, row["labels"], task, row["index"], row.get("groups"))
    predictions.save(run / "predictions")
    if len(row.get("entropy", ())):
        statistics = {column: row[column].astype(np.float32) for column in STATISTICS}
        write_arrays(run / STATISTICS_FILE, effective=np.exp(statistics["entropy"]), **statistics)
    for column, path in TABLES.items():
        if row.get(column):
            write_text(run / path, row[column])
    records: dict[str, dict[str, np.ndarray]] = {}
    for column, shape in json.loads(row.get("shapes", "{}")).items():
        record, _, key = column.partition("/")
        records.setdefault(record, {})[key] = np.asarray(row[column]).reshape(shape)
    for record, arrays in records.items():
        write_arrays(run / f"{record}.npz", **arrays)
    return run


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m studies.release", description="Release the records of a sweep.")
    parser.add_argument("sweep", type=Path)
    parser.add_argument("file", type=Path, help="path of the Parquet file")
    args = parser.parse_args(argv)
    with exit_with_message("standard output"):
        print(f"Wrote {write_release(args.sweep, args.file)} runs to {args.file}")


if __name__ == "__main__":
    main()
