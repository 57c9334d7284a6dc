"""`src.export` writes a folder that classifies texts as the checkpoint does, without Heedful and torch."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from heedful import load
from heedful.base.errors import UserError
from tests.helpers import evaluate
from tests.portable.exports import Call, export, run_script

TEXTS = ["A great film, a film to remember", "dull", "?"]


@pytest.fixture(scope="module")
def exported(finished: tuple[Path, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The checkpoint of a run and the folder that was exported from it."""
    out = tmp_path_factory.mktemp("export") / "model"
    checkpoint = finished[0] / "checkpoints" / "best.ckpt"
    export(checkpoint, out)
    return checkpoint, out


def test_an_export_only_predicts_and_runs_no_code_of_its_folder(exported: tuple[Path, Path], tmp_path: Path) -> None:
    checkpoint, out = exported
    folder = shutil.copytree(out, tmp_path / "copy")
    (folder / "predict.py").write_text("raise SystemExit('a model from another person runs no code')")
    model = load(folder)
    assert [each.label for each in model.to("cpu").predict(TEXTS)] == [
        each.label for each in load(checkpoint).predict(TEXTS)
    ]
    np.testing.assert_array_equal(load([folder, checkpoint]).class_names, model.class_names)
    with pytest.raises(UserError, match=r"model\.onnx: is an export: copy its folder"):
        model.save_pretrained(tmp_path / "saved")
    with pytest.raises(UserError, match=r"model\.onnx: is an export, which can only predict: name a checkpoint"):
        evaluate(tmp_path / "run", folder)
    config = json.loads((folder / "config.json").read_text())
    for names, message in (
        (["a", "b"], r"the model cannot be run, or does not suit config\.json \(its outputs have the sizes .*\(1, 3\)"),
        (["a", "b", "a"], r"is not the model of an export, or is damaged \(.*classes: two have the same name"),
        (None, r"is not the model of an export, or is damaged \(.*\): export it"),
    ):
        (folder / "config.json").write_text(json.dumps({**config, "class_names": names}))
        with pytest.raises(UserError, match=rf"model\.onnx: {message}"):
            load(folder).predict_proba(["good"])


def test_the_script_reads_utf_8_and_prints_json_in_any_console(exported: tuple[Path, Path]) -> None:
    text, encodings = "ein sch\u00f6ner \u2605 Film", ("utf-8", "cp1252", "ascii")
    given = b"\xef\xbb\xbf" + f"{text}\r\n\nbad".encode()
    calls = [Call(given=given, encoding=encoding) for encoding in encodings]
    *answers, argument, latin = run_script(
        exported[1], *calls, Call((text,), encoding="ascii"), Call(given="good\nsch\u00f6n".encode("latin-1"))
    )
    for results, _ in answers:
        assert [result["text"] for result in results] == [text, "", "bad"]
        assert [word for word, _ in results[0]["weights"]] == text.split()
        assert results[1] == {"text": ""} | dict.fromkeys(("label", "probabilities", "weights", "only_unknown"))
    assert argument.results == answers[0].results[:1]
    assert [result["text"] for result in latin.results] == ["good"]
    assert latin.message == "Error: text 2 is not UTF-8"


MODULE = """
import json
import numpy as np, predict
model = predict.Classifier()
assert model([]) == []

def message(function):
    try:
        function()
    except (TypeError, ValueError) as error:
        print(f"{type(error).__name__}: {error}")

message(lambda: model(["fine", None, 3]))
model.session.run = lambda names, inputs, run=model.session.run: [np.nan * part for part in run(names, inputs)]
message(lambda: model(["a film"]))
config = json.load(open("config.json"))
for names in (["a", "b", "a"], ["a", "b"]):
    json.dump(config | {"class_names": names}, open("config.json", "w"))
    message(predict.Classifier)
"""


def test_the_module_of_an_export_refuses_other_values_and_a_damaged_model(exported, tmp_path) -> None:
    folder = shutil.copytree(exported[1], tmp_path / "copy")
    output = subprocess.check_output([sys.executable, "-c", MODULE], cwd=folder, text=True)
    expected = (
        "TypeError: text 2, counted from 0, is 3; it must be a text",
        "ValueError: the model computes probabilities that are not finite: it is damaged",
        "ValueError: config.json: two classes have the same name",
        "ValueError: config.json: 2 classes, but model.onnx computes 3 probabilities",
    )
    for line, message in zip(output.splitlines(), expected, strict=True):
        assert message in line.replace(f"{folder}/", "")


def test_the_model_card_contains_the_scores_of_the_run(exported: tuple[Path, Path], finished) -> None:
    card = (exported[1] / "README.md").read_text()
    score = finished[1]["metrics"]["test/acc"]
    assert f"| acc | {score['value']:.4f} | {score['low']:.4f} to {score['high']:.4f} | {score['n']} |" in card
    assert f"{finished[1]['parameters']['total']:,}" in card
    sizes = ", ".join(f"{finished[1]['data'][split]:,} {split}" for split in ("train", "val", "test"))
    assert f" ({sizes}) |" in card


def test_the_model_card_of_a_checkpoint_without_its_run_has_no_scores(checkpoint: Path, tmp_path: Path) -> None:
    copy = tmp_path / "apart" / "model.ckpt"
    copy.parent.mkdir()
    copy.write_bytes(checkpoint.read_bytes())
    export(copy, tmp_path / "out")
    assert "The scores are not available" in (tmp_path / "out" / "README.md").read_text()


def test_existing_files_are_not_replaced(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="is not an empty folder"):
        export(checkpoint, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_refused_model_leaves_no_files(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.portable.onnx_model.TOLERANCE", -1.0)
    monkeypatch.setattr("torch.export.export", Mock(side_effect=RuntimeError("no")))  # which takes seconds
    with pytest.raises(UserError, match="the outputs differ from torch's by"):
        export(checkpoint, tmp_path / "out")
    assert not list(tmp_path.iterdir())
