"""A cell has the same features, to the last bit, whatever brings it: {formats} × {kinds of cells} × {ways to read}."""

import csv
import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from heedful.data.sets import as_sets
from heedful.inference.api import Model, load
from heedful.inference.input_texts import text_source
from heedful.runtime import features
from heedful.training import build
from tests.helpers import small_config, trained

N = 40
CELLS: dict[str, Any] = {
    "bool": [True, False] * (N // 2),
    "int": range(N),
    "int with missing": pd.array([None, *range(1, N)], "Int64"),
    "float": [round(0.1 * i, 1) for i in range(N)],
    "float32": np.arange(N, dtype=np.float32) / 8,
    "decimal": [Decimal(f"{i}.50") for i in range(N)],
    "date": [date(2024, 1 + i // 20, 1 + i % 20) for i in range(N)],
    "time stamp": pd.date_range("2024-01-01", periods=N, freq="7h"),
    "zone": pd.date_range("2024-01-01", periods=N, freq="7h", tz="Europe/Berlin"),
    "category": pd.Categorical(["DE", "FR"] * (N // 2)),
    "words": ["a", "NA", " b", ""] * (N // 4),
}
FRAME = pd.DataFrame({"text": [f"film {i}" for i in range(N)], "label": ["x", "y"] * (N // 2), **CELLS})


def frame_of(module: str) -> Any:
    return pytest.importorskip(module).from_pandas(FRAME)


FILES: dict[str, Any] = {
    "csv": lambda path: FRAME.to_csv(path, index=False),
    "jsonl": lambda path: FRAME.to_json(path, orient="records", lines=True, date_format="iso"),
    "parquet": lambda path: FRAME.to_parquet(path),
}
TABLES: dict[str, Any] = {
    "pandas": lambda: FRAME,
    "polars": lambda: frame_of("polars"),
    "records": lambda: FRAME.to_dict("records"),
    "lists": lambda: {name: list(FRAME[name]) for name in FRAME},
}


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file as a program reads them."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    with path.open(newline="") as file:
        return list(csv.DictReader(file)) if path.suffix == ".csv" else list(map(json.loads, file))


def options(path: Path | None) -> list[str]:
    data = ["data=python", "data.test_split=null"] if path is None else ["data=csv", f"data.path='{path}'"]
    return [*data, f"data.columns=[{','.join(CELLS)}]", "data.progress=false", "data.batch_size=8"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """A model of the rows of a CSV file."""
    folder = tmp_path_factory.mktemp("matrix")
    FILES["csv"](folder / "data.csv")
    yield load(trained(folder / "run", *options(folder / "data.csv")))


@pytest.fixture(scope="module")
def expected(model: Model, tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """The features by which the training standardizes and encodes all rows, and which an export computes."""
    FILES["csv"](path := tmp_path_factory.mktemp("rows") / "data.csv")
    columns = [column.model_dump(mode="json") for column in model.members[0].card.codec.columns]
    return features(columns, rows_of(path))


@pytest.mark.parametrize("kind", [*FILES, *TABLES])
def test_all_formats_and_all_ways_to_read_give_the_same_features(kind, model, expected, tmp_path) -> None:
    path, table = tmp_path / f"data.{kind}", None
    if kind in FILES:
        FILES[kind](path)
    else:
        path, table = None, TABLES[kind]()  # type: ignore[assignment]
    card, cfg = model.members[0].card, small_config(tmp_path / "run", options(path))
    sets = None if table is None else as_sets(table)

    found = {"train": build.datamodule(cfg, sets=sets)}
    assert found["train"].codec.columns == card.codec.columns
    found["eval"] = build.datamodule(cfg, card, "test", sets=sets)
    for data in found.values():
        for split, values in data.features.items():
            rows = [int(text.removeprefix("film ")) for text in data.texts(split, range(data.sizes[split]))]
            np.testing.assert_array_equal(values.toarray(), expected[rows])

    if table is None:  # as `predict` reads it
        ((_, read),) = text_source(None, str(path), "text", others=model.column_names).chunks()
        values, _ = card.codec.encode_columns(read)
        np.testing.assert_array_equal(values.toarray(), expected)  # type: ignore[union-attr]
    else:  # as `load` reads it
        texts = FRAME.assign(**{name: rows_of_csv(tmp_path)[name] for name in CELLS})
        np.testing.assert_array_equal(model.predict_proba(table), model.predict_proba(texts))

    records = rows_of(path) if table is None else as_records(table)
    columns = [column.model_dump(mode="json") for column in card.codec.columns]
    np.testing.assert_array_equal(features(columns, records), expected)  # as an export reads a request


def rows_of_csv(folder: Path) -> pd.DataFrame:
    """All cells as texts."""
    FILES["csv"](folder / "texts.csv")
    return pd.read_csv(folder / "texts.csv", dtype=str, keep_default_na=False)


def as_records(table: Any) -> list[dict[str, Any]]:
    if isinstance(table, list):
        return table
    rows = zip(*(list(table[name]) for name in FRAME), strict=True)
    return [dict(zip(FRAME, row, strict=True)) for row in rows]
