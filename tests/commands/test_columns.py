"""Columns beside the text in commands: training, evaluation of a file, prediction, export and faithfulness."""

import json
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf

from heedful import load
from heedful.data.tables import gather
from heedful.faithfulness.measurement import measure_texts
from heedful.faithfulness.trained import ProbedRun
from heedful.inference.input_texts import TextSource, text_source
from heedful.inference.predictions import show_predictions, write_predictions
from tests.forks import complete
from tests.helpers import command, evaluate, read_csv, run_config, saved_predictions, small_config
from tests.portable.exports import Call, export, run_script

OPTIONS = [
    "data=csv",
    "data.text=review",
    "data.columns=[age,country]",
    "data.thousands=.",
    "model/branch=ngrams",
    "model/encoder=identity",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on texts whose label the columns tell, with numbers such as 1.050,5; the words do not."""
    folder, rng = tmp_path_factory.mktemp("columns"), np.random.default_rng(0)
    labels = np.arange(120) % 2
    rows = pd.DataFrame(
        {
            "review": [" ".join(rng.choice(["good", "bad", "film", "plot"], 5)) for _ in labels],
            "label": np.where(labels, "pos", "neg"),
            "age": [None if i % 11 == 0 else f"1.{20 + 30 * label + i % 7:03},5" for i, label in enumerate(labels)],
            "country": np.where(labels, "DE", rng.choice(["FR", "US"], 120)),
        }
    )
    rows.to_csv(folder / "data.csv", index=False)
    options = [*OPTIONS, f"data.path={folder / 'data.csv'}", "optimizer.lr=0.05", "trainer.max_epochs=4"]
    options += ["callbacks.attention=null", "callbacks.progress=null", "logger=csv", "model/attention=bahdanau"]
    run_config(small_config(folder / "run", options))
    return folder / "run"


def test_the_model_reads_the_columns(run: Path) -> None:
    result = json.loads((run / "result.json").read_text())
    assert result["metrics"]["test/acc"]["value"] == 1.0
    assert result["data"]["columns"]["country"] == "3 categories"
    assert result["baseline"]["metrics"]["test/acc"]["value"] == 1.0
    assert "pos,country=DE," in (run / "baseline" / "features.csv").read_text()
    assert sum(split["missing"]["age"] for split in result["data"]["splits"].values()) == 11


def test_numbers_of_any_type_are_read_alike_and_an_export_refuses_other_texts(run: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(run.parent / "data.csv")
    test = [int(row["line"]) - 2 for row in read_csv(run / "predictions" / "test.csv")]
    ages = [str(age).replace(".", "").replace(",", ".") for age in rows.age]
    for frame in (rows, *(rows.assign(age=list(map(number, ages))) for number in (float, Decimal))):
        found = load(run).predict_proba(frame.iloc[test])
        np.testing.assert_allclose(found, saved_predictions(run).probabilities, atol=1e-5)
    export(run / "checkpoints" / "best.ckpt", tmp_path / "model")
    lines = (
        b'{"text": null, "age": 3}\n{"text": 0, "age": 3}',
        b'{"text": "good", "age": "x", "country": "DE"}',
        b'{"text": "a", "age": 3}',
    )
    answer, wrong, absent = run_script(tmp_path / "model", *(Call(given=line) for line in lines))
    assert answer.results[0]["label"] is None and answer.message == "Error: text 2 must be one text"
    assert absent.message == "The model also reads country, which are missing and count as empty\n"
    assert wrong.message.startswith(
        "Error: text 1: column 'age' holds 'x', but its training cells are numbers: correct"
    )


def test_unseen_categories_of_a_pipe_are_counted(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    cells = {"text": "good", "age": "3", "country": "IT"}
    rows = partial(gather, "pipe", "line", [(1, cells), (2, {**cells, "country": "DE"})])
    cfg = OmegaConf.create({"batch_size": 4, "pictures": None, "json": True, "top": 3})
    show_predictions(cfg, TextSource("pipe", rows, others=["age", "country"], is_stream=True), load(run))
    assert "Column 'country': 1 of 2 cells are of categories without training texts" in caplog.text


def test_evaluation_of_a_file(run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A new category is unseen, which an evaluation, Python and predictions of a file say."""
    rows = pd.read_csv(run.parent / "data.csv").head(31)
    rows.loc[3, "country"] = "IT"
    rows.to_csv(tmp_path / "new.csv", index=False)
    result = evaluate(tmp_path / "eval", run, f"file={tmp_path / 'new.csv'}")
    assert result["data"]["splits"]["test"]["unseen"] == {"age": 0, "country": 1}
    load(run).predict_proba(rows)
    read = {"others": ["age", "country"], "numbers": load(run).numbers}
    source = text_source(None, str(tmp_path / "new.csv"), "review", **read)
    write_predictions(tmp_path / "out.csv", source, load(run), 32)
    message = "Column 'country': 1 of 31 cells are of categories without training texts"
    assert [record.getMessage() for record in caplog.records].count(message) == 2


def test_faithfulness_removes_tokens_and_keeps_the_columns(run: Path) -> None:
    trained = ProbedRun(run, device="cpu")
    sample = trained.sample("test", 11, seed=0)
    expected = saved_predictions(run).probabilities[sample.rows]
    np.testing.assert_allclose(trained.probe.probabilities(sample.texts), expected, atol=1e-6)
    fewer = trained.probe.probabilities([tokens[:1] for tokens in sample.texts])
    assert (fewer.argmax(1) == sample.labels).all()  # the columns tell the label
    assert np.isfinite(trained.probe.probabilities([tokens[:0] for tokens in sample.texts])).all()
    rngs = [np.random.default_rng(row) for row in sample.rows]
    arrays, _ = measure_texts(trained.probe, sample.texts, rngs)
    low, values, high = (arrays[f"comprehensiveness_{name}"] for name in ("low", "removal", "high"))
    assert (low[:, None] <= values.mean(2)).all() and (values.mean(2) <= high[:, None]).all()
    assert np.abs(values).max() < 0.1  # the words tell little


def test_texts_without_cells(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A list of texts, or a table without a column, is read with a warning, as if its cells were missing."""
    model = load(run)
    rows = {"review": ["good", "bad"], "age": [None, None], "country": ["", ""]}
    np.testing.assert_array_equal(model.predict_proba(["good", "bad"]), model.predict_proba(rows))
    assert "also reads age, country, which are missing" in caplog.text
    caplog.clear()
    cells = {"review": ["good", "bad"], "age": [3, 50]}
    without = model.predict_proba(cells)
    np.testing.assert_array_equal(without, model.predict_proba({**cells, "country": [None, None]}))
    assert caplog.text.count("also reads country, which are missing") == 1
    pd.DataFrame(cells).to_csv(run.parent / "without.csv", index=False)
    given = (f"ckpt_path={run}", "file=without.csv", "text_column=review", "out=without.jsonl")
    process = complete(*command(run.parent, "predict", *given))
    assert process.stderr.count("also reads country, which are missing") == 1
    rows = map(json.loads, (run.parent / "without.jsonl").read_text().splitlines())
    names = [f"probability_{name}" for name in model.class_names]
    assert [[row[name] for name in names] for row in rows] == without.round(6).tolist()


def test_a_wrong_cell_of_a_table_is_reported_before_anything_is_written(run: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(run.parent / "data.csv")
    rows.astype({"age": object}).assign(age=[*rows.age[:7], "x", *rows.age[8:]]).to_csv(tmp_path / "new.csv")
    options = [f"ckpt_path={run}", f"file={tmp_path / 'new.csv'}", "text_column=review"]
    message = complete(*command(tmp_path, "predict", *options, "out=other.csv")).stderr
    assert "new.csv: line 9: column 'age' holds 'x', but its training cells are numbers" in message
    assert not (tmp_path / "other.csv").exists()
