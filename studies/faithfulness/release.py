"""Release the records of the faithfulness study: `python -m studies.faithfulness.release <sweep> <name>`.

The file `docs/results/faithfulness/<name>.parquet` contains the values of each text, but no texts. Each row is one run:

| column | content |
|---|---|
| `run`, `result`, `config` | as in `studies/release.py` |
| `labels`, `predicted` | n integers each for all n test texts: the class, and the class that the model predicts |
| `<record>/<array>` | arrays of the record `<record>.npz`, flattened; means over the erased shares (`*_removal`) |
| `shapes` | shapes of these arrays as JSON |

In unpacked predictions, the predicted class has probability 1: its exact probability is released for the measured texts
only, in `faithfulness/probabilities`.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from src.errors import UserError
from src.files import read_arrays, write_arrays
from src.process import exit_with_message
from src.records.runs import FinishedRun, find_runs
from studies.plan import RESULTS
from studies.release import DESCRIPTION, describe_run, read_table, write_description, write_table

FOLDER = RESULTS / "faithfulness"
WEIGHTS = "faithfulness/weights"
HALF = (WEIGHTS, "faithfulness_erasure/")  # arrays with 16-bit floats; normalized values would need more
TYPES = {"f": pa.float32(), "i": pa.int32(), "b": pa.bool_(), "U": pa.string()}


def write_release(sweep: Path, file: Path) -> int:
    """Write the records of all runs below a sweep's folder to a file, and return the number of runs."""
    rows = [_columns(run) for run in find_runs([sweep]).runs]
    if any(row.keys() != rows[0].keys() for row in rows):
        raise UserError(f"{sweep}: some runs lack a record that others have: measure all runs first")
    columns, encodings = {}, {}
    for name, first in rows[0].items():
        values = [row[name] for row in rows]
        if isinstance(first, np.ndarray):
            kind = pa.float16() if first.dtype.kind == "f" and name.startswith(HALF) else TYPES[first.dtype.kind]
            arrays = [value.ravel().astype(kind.to_pandas_dtype()) for value in values]
            columns[name] = pa.array(arrays, pa.list_(kind))
            if pa.types.is_floating(kind):
                encodings[f"{name}.list.element"] = "BYTE_STREAM_SPLIT"
        else:
            columns[name] = pa.array(values)
    classes = [f"{name}.list.element" for name in ("labels", "predicted")]
    write_table(pa.table(columns), file, use_dictionary=classes, column_encoding=encodings)
    return len(rows)


def unpack_release(file: Path, folder: Path) -> list[Path]:
    """Write a folder for each run of a released file below `folder`, and return the paths of these folders."""
    table = read_table(file)
    return [
        _write_run({name: table[name][row] for name in table.column_names}, folder, file) for row in range(len(table))
    ]


def _columns(run: FinishedRun) -> dict[str, Any]:
    predictions = run.predictions()
    columns = describe_run(run) | {"labels": predictions.labels, "predicted": predictions.probabilities.argmax(1)}
    shapes = {}
    for path in sorted(run.folder.glob("faithfulness*.npz")):
        arrays = read_arrays(path)
        for key, array in arrays.items():
            name = f"{path.stem}/{key}"
            array = array.mean(2) if array.ndim == 3 else array
            shapes[name] = array.shape
            if name == WEIGHTS:
                array = array[_is_token(arrays["lengths"], array.shape)]
            columns[name] = array if array.shape else str(array)
    return columns | {"shapes": json.dumps(shapes)}


def _write_run(row: dict[str, pa.Scalar], folder: Path, file: Path) -> Path:
    run = write_description({name: row[name].as_py() for name in DESCRIPTION}, folder, file)
    class_names = np.array(json.loads(row["result"].as_py())["data"]["class_names"])
    labels, predicted = (_array(row[name]) for name in ("labels", "predicted"))
    predictions = {"labels": labels, "index": np.arange(len(labels)), "class_names": class_names}
    write_arrays(run / "predictions" / "test.npz", probabilities=np.eye(len(class_names))[predicted], **predictions)
    records: dict[str, dict[str, np.ndarray]] = {}
    for name, shape in json.loads(row["shapes"].as_py()).items():
        record, _, key = name.partition("/")
        array = _array(row[name])
        if name == WEIGHTS:
            padded = np.zeros(shape)
            padded[_is_token(records[record]["lengths"], shape)] = array
            array = padded
        records.setdefault(record, {})[key] = array.reshape(shape)
    for record, arrays in records.items():
        write_arrays(run / f"{record}.npz", **arrays)
    return run


def _array(value: pa.Scalar) -> np.ndarray:
    """Return the value of a cell, with floats and integers of 64 bits."""
    array = np.array(value.as_py()) if pa.types.is_string(value.type) else value.values.to_numpy(zero_copy_only=False)
    return array.astype({"f": np.float64, "i": np.int64, "O": np.str_}.get(array.dtype.kind, array.dtype))


def _is_token(lengths: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return which weights n×L belong to the tokens of a text."""
    return np.arange(shape[1]) < lengths[:, None]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m studies.faithfulness.release", description=__doc__)
    parser.add_argument("sweep", type=Path)
    parser.add_argument("name", help="name of the data set")
    args = parser.parse_args(argv)
    with exit_with_message("standard output"):
        file = FOLDER / f"{args.name}.parquet"
        print(f"Wrote {write_release(args.sweep, file)} runs to {file}")


if __name__ == "__main__":
    main()
