"""The command line of `python -m src.faithfulness`."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from heedful.commands.faithfulness import main
from heedful.runs.faithfulness_record import RECORD_FILE, FaithfulnessRecord
from tests.data.data_files import write_parquet
from tests.helpers import read_csv, train
from tests.report.test_rendering import Reader

CLASSES = ("negative", "neutral", "positive")
FILES = ["faithfulness.csv", "faithfulness.html", "faithfulness.md"]


def train_run(run: Path, attention: str, *options: str, data: str = "small_csv") -> None:
    """Train for an epoch, and add the choices, which Hydra provides, to the record."""
    small = ("model.encoder.hidden_dim=6", "trainer.max_epochs=1", "callbacks=checkpoints")
    result = train(run, f"data={data}", f"model/attention={attention}", *small, *options)
    choices = {"data": data, "encoder": "lstm", "attention": attention}
    (run / "result.json").write_text(json.dumps(result | {"choices": choices}))


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of two attention mechanisms, trained for an epoch."""
    folder = tmp_path_factory.mktemp("sweeps") / "one"
    for attention in ("bahdanau", "multi_head"):
        for seed in (1, 2):
            train_run(folder / f"{attention}_{seed}", attention, f"seed={seed}")
    return folder


def test_a_sweep_is_measured_once(sweep: Path, capsys, monkeypatch) -> None:
    main([str(sweep), "--texts", "3"])
    output = capsys.readouterr()
    assert [path.name for path in sorted(sweep.glob("faithfulness.*"))] == FILES
    assert "bahdanau: 2 seeds, 3 texts" in output.out
    assert "Run 4 of 4: measured in" in output.err
    lines = read_csv(sweep / "faithfulness.csv")
    rankings = {"attention", "attention × gradient", "integrated gradients", "random"}
    assert {line["ranking"] for line in lines} >= rankings
    for line in lines:
        if line["measure"].startswith("normalized_"):
            assert 0 <= float(line["value"]) <= 1
    page = (sweep / "faithfulness.html").read_text(encoding="utf-8")
    for title in ("Variants", "bahdanau: 2 seeds, 3 texts"):
        assert f"<h2>{title}</h2>" in page
    assert "…" not in output.out  # no truncated number
    assert "Exploratory, with fewer than 5 seeds. " in page
    assert Reader(page).elements.count("b") == 2  # a dot for each variant

    def fail(*_: Any) -> FaithfulnessRecord:
        raise AssertionError("a measured run is measured again")

    monkeypatch.setattr("heedful.faithfulness.measurement.measure_run", fail)
    main([str(sweep), "--texts", "3"])
    assert capsys.readouterr().err == ""
    assert read_csv(sweep / "faithfulness.csv") == lines


def test_the_scripts_of_the_study_measure_the_same_runs(sweep: Path, capsys, monkeypatch) -> None:
    from studies.faithfulness import adversary, agreement, erasure, flips, guides, polarity, script, seeds, weights

    main([str(sweep), "--texts", "3"])
    seeds.main([str(sweep)])
    assert "weights: above chance" in capsys.readouterr().out
    runs = [str(sweep / "bahdanau_1"), str(sweep / "bahdanau_2")]
    options = [*runs, "--texts", "3"]
    for module in (guides, adversary):
        monkeypatch.setattr(module, "TRAIN_TEXTS", 7)
        monkeypatch.setattr(module, "EPOCHS", 1)
    modules: dict[str, Any] = {"agreement": agreement, "erasure": erasure, "flips": flips, "polarity": polarity}
    modules |= {"weights": weights, "guides": guides, "adversary": adversary}
    printed = {}
    for name, module in modules.items():
        script.study(name, module.__doc__, module.compute, module.HEADINGS, options)
        printed[name] = capsys.readouterr().out
        assert "bahdanau" in printed[name] and re.search(
            r"\d\.\d", printed[name]
        )  # of two seeds, perhaps without an interval
    monkeypatch.setattr(script, "ProbedRun", lambda *_, **__: pytest.fail("a recorded run is measured again"))
    for name, module in modules.items():
        script.study(name, module.__doc__, module.compute, module.HEADINGS, options)
        assert capsys.readouterr().out == printed[name]
    with pytest.raises(pytest.fail.Exception):
        script.study("polarity", "", polarity.compute, polarity.HEADINGS, [*runs, "--texts", "4"])


def test_damaged_records_are_reported_before_any_run_is_measured(sweep: Path, tmp_path, monkeypatch) -> None:
    folder = shutil.copytree(sweep, tmp_path / "two", ignore=shutil.ignore_patterns("faithfulness.*"))
    (folder / "multi_head_2" / RECORD_FILE).write_bytes(b"not a record")
    monkeypatch.setattr("heedful.faithfulness.measurement.measure_run", lambda *_: pytest.fail("a run is measured"))
    with pytest.raises(SystemExit, match=r"multi_head_2/faithfulness\.npz cannot be read"):
        main([str(folder)])


def test_a_single_run_is_measured_into_a_new_folder(sweep: Path, tmp_path: Path) -> None:
    run = shutil.copytree(sweep / "bahdanau_1", tmp_path / "run", ignore=shutil.ignore_patterns("faithfulness.*"))
    main([str(run), "--texts", "2", "--out", str(tmp_path / "new" / "out")])
    assert [path.name for path in sorted((tmp_path / "new" / "out").iterdir())] == FILES
    measures = {line["measure"] for line in read_csv(tmp_path / "new" / "out" / "faithfulness.csv")}
    assert measures >= {"comprehensiveness_removal", "normalized_sufficiency"}
    other = tmp_path / "other.csv"
    rows = [f"{name} film {i},{name}\n" for name in CLASSES for i in range(10)]
    other.write_text("".join(["cleaned_review,sentiments\n", *rows]))
    main([str(run), "--texts", "2", "--data-path", str(other)])
    of_other = FaithfulnessRecord.load(run)
    main([str(run), "--texts", "2"])
    of_run = FaithfulnessRecord.load(run)
    assert of_other is not None and of_run is not None and of_other.options.data != of_run.options.data


def test_mistakes_are_reported_in_one_message(sweep: Path, tmp_path: Path) -> None:
    def message(*arguments: str) -> str:
        with pytest.raises(SystemExit) as error:
            main(list(arguments))
        return str(error.value)

    assert message("nowhere").startswith("Error: nowhere: no such folder")
    run = shutil.copytree(sweep / "multi_head_1", tmp_path / "run", ignore=shutil.ignore_patterns("faithfulness.*"))
    (run / "checkpoints" / "best.ckpt").write_bytes(b"not a checkpoint")
    assert message(str(run)).startswith(f"Error: {run}/checkpoints/best.ckpt")
    shutil.rmtree(run / "checkpoints")
    assert message(str(run)).startswith(f"Error: {run}: has no checkpoints/best.ckpt or last.ckpt")


@pytest.mark.parametrize("option", [["--texts", "0"], ["--seed", "-1"]])
def test_invalid_options_are_refused(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["folder", *option])
    assert option[0] in capsys.readouterr().err


def test_rankings_are_compared_with_human_rationales(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rationale of each review is the only word that depends on the label."""
    from studies.faithfulness import plausibility, script

    words = ["good", "bad"]
    texts = [f"a film , it is {words[i % 2]} I think number{i}" for i in range(24)]
    spans = [[{"start": 5, "end": 6}]] * 24
    for split in ("train", "validation", "test"):
        path = tmp_path / f"{split}.parquet"
        write_parquet(path, text=texts, label=["positive", "negative"] * 12, rationale=spans, file=[split] * 24)
    run = tmp_path / "runs" / "one"
    train_run(run, "bahdanau", f"data.path='{tmp_path}'", "data.batch_size=4", data="eraser_movies")
    script.study("plausibility", "", plausibility.compute, plausibility.HEADINGS, [str(run), "--texts", "9"])
    assert "human rationales" in " ".join(capsys.readouterr().out.split())
    record = FaithfulnessRecord.load(run, script.record_file("plausibility"))
    assert record is not None and (values := record.values("auprc", "random")) is not None
    assert 0.1 <= values.mean() <= 0.9  # of 9 or 10 tokens, one is marked
    train_run(tmp_path / "other", "bahdanau")
    with pytest.raises(SystemExit, match="other: the texts have no human rationales, as those of data=eraser_movies"):
        script.study("plausibility", "", plausibility.compute, plausibility.HEADINGS, [str(tmp_path / "other")])
