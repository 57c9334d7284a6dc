"""`src.export` writes a folder that classifies texts as the checkpoint does, without Heed and torch."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from src import load
from src.config.compose import without_hydra
from src.errors import UserError
from tests.helpers import repository

TEXTS = ["A great film, a film to remember", "dull <br /> and b\u00e4d", "?", "one two three " * 300]
WITHOUT_TORCH = """
import sys, json
for name in ("torch", "src", "hydra", "pytorch_lightning"):
    sys.modules[name] = None  # makes its import fail
sys.path.insert(0, ".")
from predict import Classifier
print(json.dumps(Classifier()(json.loads(sys.argv[1]))))
"""


def export(checkpoint: Path, out: Path, *overrides: str) -> None:
    from src.export import main

    cfg = repository("export").compose([f"ckpt_path='{checkpoint}'", f"out='{out}'", *overrides])
    main.__wrapped__(without_hydra(cfg))  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def exported(finished: tuple[Path, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The checkpoint of a run and the folder that was exported from it."""
    out = tmp_path_factory.mktemp("export") / "model"
    checkpoint = finished[0] / "checkpoints" / "best.ckpt"
    export(checkpoint, out, "int8=true")
    return checkpoint, out


def test_the_script_predicts_like_the_checkpoint(exported: tuple[Path, Path]) -> None:
    checkpoint, out = exported
    line = [sys.executable, "-c", WITHOUT_TORCH, json.dumps(TEXTS)]
    process = subprocess.run(line, cwd=out, capture_output=True, text=True, check=True)
    examples = load(checkpoint).explain(TEXTS)
    for result, example in zip(json.loads(process.stdout), examples, strict=True):
        assert result["label"] == example.predicted
        assert list(result["probabilities"]) == list(example.probabilities)
        assert result["probabilities"] == pytest.approx(example.probabilities, abs=1e-5)
        assert [word for word, _ in result["weights"]] == example.words
        np.testing.assert_allclose([weight for _, weight in result["weights"]], example.weights, atol=1e-5)
    assert len(examples[3].words) == 500  # truncated


def test_the_script_classifies_the_lines_of_a_pipe(exported: tuple[Path, Path]) -> None:
    line = [sys.executable, "predict.py"]
    process = subprocess.run(line, cwd=exported[1], input="good\n\nbad\n", capture_output=True, text=True, check=True)
    assert [json.loads(row)["text"] for row in process.stdout.splitlines()] == ["good", "bad"]


def test_the_model_card_contains_the_scores_of_the_run(
    exported: tuple[Path, Path], finished: tuple[Path, dict[str, Any]]
) -> None:
    card = (exported[1] / "README.md").read_text()
    score = finished[1]["metrics"]["test/acc"]
    assert f"| acc | {score['value']:.4f} | {score['low']:.4f} to {score['high']:.4f} | {score['n']} |" in card
    assert f"{finished[1]['parameters']['total']:,}" in card
    sizes = ", ".join(f"{finished[1]['data'][split]:,} {split}" for split in ("train", "val", "test"))
    assert f" ({sizes}) |" in card
    assert "validation texts" in card  # in the section about int8


def test_the_model_card_of_a_checkpoint_without_its_run_has_no_scores(checkpoint: Path, tmp_path: Path) -> None:
    copy = tmp_path / "apart" / "model.ckpt"
    copy.parent.mkdir()
    copy.write_bytes(checkpoint.read_bytes())
    export(copy, tmp_path / "out")
    assert "The scores are not available" in (tmp_path / "out" / "README.md").read_text()
    assert not (tmp_path / "out" / "model.int8.onnx").exists()


def test_existing_files_are_not_replaced(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="is not an empty folder"):
        export(checkpoint, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_refused_model_leaves_no_files(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("src.portable.onnx_model.TOLERANCE", -1.0)
    with pytest.raises(UserError, match="the outputs differ from torch's by"):
        export(checkpoint, tmp_path / "out")
    assert not list(tmp_path.iterdir())
