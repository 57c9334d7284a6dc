"""A checkpoint alone is enough to evaluate it, and it reads other data as it read its own."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from src.data.sources.table import Table
from src.errors import UserError
from tests.helpers import evaluate, run, train

NAMES = ("bad", "fair", "good")


def write(path: Path, rows: int, names: tuple[str, ...] = NAMES) -> Path:
    """Reviews that name their class, of 3 to 13 words."""
    lines = [f"film w{i % 7} {'so ' * (i % 11)}{names[i % len(names)]},{names[i % len(names)]}" for i in range(rows)]
    path.write_text("\n".join(["text,label", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of a run on a file whose path was relative, and its result."""
    folder = tmp_path_factory.mktemp("own")
    write(folder / "reviews.csv", 61)
    before = Path.cwd()
    os.chdir(folder)
    try:
        options = ("data=csv", "data.path=reviews.csv", "data.cache_dir=tokens", "data.max_length=5", "data.keep=last")
        result = train(folder / "run", "callbacks=checkpoints", "model/encoder=rnn", *options)
    finally:
        os.chdir(before)
    return folder / "run", result


def best(run: tuple[Path, dict[str, Any]]) -> Path:
    return run[0] / "checkpoints" / "best.ckpt"


@pytest.mark.parametrize("split", ["test", "val"])
def test_its_own_data_give_the_same_numbers(own: tuple[Path, dict[str, Any]], tmp_path: Path, split: str) -> None:
    """From another folder than the one in which the data's path was written."""
    result = evaluate(tmp_path / "eval", best(own), f"split={split}")
    expected = {name: metric for name, metric in own[1]["metrics"].items() if name.startswith(f"{split}/")}
    assert result["metrics"] == expected
    assert result["data"] == own[1]["data"]
    assert result["status"] == "completed"
    for name in ("probabilities", "labels", "index"):
        old, new = (np.load(folder / "predictions" / f"{split}.npz")[name] for folder in (own[0], tmp_path / "eval"))
        assert np.array_equal(old, new), name


def test_it_is_tokenized_once(
    own: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(tmp_path / "first", best(own))
    monkeypatch.setattr(Table, "read", pytest.fail)
    evaluate(tmp_path / "second", best(own))
    assert list((own[0].parent / "tokens").glob("*.npz"))


def elsewhere(folder: Path, path: Path) -> list[str]:
    return ["data=csv", f"data.path={path}", f"data.test_path={path}", f"data.cache_dir={folder / 'cache'}"]


def test_other_data_are_read_as_the_model_read_its_own(own: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """The same reviews as another file, all of them tested: each gets the answer that it got at home."""
    other = write(tmp_path / "other.csv", 61)
    result = evaluate(tmp_path / "eval", best(own), *elsewhere(tmp_path, other), "data/tokenizer=whitespace")
    assert result["data"]["vocabulary"] == own[1]["data"]["vocabulary"]
    assert result["data"]["test"] == 61
    probabilities = [
        {tuple(row) for row in np.load(folder / "predictions" / "test.npz")["probabilities"].round(5).tolist()}
        for folder in (own[0], tmp_path / "eval")
    ]
    assert probabilities[0] <= probabilities[1]


@pytest.mark.parametrize("names", [("good", "bad"), ("good", "fair", "bad")], ids=["a subset", "another order"])
def test_classes_go_by_name(own: tuple[Path, dict[str, Any]], tmp_path: Path, names: tuple[str, ...]) -> None:
    other = write(tmp_path / "other.csv", 37, names)
    listed = f"data.labels=[{','.join(names)}]"
    result = evaluate(tmp_path / "eval", best(own), *elsewhere(tmp_path, other), listed)
    assert result["data"]["class_names"] == list(NAMES)
    with np.load(tmp_path / "eval" / "predictions" / "test.npz") as arrays:
        names_read = [NAMES[label] for label in arrays["labels"]]
    assert names_read == [names[i % len(names)] for i in range(37)]


def test_a_class_that_the_model_lacks_is_named(own: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    other = write(tmp_path / "other.csv", 37, ("bad", "goood"))
    with pytest.raises(
        UserError, match=r"class 'goood' is not among the classes of the model, bad, fair, good \(did you mean 'good'"
    ):
        evaluate(tmp_path / "eval", best(own), *elsewhere(tmp_path, other))
    result = json.loads((tmp_path / "eval" / "result.json").read_text())
    assert result["status"] == "failed"


def test_single_options_of_its_own_data_may_be_changed(own: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    result = evaluate(tmp_path / "eval", best(own), "+data.limit=5", "+data.batch_size=2")
    assert result["data"]["test"] == 5
    with pytest.raises(UserError, match=r"data\.limmit=5 +no such option; did you mean data\.limit"):
        evaluate(tmp_path / "wrong", best(own), "+data.limmit=5")


def test_data_that_are_gone_are_named(own: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"data\.path=/gone/reviews\.csv"):
        evaluate(tmp_path / "eval", best(own), "+data.path=/gone/reviews.csv")


def test_the_command_needs_nothing_but_the_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    output = run(tmp_path, "eval", f"ckpt_path={checkpoint}", "callbacks=none", "logger=none")
    assert "test/acc" in output
    (result,) = (tmp_path / "outputs" / "eval" / "runs").glob("*/result.json")
    assert json.loads(result.read_text())["command"].startswith("python -m src.eval ckpt_path=")
