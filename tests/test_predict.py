"""`src.predict`: answers from a checkpoint alone, as a table or as JSON lines, with nothing left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from src.predict import main
from tests.helpers import command, run, trained

NAMES = ["negative", "neutral", "positive"]
ODD = 'Truly = 10/10, "great"! {a: [b]} ${c} ça 映画 🎬 # it\'s'


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a model whose words attend to words, with two heads."""
    heads = ("model/attention=multi_head", "model.attention.heads=2")
    return trained(tmp_path_factory.mktemp("predict") / "run", *heads)


@pytest.fixture
def predict(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Run the command in this process, in an empty folder; returns what it printed."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["predict.py", f"ckpt_path={checkpoint}", *arguments])
        main()
        return capsys.readouterr().out

    return call


def test_a_text_is_answered_in_json_where_no_terminal_is(predict: Any, tmp_path: Path) -> None:
    (line,) = predict(f"text={ODD}").splitlines()
    prediction = json.loads(line)
    assert prediction["text"] == ODD
    assert list(prediction["probabilities"]) == NAMES
    assert sum(prediction["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert prediction["label"] == max(NAMES, key=prediction["probabilities"].get)
    assert len(prediction["words"]) == 10
    weights = [word["weight"] for word in prediction["words"]]
    assert weights == sorted(weights, reverse=True)
    assert all(word["word"] in ODD for word in prediction["words"])
    assert not list(tmp_path.iterdir())


def test_a_file_is_answered_line_by_line(predict: Any, tmp_path: Path) -> None:
    texts = ["a good product", "a bad one, truly", "so so"]
    (tmp_path / "my texts.txt").write_text("\n\n".join(texts))
    lines = predict("file='my texts.txt'", "batch_size=2", "top=1").splitlines()
    predictions = [json.loads(line) for line in lines]
    assert [prediction["text"] for prediction in predictions] == texts
    assert [len(prediction["words"]) for prediction in predictions] == [1, 1, 1]
    (single,) = predict(f"text={texts[1]}", "top=1").splitlines()
    assert json.loads(single)["probabilities"] == pytest.approx(predictions[1]["probabilities"], abs=2e-6)


def test_a_table_on_request(predict: Any) -> None:
    table = predict("text=an excellent product", "json=false", "top=2")
    assert table.startswith("“an excellent product”")
    assert all(name in table for name in NAMES)
    ranked = table[table.index("most attended") :]
    assert sum(word in ranked for word in ("an ", "excellent", "product")) == 2


def test_pictures_on_request(predict: Any, tmp_path: Path) -> None:
    predict("text=an excellent product", "pictures=drawn")
    assert {path.name for path in (tmp_path / "drawn").iterdir()} == {"strip_0.png", "heatmap_0.png", "heads_0.png"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["text=good", "top=0"], r"(?s:.*)top=0 +must be at least 1"),
        (["text=good", "batch_size=-1"], r"(?s:.*)batch_size=-1 +must be at least 1"),
        (["text= "], "text: contains no text"),
        (["file=gone.txt"], r"file=gone\.txt: there is no 'gone\.txt'"),
        (["text=good", "ckpt_path=gone.ckpt"], r"gone\.ckpt: no such checkpoint"),
    ],
)
def test_mistakes_are_one_message(predict: Any, arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=f"^Error: .*{message}"):
        predict(*arguments)


def test_a_pipe_is_answered_in_json_lines(checkpoint: Path, tmp_path: Path) -> None:
    output = run(tmp_path, "predict", f"ckpt_path={checkpoint}", stdin="a good product\n\nça va, 映画\n")
    assert [json.loads(line)["text"] for line in output.splitlines()] == ["a good product", "ça va, 映画"]
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="has no pty")
def test_a_terminal_gets_a_table(checkpoint: Path, tmp_path: Path) -> None:
    import pty

    reader, writer = pty.openpty()
    line, options = command(tmp_path, "predict", f"ckpt_path={checkpoint}", "text=an excellent product")
    process = subprocess.run(line, **options, stdin=writer, stdout=writer, check=False)
    os.close(writer)
    output = os.read(reader, 100_000).decode()
    os.close(reader)
    assert process.returncode == 0
    assert "most attended" in output
    assert "{" not in output


def test_it_starts_without_what_only_training_needs(checkpoint: Path, tmp_path: Path) -> None:
    """Lightning, torchmetrics and pictures take thrice as long to import as an answer takes."""
    code = "import sys; from src.predict import main; main(); print(*sys.modules)"
    (python, *_, flag, module), options = command(tmp_path, "predict", f"ckpt_path={checkpoint}", "text=good")
    process = subprocess.run([python, "-c", code, flag, module], **options, capture_output=True, check=True)
    loaded = set(process.stdout.splitlines()[-1].split())
    assert "torch" in loaded
    assert not {"pytorch_lightning", "torchmetrics", "matplotlib", "scipy", "datasets", "transformers"} & loaded
