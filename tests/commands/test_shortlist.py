"""The command and the function `shortlist`: the race, its files, what it says, and how it goes on."""

import json
import re
import signal
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from heedful import load, shortlist
from heedful.base.errors import UserError
from heedful.base.process import Interrupted
from heedful.commands import shortlist as command
from heedful.commands.shortlist import Shortlist
from heedful.runs.run_files import Predictions
from heedful.selection.answer import Answer
from heedful.selection.race import Entry, Fit
from heedful.tasks.multiclass import Multiclass

CANDIDATES = {
    "linear": ["model=linear"],
    "words": ["model=linear", "model.branch.max_order=1"],
    "small": ["model/encoder=identity", "model/attention=none", "trainer.max_epochs=1"],
}
TEXTS = [f"{word} {other}" for word in ("good", "bad") for other in "abcdefghijklmnopqrs"]
DATA = (TEXTS, ["yes"] * 19 + ["no"] * 19)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Shortlist:
    folder = tmp_path_factory.mktemp("shortlist") / "out"
    return shortlist("threads=1", data=DATA, candidates=CANDIDATES, folder=folder, verbose=False)


def test_the_answer_has_a_leaderboard_and_a_winner_that_predicts(found: Shortlist) -> None:
    page, table = ((found.folder / name).read_text() for name in ("page.html", "shortlist.md"))
    assert re.match("Use (linear|words): nothing tried was better, and it is the cheapest", repr(found))
    for text in (page, table):
        assert "nothing tried was better" in text and "small" in text and "5 of 5" in text
        assert "Without the luck of the choice, the score of" in text
    assert found.answer.finalists[0].terms().mean() == 1
    model = load(found.folder / "winner")
    assert [prediction.label for prediction in model.predict(["good x", "bad x"])] == ["yes", "no"]


def test_each_text_is_held_out_once_and_all_candidates_see_the_same_texts(found: Shortlist) -> None:
    linear, words, small = (
        [part.labels.tolist() for part in candidate.predictions] for candidate in found.answer.entries
    )
    assert [len(labels) for labels in linear] == [8, 8, 8, 7, 7]
    assert words == linear and small == linear[: len(small)]
    assert sum(map(sum, linear)) == 19


def test_an_interrupted_race_goes_on(found: Shortlist) -> None:
    path = found.folder / "fits.json"
    record = json.loads(path.read_text())
    known = record["fits"].pop("words/4")
    path.write_text(json.dumps(record))
    again = shortlist("threads=1", data=DATA, candidates=CANDIDATES, folder=found.folder, verbose=False)
    fits = json.loads(path.read_text())["fits"]
    assert fits["words/4"] != known and {**fits, "words/4": known} == {**record["fits"], "words/4": known}
    assert [e.terms().tolist() for e in again.answer.entries] == [e.terms().tolist() for e in found.answer.entries]
    with pytest.raises(UserError, match=r"holds a race with other candidates or options: choose another out"):
        shortlist("threads=1", "seed=3", data=DATA, candidates=CANDIDATES, folder=found.folder, verbose=False)


def test_the_race_ends_in_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in zip(*DATA, strict=True)))
    lines = ["data=csv", f"data.path={path}", "minutes=0.0001", "candidates=[linear,cnn]", f"out={tmp_path / 'out'}"]
    command.main(lines)
    out, progress = capsys.readouterr()
    assert progress.count("linear: fold ") == 5 and "cnn: fold" not in progress
    assert "Use linear" in out and "Not tried to the end: cnn" in " ".join(out.split())


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["minutes=soon"], "minutes=soon: must be a number"),
        (["minutes=0"], "minutes=0.0: must be greater than 0"),
        (["--minutes=3"], "--minutes=3: no such flag"),
        (["candidates=[linear,nonesuch]"], "experiment=nonesuch no such choice"),
        (["optimizer.lrr=1"], "optimizer.lrr=1 no such option"),
        (["data.path=nonesuch.csv", "data=csv"], "data.path=nonesuch.csv: there is no 'nonesuch.csv'"),
    ],
)
def test_a_mistake_is_reported_before_the_race(lines: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as error:
        command.main([*lines, f"out={tmp_path / 'out'}"])
    assert message in " ".join(str(error.value).split()) and not (tmp_path / "out").exists()


def test_ctrl_c_ends_the_command_and_says_how_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("heedful.commands.trained_run.train_classifier", Mock(side_effect=Interrupted(signal.SIGINT)))
    with pytest.raises(SystemExit) as end:
        command.main([f"out={tmp_path / 'out'}"])
    assert end.value.code == 128 + signal.SIGINT
    assert f"Interrupted. The same with out={tmp_path / 'out'} goes on" in capsys.readouterr().err


def entry(name: str, hits: Sequence[int], ms: float, cpu: float = 1.0, folds: int = 5) -> Entry:
    """Return a candidate that gets these texts of class b right, of three classes; the others are of class a."""
    labels = np.arange(len(hits)) % 3
    predicted = np.where(np.asarray(hits) == 1, labels, (labels + 1) % 3)
    rows = [np.arange(len(hits))[fold::5] for fold in range(folds)]
    task = Multiclass(("a", "b", "c"))
    parts = [Predictions("test", np.eye(3)[predicted[r]], labels[r], task, r) for r in rows]
    return Entry(name, (), [Fit(2, cpu, ms, 0.5)] * folds, parts)


def of(*counts: tuple[int, int]) -> list[int]:
    """Return hits: (7, 1) are 7 texts that are right."""
    return [hit for count, hit in counts for _ in range(count)]


LINEAR = of((420, 1), (180, 0))
BETTER = of((480, 1), (120, 0))
ABOVE = of((424, 1), (176, 0))
SAME = of((421, 1), (179, 0))


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        (
            [("net", BETTER, 0.5, 1.5)],
            r"Use net: at least 7\.\d points better than linear on your texts \(best guess 10\.0 points\)",
        ),
        (
            [("net", ABOVE, 0.5, 1.5)],
            r"Use net: probably 0\.7 points better than linear \(-?\d\.\d to 1\.\d; 600 texts cannot",
        ),
        (
            [("net", ABOVE, 3.0, 1.5)],
            r"Use linear: net scores about the same \(0\.7 points better; .*\) and answers 15 times slower",
        ),
        (
            [("net", SAME, 0.2, 90)],
            r"Use linear: net scores about the same \(0\.2 points .*\) and costs 90 times as much to train",
        ),
        ([("net", LINEAR[::-1], 0.2, 9)], r"Use linear: nothing tried was better, and it is the cheapest"),
    ],
)
def test_the_recommendation(others: list[tuple[str, list[int], float, float]], sentence: str) -> None:
    entries = [entry("linear", LINEAR, 0.2), *(entry(*other) for other in others)]
    text = ". ".join(Answer.of(entries, 30.0).sentences())
    assert re.match(sentence, text), text
