"""Predictions that are unsure: `abstain` in the command, in files and in Python."""

import json
from pathlib import Path
from typing import Any

import pytest

from heedful import load
from heedful.base.errors import UserError
from heedful.inference.abstention import choose_limit
from tests.helpers import change_checkpoint, evaluate, read_csv, run, saved_predictions, train
from tests.portable.exports import Call, export, run_script

TEXTS = ["A great film, a film to remember", "dull"]
# of 10, 8 and 4 texts, from confidences that all texts, those above 0.5, and none reach
LIMITS = [[1.5, 4, 0, 0.0, 0.49], [0.5, 8, 1, 0.02, 0.47], [0.0, 10, 3, 0.11, 0.6]]


@pytest.fixture
def model(finished: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    """A checkpoint with the limits above."""

    def change(content: dict[str, Any]) -> None:
        card = json.loads(content["heedful"])
        card["codec"]["task"]["limits"] = LIMITS
        content["heedful"] = json.dumps(card)

    return change_checkpoint(finished[0] / "checkpoints" / "best.ckpt", change, tmp_path / "model.ckpt")


@pytest.mark.parametrize(("error", "texts"), [(0.2, 4), (0.23, 8), (0.37, 10)])
def test_the_lowest_limit_with_the_expected_error_is_chosen(model: Path, error: float, texts: int, caplog) -> None:
    assert choose_limit(load(model), error).texts == texts
    assert "10 validation texts are few" in caplog.text


def test_an_error_that_no_limit_reaches_is_reported_with_the_lowest(model: Path) -> None:
    with pytest.raises(UserError, match=r"on the 10 validation texts.* 20.0 %, for 40.0 % of them: write abstain=0.2 "):
        load(model).predict(TEXTS, abstain=0.1)


def test_predictions_below_the_limit_are_unsure_and_keep_their_probabilities(model: Path, tmp_path: Path) -> None:
    plain, unsure = load(model).predict(TEXTS), load(model).predict(TEXTS, abstain=0.2)
    assert [each.label for each in unsure] == ["unsure"] * 2 and "unsure" in unsure[0]._repr_html_()
    assert [each.probabilities for each in unsure] == [each.probabilities for each in plain]
    assert load(model).predict(TEXTS, abstain=0.4) == plain
    options = [f"ckpt_path='{model}'", "abstain=0.2"]
    records = list(map(json.loads, run(tmp_path, "predict", *options, stdin="\n".join(TEXTS)).splitlines()))
    assert [(each["label"], each["likeliest"]) for each in records] == [("unsure", each.label) for each in plain]
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    run(tmp_path, "predict", *options, "file=texts.txt", "out=out.csv")
    rows = read_csv(tmp_path / "out.csv")
    assert [(row["predicted"], row["likeliest"]) for row in rows] == [("unsure", each.label) for each in plain]


def test_an_ensemble_does_not_abstain(model: Path, finished: tuple[Path, dict[str, Any]]) -> None:
    with pytest.raises(UserError, match="needs a single model"):
        load([model, finished[0]]).predict(TEXTS, abstain=0.2)


def test_a_calibrated_run_stores_its_temperature_and_the_error_before(finished, tmp_path) -> None:
    before = finished[1]["metrics"]
    metrics = train(tmp_path / "run", "calibrate=true", "data.batch_size=4", "callbacks=checkpoints")["metrics"]
    assert metrics["test/ece_uncalibrated"]["value"] == pytest.approx(before["test/ece"]["value"], abs=1e-6)
    assert metrics["test/acc"] == before["test/acc"] and "test/ece_uncalibrated" not in before
    found, plain = map(saved_predictions, (tmp_path / "run", finished[0]))
    temperature = load(tmp_path / "run").task.temperature  # type: ignore[attr-defined]
    assert temperature == found.task.temperature != 1  # type: ignore[attr-defined]
    powers = plain.probabilities.astype(float) ** (1 / temperature)
    assert found.probabilities == pytest.approx(powers / powers.sum(1, keepdims=True), abs=1e-6)
    assert evaluate(tmp_path / "eval", tmp_path / "run")["metrics"]["test/ece"] == metrics["test/ece"]
    limits = load(tmp_path / "run").task.limits  # type: ignore[attr-defined]
    assert limits[-1].texts == 3
    export(tmp_path / "run", tmp_path / "export")
    options = ("", f"--abstain={limits[-1].expected_error}", "--abstain=0.001", "--abstain=x", "--abstian=1")
    calls = [Call((option, TEXTS[0]) if option else (TEXTS[0],)) for option in options]
    plain, sure, too_low, no_number, misspelt = run_script(tmp_path / "export", *calls)
    assert sure.results == plain.results and sure.results[0]["label"] != "unsure"
    assert "Error: abstain=0.001: no confidence" in too_low.message and "'x'" in no_number.message
    assert misspelt.message.startswith("Error: --abstian=1: no such option")


@pytest.mark.parametrize("error", [0, 1.0, "0.02"])
def test_an_error_out_of_range_is_refused_as_in_the_command(model: Path, error: Any) -> None:
    with pytest.raises(UserError, match=f"abstain={error}: .*such as 0.02"):
        load(model).predict(TEXTS, abstain=error)
