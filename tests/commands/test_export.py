"""`src.export` writes a folder that classifies texts as the checkpoint does, without Heedful and torch."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

from heedful import load
from heedful.base.errors import UserError
from heedful.config.compose import without_hydra
from heedful.portable.folder import write_model_card
from heedful.runs.checkpoint import read_checkpoint
from tests.helpers import evaluate, repository

TEXTS = [
    "A great film, a film to remember",
    "dull <br /> and b\u00e4d, ba\u0308 d\u0323",
    "?",
    "one two three " * 300,
    "xqzzy <br />",
]
WITHOUT_TORCH = """
import sys, json
for name in ("torch", "heedful", "hydra", "pytorch_lightning"):
    sys.modules[name] = None  # makes its import fail
sys.path.insert(0, ".")
from predict import Classifier
print(json.dumps(Classifier()(json.loads(sys.argv[1]))))
assert Classifier()([]) == []
"""


def export(checkpoint: Path, out: Path, *overrides: str) -> None:
    from heedful.commands.export import main

    cfg = repository("export").compose([f"ckpt_path='{checkpoint}'", f"out='{out}'", *overrides])
    main.__wrapped__(without_hydra(cfg))  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def exported(finished: tuple[Path, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The checkpoint of a run and the folder that was exported from it."""
    out = tmp_path_factory.mktemp("export") / "model"
    checkpoint = finished[0] / "checkpoints" / "best.ckpt"
    export(checkpoint, out)
    return checkpoint, out


def test_the_script_predicts_like_the_checkpoint(exported: tuple[Path, Path]) -> None:
    checkpoint, out = exported
    line = [sys.executable, "-c", WITHOUT_TORCH, json.dumps(TEXTS)]
    process = subprocess.run(line, cwd=out, capture_output=True, text=True, check=True)
    examples = load(checkpoint).examples(TEXTS)
    for result, example in zip(json.loads(process.stdout), examples, strict=True):
        assert result["label"] == example.predicted
        assert list(result["probabilities"]) == list(example.probabilities)
        assert result["probabilities"] == pytest.approx(example.probabilities, abs=1e-5)
        assert [word for word, _ in result["weights"]] == example.words
        assert result["only_unknown"] == example.is_unknown
        np.testing.assert_allclose([weight for _, weight in result["weights"]], example.weights, atol=1e-5)
    assert len(examples[3].words) == 500  # truncated
    line = [sys.executable, "-c", "from predict import Classifier; Classifier()(['fine', None, 3])"]
    process = subprocess.run(line, cwd=out, capture_output=True, text=True, check=False)
    assert process.stderr.endswith("TypeError: text 2, counted from 0, is 3; it must be a text\n")


def test_an_export_predicts_like_the_checkpoint(exported: tuple[Path, Path], tmp_path: Path) -> None:
    checkpoint, out = exported
    folder = shutil.copytree(out, tmp_path / "copy")
    (folder / "predict.py").write_text("raise SystemExit('a model from another person runs no code')")
    expected, model = load(checkpoint).predict(TEXTS), load(folder)
    np.testing.assert_array_equal(load([folder, checkpoint]).class_names, model.class_names)
    for ours, theirs in zip(model.to("cpu").predict(TEXTS), expected, strict=True):
        assert (ours.label, ours.text) == (theirs.label, theirs.text)
        assert ours.probabilities == pytest.approx(theirs.probabilities, abs=1e-5)
        assert [word for word, _ in ours.tokens] == [word for word, _ in theirs.tokens]
        weights = [[weight for _, weight in prediction.tokens] for prediction in (ours, theirs)]
        np.testing.assert_allclose(*weights, atol=1e-5)
    np.testing.assert_array_equal(model.classify(TEXTS)[1], load(checkpoint).classify(TEXTS)[1])
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


def run_script(folder: Path, *texts: str, given: bytes = b"", encoding: str = "utf-8") -> tuple[list[Any], str]:
    """Run predict.py in a console of an encoding, and return what it prints, decoded, and its error message."""
    line = [sys.executable, "predict.py", *texts]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    process = subprocess.run(line, cwd=folder, input=given, capture_output=True, check=False, env=environment)
    return [json.loads(row) for row in process.stdout.decode(encoding).splitlines()], process.stderr.decode()


def test_the_script_reads_utf_8_and_prints_json_in_any_console(exported: tuple[Path, Path]) -> None:
    text = "ein sch\u00f6ner \u2605 Film"
    for encoding in ("utf-8", "cp1252", "ascii"):
        given = b"\xef\xbb\xbf" + f"{text}\r\n\nbad".encode()
        results, _ = run_script(exported[1], given=given, encoding=encoding)
        assert [result["text"] for result in results] == [text, "", "bad"]
        assert [word for word, _ in results[0]["weights"]] == text.split()
        assert results[1] == {"text": ""} | dict.fromkeys(("label", "probabilities", "weights", "only_unknown"))
    assert run_script(exported[1], text, encoding="ascii")[0] == results[:1]
    results, error = run_script(exported[1], given="good\nsch\u00f6n".encode("latin-1"))
    assert [result["text"] for result in results] == ["good"]
    assert error == "Error: text 2 is not UTF-8\n"


DAMAGED = """
import numpy as np, predict
model = predict.Classifier()
model.session.run = lambda names, inputs, run=model.session.run: [np.nan * part for part in run(names, inputs)]
model(["a film"])
"""


@pytest.mark.parametrize(
    ("classes", "message"), [(None, "probabilities that are not finite"), ("twice", "two classes have the same name")]
)
def test_the_script_refuses_a_damaged_model(
    exported: tuple[Path, Path], tmp_path: Path, classes: str | None, message: str
) -> None:
    folder = shutil.copytree(exported[1], tmp_path / "copy")
    config = json.loads((folder / "config.json").read_text())
    config["class_names"] = [classes or name for name in config["class_names"]]
    (folder / "config.json").write_text(json.dumps(config))
    process = subprocess.run([sys.executable, "-c", DAMAGED], cwd=folder, capture_output=True, text=True, check=False)
    assert message in process.stderr.splitlines()[-1]


def test_the_model_card_contains_the_scores_of_the_run(
    exported: tuple[Path, Path], finished: tuple[Path, dict[str, Any]]
) -> None:
    card = (exported[1] / "README.md").read_text()
    score = finished[1]["metrics"]["test/acc"]
    assert f"| acc | {score['value']:.4f} | {score['low']:.4f} to {score['high']:.4f} | {score['n']} |" in card
    assert f"{finished[1]['parameters']['total']:,}" in card
    sizes = ", ".join(f"{finished[1]['data'][split]:,} {split}" for split in ("train", "val", "test"))
    assert f" ({sizes}) |" in card


def test_the_model_card_says_that_a_branch_is_part_of_the_model(checkpoint: Path, tmp_path: Path) -> None:
    card, _ = read_checkpoint(checkpoint)
    choices = {"encoder": "identity", "attention": "bahdanau", "branch": "ngrams"}
    card = card.model_copy(update={"config": {**card.config, "choices": choices}})
    write_model_card(tmp_path, card, str(tmp_path / "best.ckpt"), nn.Linear(3, 5), 0.0)  # type: ignore[arg-type]
    text = (tmp_path / "README.md").read_text()
    assert "A text classifier (identity · bahdanau + ngrams branch) with the classes" in text
    assert "| components | encoder identity, attention bahdanau, branch ngrams |" in text


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
    with pytest.raises(UserError, match="the outputs differ from torch's by"):
        export(checkpoint, tmp_path / "out")
    assert not list(tmp_path.iterdir())
