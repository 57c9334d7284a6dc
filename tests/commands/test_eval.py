"""Evaluation of checkpoints on the data of their training and on other data."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heedful.base.errors import UserError
from heedful.data.reading import Reading
from tests.helpers import change_checkpoint, evaluate, run, saved_predictions, train

NAMES = ("bad", "fair", "good")
TrainingRun = tuple[Path, dict[str, Any]]  # its folder and its result


def write(path: Path, rows: int, names: tuple[str, ...] = NAMES) -> Path:
    """Write reviews of 3 to 13 words, the last of which is the class."""
    lines = [f"film w{i % 7} {'so ' * (i % 11)}{names[i % len(names)]},{names[i % len(names)]}" for i in range(rows)]
    path.write_text("\n".join(["text,label", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def training_run(tmp_path_factory: pytest.TempPathFactory) -> TrainingRun:
    """The folder and the result of a run with a relative `data.path`."""
    folder = tmp_path_factory.mktemp("data")
    write(folder / "reviews.csv", 61)
    working_folder = Path.cwd()
    os.chdir(folder)
    try:
        options = ("data=csv", "data.path=reviews.csv", "data.cache_dir=tokens", "data.max_length=5", "data.keep=last")
        result = train(folder / "run", "callbacks=checkpoints", "model/encoder=rnn", *options)
    finally:
        os.chdir(working_folder)
    return folder / "run", result


@pytest.mark.parametrize("split", ["test", "val"])
def test_evaluation_reproduces_the_scores_of_the_run(training_run: TrainingRun, tmp_path: Path, split: str) -> None:
    """The working folder is not the folder to which the path of the data is relative."""
    result = evaluate(tmp_path / "eval", training_run[0], f"split={split}")
    expected = {name: metric for name, metric in training_run[1]["metrics"].items() if name.startswith(f"{split}/")}
    assert result["metrics"] == expected
    assert result["data"] == training_run[1]["data"]
    assert result["status"] == "completed"
    original, repeated = (saved_predictions(folder, split) for folder in (training_run[0], tmp_path / "eval"))
    assert all(map(np.array_equal, original, repeated))


def test_the_data_are_tokenized_once(training_run: TrainingRun, tmp_path, monkeypatch) -> None:
    evaluate(tmp_path / "first", training_run[0])
    monkeypatch.setattr(Reading, "write", pytest.fail)
    evaluate(tmp_path / "second", training_run[0])
    assert list((training_run[0].parent / "tokens").glob("*/train.tokens.npy"))


def other_data(folder: Path, path: Path) -> list[str]:
    return ["data=csv", f"data.path={path}", f"data.test_path={path}", f"data.cache_dir={folder / 'cache'}"]


def test_other_data_are_encoded_with_the_codec_of_the_checkpoint(training_run: TrainingRun, tmp_path: Path) -> None:
    """The other file has the same reviews, all in its test split, so its probabilities include those of the run."""
    other = write(tmp_path / "other.csv", 61)
    options = (*other_data(tmp_path, other), "data/tokenizer=whitespace")
    result = evaluate(tmp_path / "eval", training_run[0], *options)
    assert result["data"]["vocabulary"] == training_run[1]["data"]["vocabulary"]
    assert result["data"]["test"] == 61
    own, others = (saved_predictions(folder).probabilities for folder in (training_run[0], tmp_path / "eval"))
    assert np.abs(own[:, None] - others[None]).max(2).min(1).max() < 1e-5


@pytest.mark.parametrize("names", [("good", "bad"), ("good", "fair", "bad")], ids=["a subset", "another order"])
def test_classes_are_matched_by_name(training_run: TrainingRun, tmp_path: Path, names: tuple[str, ...]) -> None:
    other = write(tmp_path / "other.csv", 37, names)
    labels_option = f"data.labels=[{','.join(names)}]"
    result = evaluate(tmp_path / "eval", training_run[0], *other_data(tmp_path, other), labels_option)
    assert result["data"]["class_names"] == list(NAMES)
    assert [NAMES[label] for label in saved_predictions(tmp_path / "eval").labels] == [
        names[i % len(names)] for i in range(37)
    ]


def test_rows_of_classes_that_the_models_lack_count_as_wrong_or_are_left_out(
    training_run: TrainingRun, three_runs: list[Path], tmp_path: Path
) -> None:
    other = write(tmp_path / "other.csv", 36, ("bad", "Bewerbung"))
    many = f"[{three_runs[0]},{three_runs[1]}]"
    options = (*other_data(tmp_path, other), "unknown_classes=wrong", "callbacks=attention")
    assert evaluate(tmp_path / "many", many, *options)["classes"]["test"]["Bewerbung"]["f1"] == 0
    examples = json.loads((tmp_path / "many" / "attention.json").read_text())
    assert {"bad", "Bewerbung"} == {example["label"] for example in examples}
    results = {
        choice: evaluate(tmp_path / choice, training_run[0], *other_data(tmp_path, other), f"unknown_classes={choice}")
        for choice in ("wrong", "drop")
    }
    assert [result["data"]["test"] for result in results.values()] == [36, 18]
    wrong, right = (result["metrics"]["test/acc"]["value"] for result in results.values())
    assert wrong == pytest.approx(right / 2)
    assert results["wrong"]["classes"]["test"]["Bewerbung"]["f1"] == 0
    message = r"other.csv: lines 3, .*: label 'Bewerbung' is not among .*good\. Correct.*unknown_classes=wrong counts"
    with pytest.raises(UserError, match=message):  # not "did you mean"
        evaluate(tmp_path / "error", training_run[0], *other_data(tmp_path, other))
    assert json.loads((tmp_path / "error" / "result.json").read_text())["status"] == "failed"


def test_the_command_requires_only_the_run(checkpoint: Path, tmp_path: Path) -> None:
    output = run(tmp_path, "eval", f"ckpt_path={checkpoint.parent.parent}", "callbacks=none", "logger=none")
    assert "test/acc" in output
    assert "The model was trained on 0 of 8 test texts.\n" in output
    (result,) = (tmp_path / "outputs" / "eval" / "runs").glob("*/result.json")
    assert json.loads(result.read_text())["command"].startswith("python -m src.eval ckpt_path=")


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("one class.csv", "text,label\nso good,good\nfilm,good\n", []),
        ("one row of each.csv", "comment;topic\na;good\nb;bad\n", ["text_column=comment", "label_column=topic"]),
        ("one row.jsonl", '{"text": "so bad", "label": "bad", "id": 3}\n', []),
        ("delimiter.csv", "text~label\na~bad\n", ["delimiter='~'"]),
        ("numbers.csv", 'text,label\n"a, b",1.0\nc,2\nd,good\n', ["+data.labels={1: bad, 2: good}"]),
        ("quotes.tsv", 'text\tlabel\n"a\tbad\n', ["quotes=false"]),
    ],
)
def test_all_rows_of_a_file_are_scored(name, content, options, training_run, tmp_path) -> None:
    (tmp_path / name).write_text(content)
    rows = len(content.splitlines()) - (not name.endswith("jsonl"))
    result = evaluate(tmp_path / "eval", training_run[0], f"file='{tmp_path / name}'", *options)
    predictions = saved_predictions(tmp_path / "eval")
    assert len(predictions.labels) == result["data"]["test"] == rows
    hits = predictions.probabilities.argmax(1) == predictions.labels
    assert result["metrics"]["test/acc"]["value"] == pytest.approx(hits.mean())
    assert result["choices"]["data"] == name
    assert result["data"]["splits"].keys() == {"test"}
    assert result["data"]["majority_class"] == training_run[1]["data"]["majority_class"]


def test_wrong_files_are_reported(training_run: TrainingRun, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,bad\nb,\n")
    mistakes = (
        (f"file='{tmp_path}/b.csv'", r"^file=.*b\.csv: there is no 'b\.csv'"),
        (f"file='{tmp_path}/a.csv'", r"line 3: no 'text' or no 'label'"),
        (f"file='{tmp_path}/a.csv' text_column=comment", r"no column 'comment'"),
        (f"file='{tmp_path}/a.csv' +data.labels=[x,y]", r"the model has only other classes, bad, fair, good"),
    )
    for number, (option, message) in enumerate(mistakes):
        with pytest.raises(UserError, match=message):
            evaluate(tmp_path / str(number), training_run[0], *option.split(" "))
    evaluate(tmp_path / "eval", training_run[0], f"file='{tmp_path}/a.csv'", "+data.on_bad_rows=drop")


def test_data_sets_are_scored_whole(training_run: TrainingRun, tmp_path: Path) -> None:
    """The test split of another data set is scored or, if it has none, all of its texts; a validation split, too."""
    other, path = write(tmp_path / "other.csv", 37), f"data.path={tmp_path / 'other.csv'}"
    assert evaluate(tmp_path / "a", training_run[0], "data=csv", path)["data"]["test"] == 37
    paths = [path, f"data.val_path={write(tmp_path / 'val.csv', 7)}", f"data.test_path={other}"]
    assert evaluate(tmp_path / "b", training_run[0], "data=csv", *paths, "split=val")["data"]["val"] == 7
    for options, message in (
        (["split=val"], r"split=val: .*other\.csv has no validation split"),
        (["data.folds=3", "data.fold=0"], r"data\.folds: all texts are scored"),
    ):
        with pytest.raises(UserError, match=message):
            evaluate(tmp_path / options[0], training_run[0], "data=csv", path, *options)


def test_texts_that_the_model_was_trained_on_are_counted(training_run: TrainingRun, tmp_path, capsys) -> None:
    """The file repeats the 61 different reviews of the training file, and adds others."""
    other = write(tmp_path / "other.csv", 73)
    result = evaluate(tmp_path / "eval", training_run[0], f"file='{other}'", draws=True)
    count, summary = training_run[1]["data"]["train"], result["data"]["splits"]["test"]
    assert (summary["in_train"], summary["checked"]) == (count, 73)
    assert f"The model was trained on {count} of 73 test texts, so the scores" in capsys.readouterr().out
    assert f"The model was trained on {count} of 73 test texts" in (tmp_path / "eval" / "page.html").read_text()
    rows = [line.rsplit(",", 1) for line in other.read_text().splitlines()[1:]]
    lines = [f"{text.upper().replace(' ', '  ')},{label}" for text, label in rows]
    respelled = tmp_path / "respelled.csv"
    respelled.write_text("\n".join(["text,label", *lines]))
    result = evaluate(tmp_path / "respelled", training_run[0], f"file='{respelled}'")
    assert result["data"]["splits"]["test"] == summary
    best, old = training_run[0] / "checkpoints" / "best.ckpt", tmp_path / "old.ckpt"
    change_checkpoint(best, lambda content: content.pop("trained_tokens"), old)  # of an earlier version
    assert evaluate(tmp_path / "0", old, f"file='{other}'")["data"]["splits"]["test"] == summary
    assert evaluate(tmp_path / "1", old, f"file='{respelled}'")["data"]["splits"]["test"]["in_train"] == 0
    change_checkpoint(old, lambda content: content.pop("trained_texts"))  # of a still earlier one
    assert evaluate(tmp_path / "2", old)["data"]["splits"]["test"]["in_train"] is None
    assert "It is unknown how many of the test texts the model was trained on" in capsys.readouterr().out


def test_changed_training_data_are_reported(training_run: TrainingRun, tmp_path, caplog) -> None:
    original, moved = training_run[0].parent / "reviews.csv", tmp_path / "moved.csv"
    moved.write_text(original.read_text())
    for options in ((), ("+data.limit=9",)):
        evaluate(tmp_path / f"moved{len(options)}", training_run[0], f"+data.path='{moved}'", *options)
    assert "has changed" not in caplog.text
    write(moved, 73)
    result = evaluate(
        tmp_path / "changed", training_run[0], f"+data.path='{moved}'", "+data.limit=9", "+data.batch_size=2"
    )
    assert "moved.csv has changed since the training: its splits were drawn anew" in caplog.text
    assert result["data"]["test"] == 9


def test_a_fold_of_a_cross_validation_and_its_ensemble_are_told_apart(tmp_path: Path) -> None:
    """Each test text of a fold is a training or validation text of the other fold's model."""
    path = write(tmp_path / "a.csv", 61)
    for fold in (0, 1):
        options = ("data=csv", f"data.path={path}", "data.folds=2", f"data.fold={fold}", "data.val_fraction=0.1")
        train(tmp_path / f"fold{fold}", "callbacks=checkpoints", "model/encoder=rnn", *options)
    alone = evaluate(tmp_path / "alone", tmp_path / "fold0")["data"]
    both = evaluate(tmp_path / "both", f"[{tmp_path}/fold0,{tmp_path}/fold1]")["data"]
    assert (alone["test"], alone["splits"]["test"]["in_train"]) == (31, 0)
    other = json.loads((tmp_path / "fold1" / "result.json").read_text())["data"]
    assert both["splits"]["test"]["in_train"] == other["train"]


@pytest.fixture(scope="module")
def three_runs(training_run: TrainingRun) -> list[Path]:
    """The folders of three runs on the same file; the third run has another tokenizer."""
    data = ("data=csv", f"data.path={training_run[0].parent / 'reviews.csv'}", "data.max_length=5", "data.keep=last")
    options = [("model/encoder=gru",), ("data/tokenizer=bpe",)]
    for i, line in enumerate(options):
        train(training_run[0].parent / f"other{i}", "callbacks=checkpoints", f"seed={i + 1}", *data, *line)
    return [training_run[0], training_run[0].parent / "other0", training_run[0].parent / "other1"]


def test_several_checkpoints_give_mean_probabilities(three_runs: list[Path], tmp_path: Path) -> None:
    paths = ",".join(str(run / "checkpoints" / "best.ckpt") for run in three_runs)
    arguments = ["callbacks=attention", "callbacks.attention.examples=4"]
    result = evaluate(tmp_path / "eval", f"[{paths}]", *arguments, draws=True)
    single = []
    for i, run_folder in enumerate(three_runs):
        evaluate(tmp_path / str(i), run_folder / "checkpoints" / "best.ckpt")
        single.append(saved_predictions(tmp_path / str(i)))
    mean, labels = np.mean([predictions.probabilities for predictions in single], 0), single[0].labels
    ensemble = saved_predictions(tmp_path / "eval")
    assert ensemble.probabilities == pytest.approx(mean, abs=1e-6)
    assert np.array_equal(ensemble.labels, labels)
    assert result["metrics"]["test/acc"]["value"] == pytest.approx((mean.argmax(1) == labels).mean())
    assert result["parameters"]["total"] == sum(result["parameters"]["by_part"].values())
    assert list(result["parameters"]["by_part"]) == ["model_1", "model_2", "model_3"]
    for example in json.loads((tmp_path / "eval" / "attention.json").read_text()):
        assert list(example["probabilities"].values()) == pytest.approx(mean[example["index"]], abs=1e-5)
