"""`src.predict`: predictions of a checkpoint as a table, as JSON lines and in files."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from heedful.commands.predict import main
from heedful.models.ensemble import Ensemble
from tests.forks import complete
from tests.helpers import command, read_csv, run

NAMES = ["negative", "neutral", "positive"]
SPECIAL_TEXT = 'Truly = 10/10, "great"! {a: [b]} ${c} ça 映画 🎬 # it\'s'
TERMINAL = """
import os, sys
reader, terminal = os.openpty()
for stream in (0, 1):
    os.dup2(terminal, stream)
sys.stdin, sys.stdout = open(0), open(1, "w")  # those of the start belong to other files
from heedful.commands.predict import main
main()
print("end of the output", flush=True)
output = b""
while b"end of the output" not in output:  # a read returns only the bytes that have already arrived
    output += os.read(reader, 100_000)
sys.stderr.write(output.decode())
"""


@pytest.fixture(scope="module")
def checkpoint(store: Callable[..., Path]) -> Path:
    """The checkpoint of a model with self-attention of several heads."""
    return store("model/attention=multi_head") / "checkpoints" / "last.ckpt"


@pytest.fixture
def predict(checkpoint, tmp_path, monkeypatch, capsys) -> Any:
    """A function that runs the command in this process, in an empty folder, returns its output, and sets `stderr`."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> str:
        model = [] if any(argument.startswith("ckpt_path=") for argument in arguments) else [f"ckpt_path={checkpoint}"]
        monkeypatch.setattr(sys, "argv", ["predict.py", *model, *arguments])
        main()
        output = capsys.readouterr()
        call.stderr = output.err  # type: ignore[attr-defined]
        return output.out

    return call


def test_the_output_without_a_terminal_is_json(predict: Any, tmp_path: Path) -> None:
    (line,) = predict(f"text={SPECIAL_TEXT}").splitlines()
    prediction = json.loads(line)
    assert prediction["text"] == SPECIAL_TEXT
    assert list(prediction["probabilities"]) == NAMES
    assert sum(prediction["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert prediction["label"] == max(NAMES, key=prediction["probabilities"].get)
    assert len(prediction["words"]) == 10
    weights = [word["weight"] for word in prediction["words"]]
    assert weights == sorted(weights, reverse=True)
    assert all(word["word"] in SPECIAL_TEXT for word in prediction["words"])
    assert not list(tmp_path.iterdir())


def test_each_line_of_a_file_gets_a_prediction(predict: Any, tmp_path: Path) -> None:
    texts = ["a good product", "", "a bad one, truly", "so so"]
    (tmp_path / "my texts.txt").write_text("\n".join(texts))
    lines = predict("file='my texts.txt'", "batch_size=2", "top=1").splitlines()
    predictions = [json.loads(line) for line in lines]
    assert [prediction["text"] for prediction in predictions] == texts
    assert predictions.pop(1) == dict.fromkeys(predictions[0]) | {"text": ""}
    assert [len(prediction["words"]) for prediction in predictions] == [1, 1, 1]
    (single,) = predict(f"text={texts[2]}", "top=1").splitlines()
    assert json.loads(single)["probabilities"] == pytest.approx(predictions[1]["probabilities"], abs=2e-6)


def test_a_table_is_printed_on_request(predict: Any) -> None:
    table = predict("text=an excellent product", "json=false", "top=2")
    assert table.startswith("“an excellent product”")
    assert all(name in table for name in NAMES)
    ranked = table[table.index("most attended") :]
    assert sum(word in ranked for word in ("an ", "excellent", "product")) == 2


def test_a_table_of_predictions_has_the_form_of_the_input(predict: Any, tmp_path: Path) -> None:
    """Excel writes semicolons in German, a byte order mark, and rows without a cell."""
    (tmp_path / "in.csv").write_text("\ufeffid;cleaned_review\n1;good, truly\n;\n2;bad\n")
    assert "Wrote 2 rows" in predict("file=in.csv", "out=out.csv")
    assert "line 3: empty, and therefore skipped" in predict.stderr
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == f"\ufeffid;cleaned_review;{';'.join(COLUMNS)}"
    assert lines[1].startswith("1;good, truly;")


def test_a_page_is_written_on_request(predict: Any, tmp_path: Path) -> None:
    predict("text=an excellent product", "pictures=drawn")
    page = (tmp_path / "drawn" / "page.html").read_text("utf-8")
    assert "excellent</span>" in page and 'data-name="attention, head 1"' in page


COLUMNS = ["predicted", *(f"probability_{name}" for name in NAMES), "only_unknown"]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_predictions_are_written_with_all_input_columns(predict: Any, tmp_path, monkeypatch, ending: str) -> None:
    monkeypatch.setattr("heedful.data.tables.CHUNK", 2)
    texts = ["a good product, truly", None, "qwxz zzyx", "bad\nprice", "  "]
    rows = [{"id": i, "comment": text, "predicted": "mine"} for i, text in enumerate(texts)]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert "Wrote 5 rows" in predict("file=in.jsonl", "text_column=comment", f"out=out.{ending}", "batch_size=2")
    if ending == "jsonl":
        output = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    else:
        output = read_csv(tmp_path / "out.csv")
    assert "lines 2, 5 (2 in all): blank text, so no prediction" in predict.stderr
    assert "line 3: only unknown words" in predict.stderr
    names = ["predicted_2", *COLUMNS[1:]]
    assert list(output[0]) == ["id", "comment", "predicted", *names]
    assert [str(row["id"]) for row in output] == ["0", "1", "2", "3", "4"]
    assert [row["comment"] or None for row in output] == texts
    assert [row["predicted"] for row in output] == ["mine"] * 5
    for i in (1, 4):
        assert {output[i][name] for name in names} <= {None, ""}
    assert [str(output[i]["only_unknown"]).lower() for i in (0, 2, 3)] == ["false", "true", "false"]
    (line,) = predict("text=bad\nprice").splitlines()
    expected = json.loads(line)["probabilities"]
    assert {name: float(output[3][f"probability_{name}"]) for name in NAMES} == pytest.approx(expected, abs=2e-6)
    assert output[3]["predicted_2"] == json.loads(line)["label"]
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", f"out.{ending}"}


def test_lines_are_written_as_a_table(predict: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.data.tables.CHUNK", 2)
    (tmp_path / "texts.txt").write_text("good\n\nbad\n")
    predict("file=texts.txt", "out=new/out.csv")
    header, *lines = (tmp_path / "new" / "out.csv").read_text().splitlines()
    assert header.split(",") == ["text", *COLUMNS]
    assert [line.split(",")[0] for line in lines] == ["good", "", "bad"]


def test_a_bad_row_is_reported_before_any_row_is_classified(predict: Any, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("heedful.data.tables.CHUNK", 5)
    monkeypatch.setattr("heedful.models.ensemble.Ensemble.classify", None)
    (tmp_path / "in.csv").write_text("text,stars\n" + "good,1\n" * 17 + "bad,1,2\n" + "good,1\n" * 17)
    with pytest.raises(SystemExit, match=r"in\.csv: line 19 is malformed \(3 fields where the header has 2"):
        predict("file=in.csv", "text_column=text", "out=out.csv")
    assert {path.name for path in tmp_path.iterdir()} == {"in.csv"}


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_not_change_the_earlier_file(predict: Any, tmp_path, monkeypatch, signum: int) -> None:
    monkeypatch.setattr("heedful.data.tables.CHUNK", 7)
    classify = Ensemble.classify
    sizes = []

    def interrupted(self: Ensemble, texts: list[str], batch_size: int) -> Any:
        sizes.append(len(texts))
        if len(sizes) == 3:
            assert list(tmp_path.glob(".out.csv.*.part"))
            os.kill(os.getpid(), signum)
        return classify(self, texts, batch_size)

    monkeypatch.setattr(Ensemble, "classify", interrupted)
    (tmp_path / "in.jsonl").write_text('{"comment": "a bad price"}\n' * 29)
    (tmp_path / "out.csv").write_text("earlier")
    handler = signal.getsignal(signum)
    with pytest.raises(SystemExit) as exit_info:
        predict("file=in.jsonl", "text_column=comment", "out=out.csv")
    assert exit_info.value.code == 128 + signum
    assert len(sizes) == 3
    assert signal.getsignal(signum) == handler
    assert (tmp_path / "out.csv").read_text() == "earlier"
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "out.csv"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["text=good", "out=a.xlsx"], r"out=a\.xlsx: unknown extension; it must be one of \.csv, \.jsonl"),
        (["text=good", "out=a.csv", "pictures=b"], r"out=… and pictures=… are both set"),
        (["text=good", "delimiter=tab"], r"delimiter=… applies only to a table: name one with file=…"),
        (["text=good", "top=0"], r"(?s:.*)top=0 +must be greater than or equal to 1"),
    ],
)
def test_mistakes_are_reported_in_one_message(predict: Any, arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=f"^Error: .*{message}"):
        predict(*arguments)


def test_the_predictions_for_a_pipe_are_json_lines(checkpoint: Path, tmp_path: Path) -> None:
    output = run(tmp_path, "predict", f"ckpt_path={checkpoint}", stdin="a good product\n\nça va, 映画\n")
    assert [json.loads(line)["text"] for line in output.splitlines()] == ["a good product", "", "ça va, 映画"]
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminal")
def test_the_output_on_a_terminal_is_a_table(checkpoint: Path, tmp_path: Path) -> None:
    (python, *_), options = command(tmp_path, "predict")
    process = complete([python, "-c", TERMINAL, f"ckpt_path={checkpoint}", "text=an excellent product"], options)
    assert process.returncode == 0
    assert "most attended" in process.stderr
    assert "{" not in process.stderr


IMPORTED = """
import sys, heedful
heedful.load(sys.argv.pop()).predict(["good"])
from heedful.commands.predict import main
main()
print(*sys.modules)
from heedful.base.lightning import import_lightning
import_lightning()
import heedful.commands.train, heedful.training.build, pytorch_lightning, torchmetrics
from lightning_utilities.core.imports import RequirementCache
assert RequirementCache("scipy")  # hidden from torchmetrics only
torchmetrics.classification.MulticlassAccuracy(num_classes=3)
print(*sys.modules)
"""


def test_predictions_import_no_package_of_training_and_trainings_none_of_other_metrics(
    checkpoint: Path, store: Any, tmp_path: Path
) -> None:
    """They take several times as long as a prediction."""
    (python, *_), options = command(tmp_path, "predict")
    line = [python, "-c", IMPORTED, f"ckpt_path={checkpoint}", "text=good", str(store("model/branch=ngrams"))]
    process = subprocess.run(line, **options, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr
    predicting, training = (set(line.split()) for line in process.stdout.splitlines()[-2:])
    unused = {"transformers", "datasets", "wandb", "onnxruntime", "pandas", "matplotlib.pyplot", "scipy.signal"}
    assert "torch" in predicting and not unused & training
    unused |= {"lightning_fabric", "matplotlib", "scipy", "torch._dynamo", "rich.console"}
    unused |= set() if torch.__version__.startswith("2.6.") else {"sympy"}  # torch.onnx of 2.6 imports it
    assert not unused & predicting


@pytest.mark.parametrize(("file", "out"), [("a.csv", "./a.csv"), ("~/a.csv", "~/a.csv")])
def test_the_input_file_is_not_overwritten(predict: Any, tmp_path, monkeypatch, file: str, out: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    content = "text\ngood\n"
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(SystemExit, match="this is the input file, which would be overwritten"):
        predict(f"file='{file}'", "text_column=text", f"out='{out}'")
    assert (tmp_path / "a.csv").read_text() == content
