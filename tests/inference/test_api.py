"""Trained models in Python: `from heedful import load`."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from datasets import Dataset
from omegaconf import OmegaConf

from heedful import load
from heedful.base.errors import UserError
from heedful.inference.api import Prediction, with_data
from tests.helpers import ROOT, change_card, change_checkpoint, evaluate


def test_a_file_is_divided_into_the_groups_of_the_training(checkpoint: Path, tmp_path: Path) -> None:
    (card,) = (member.card for member in load(checkpoint).members)
    card = card.model_copy(update={"config": {**card.config, "data": {**card.config["data"], "group": "customer"}}})
    options = {"text_column": "text", "label_column": "label", "delimiter": None, "quotes": True}
    for header, group in (("text;label;customer", "customer"), ("text;label;id", None)):
        path = tmp_path / f"{group}.csv"
        path.write_text(f"{header}\ngood;1;a\n")
        cfg = OmegaConf.create({"ckpt_path": "a", "file": str(path), "extras": {"trusted_modules": []}, **options})
        assert with_data(cfg, card).data.group == group


def test_a_run_stands_for_its_best_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    run = checkpoint.parent.parent
    assert [member.name for member in load(run).members] == [str(run / "checkpoints" / "best.ckpt")]
    with pytest.raises(UserError, match="names a checkpoint twice"):
        load([run, run / "checkpoints" / "best.ckpt"])
    with pytest.raises(UserError, match=rf"{tmp_path}: has no checkpoints/best\.ckpt: name the folder of a run, or a"):
        load(tmp_path)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "last.ckpt").touch()
    with pytest.raises(UserError, match=r"has no checkpoints/best\.ckpt: name one of its files: last\.ckpt"):
        load(tmp_path)


@pytest.mark.parametrize("texts", ["A film to remember", b"film", [b"film"], [3], [("a", 3)]])
def test_values_that_are_not_texts_are_refused(texts: Any, checkpoint: Path) -> None:
    model = load(checkpoint)
    for read in (model.predict, model.predict_proba, model.explain):
        with pytest.raises(TypeError, match="texts must be a list of texts"):
            read(texts)


def test_any_iterable_of_texts_is_accepted(checkpoint: Path) -> None:
    state = torch.get_rng_state()
    model, texts = load(checkpoint), ["A film to remember", "dull"]
    assert torch.equal(torch.get_rng_state(), state)
    for iterable in (iter(texts), tuple(texts), dict.fromkeys(texts).keys(), pa.array(texts)):
        assert model.predict(iterable) == model.predict(texts)
    assert model.predict([]) == []


def test_a_table_has_the_names_of_the_training_or_only_texts(checkpoint: Path) -> None:
    model, texts = load(checkpoint), ["A film to remember", "dull"]
    columns = {"label": ["x", "y"], "cleaned_review": texts}  # in another order than in training
    for table in (columns, pd.DataFrame(columns), Dataset.from_dict(columns), pd.DataFrame({"comment": texts})):
        assert model.predict(table) == model.predict(texts)
    with pytest.raises(UserError, match=r"texts: no column 'cleaned_review'; its columns are 'comment', 'label'"):
        model.predict({"comment": texts, "label": ["x", "y"]})


@pytest.mark.parametrize("blank", ["", " \n", None])
@pytest.mark.parametrize(
    "as_table", [list, lambda texts: pd.DataFrame({"cleaned_review": texts})], ids=["list", "frame"]
)
def test_a_blank_text_has_no_label(blank: str | None, as_table: Any, checkpoint, caplog) -> None:
    model = load(checkpoint)
    found = model.predict(as_table(["dull", blank, "fine"]))
    assert [found[0], found[2]] == model.predict(["dull", "fine"])
    assert (found[1].label, found[1].probabilities, found[1].tokens) == (None, {}, [])
    assert "blank text" in found[1]._repr_html_()
    assert "texts: row 1, counted from 0: blank text, so no prediction" in caplog.text
    probabilities = model.predict_proba(as_table([blank, "fine"]))
    assert np.isnan(probabilities[0]).all() and probabilities[1].tolist() == model.predict_proba(["fine"])[0].tolist()
    assert np.isnan(model.predict_proba(as_table([blank]))).all()


def test_a_device_that_the_machine_lacks_is_reported(checkpoint, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert next(load(checkpoint, device="auto").members[0].model.parameters()).device.type == "cpu"
    with pytest.raises(UserError, match=r"^device=cuda: torch finds no GPU on this machine; choose cpu or auto$"):
        load(checkpoint, device="cuda")
    with pytest.raises(UserError, match=r"^device=gpu: must be auto, cpu or cuda$"):
        load(checkpoint, device="gpu")
    with pytest.raises(UserError, match=r"^device=cuda"):
        evaluate(tmp_path / "eval", checkpoint, "device=cuda")
    assert not (tmp_path / "eval").exists()


def test_invalid_values_are_reported(checkpoint: Path) -> None:
    with pytest.raises(UserError, match=r"ckpt_path=\[\]: names no checkpoint"):
        load([])
    with pytest.raises(ValueError, match="batch_size=0 must be at least 1"):
        load(checkpoint).predict(["film"], batch_size=0)
    with pytest.raises(ValueError, match="surrogates not allowed"):
        load(checkpoint).predict(["film", "a \ud800"])


def test_a_tokenizer_whose_expression_is_too_slow_is_reported(checkpoint: Path, tmp_path: Path) -> None:
    content = torch.load(checkpoint, weights_only=True)
    tokenizer = json.loads(json.loads(content["heedful"])["codec"]["tokenizer"])
    pattern = {"Regex": "(a+)+$"}
    split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    changed = json.dumps({**tokenizer, "pre_tokenizer": split})
    slow = change_card(checkpoint, "codec.tokenizer", changed, tmp_path / "slow.ckpt")
    model, texts = load([checkpoint, slow]), ["a" * 60 + "b"]
    message = rf"^{slow}: the tokenizer cannot encode a text .*, or another tokenizer"
    with pytest.raises(UserError, match=message):
        model.predict(texts)
    with pytest.raises(UserError, match=message):
        model.classify(texts)


@pytest.mark.parametrize("change", ["weights", "temperature"])
def test_numbers_that_are_not_finite_are_reported(change: str, checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.ckpt"
    if change == "weights":
        change_checkpoint(checkpoint, lambda content: [w.fill_(3e38) for w in content["state_dict"].values()], path)
    else:
        change_card(checkpoint, "codec.task.temperature", 1e-300, path)
    model = load([checkpoint, path])
    for predict in (model.predict, model.predict_proba):
        with pytest.raises(UserError, match=rf"^{path}: the model returned numbers that are not finite"):
            predict(["good", "bad"])
    with pytest.raises(UserError, match="not finite"):
        evaluate(tmp_path / "eval", path)


def test_notebook_display_escapes_the_text() -> None:
    prediction = Prediction("<b>", "a&b", {"a&b": 0.75}, [("<b>", 0.2), ("film", 0.8)])
    html = prediction._repr_html_()
    assert "<b>a&amp;b</b> 0.750" in html
    assert "&lt;b&gt;</span>" in html
    assert "0.900)" in html and "0.225)" in html  # the opacities for the highest weight and for a quarter of it
    assert "linear branch" not in html
    html = replace(prediction, branch=[("<b>", -0.4), ("film", 0.1)], branch_weight=0.3)._repr_html_()
    assert (
        "linear branch, 30 % of the logits" in html and "200, 60, 50, 0.900)" in html and "37, 110, 190, 0.225)" in html
    )
    alone = replace(prediction, branch=[("<b>", -0.4)], branch_weight=1.0)._repr_html_()
    assert alone.count("<span") == 1 and "200, 60, 50, 0.900)" in alone  # attention has no part, and no colours


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    monkeypatch.setattr("heedful.training.run.write_run_report", lambda *_: [])  # drawing takes most of the time
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    exec("\n".join(cells), namespace)
    assert list(namespace["model"].class_names) == ["negative", "neutral", "positive"]
    assert namespace["predictions"] == namespace["runs"][-1].model.predict(
        [each.text for each in namespace["predictions"]]
    )


TEXTS = ["A great film, a film to remember", "dull", "", "xqzzy"]


def test_probabilities_have_the_order_of_the_classes(checkpoint: Path) -> None:
    model = load(checkpoint)
    expected = [list(prediction.probabilities.values()) or [np.nan] * 3 for prediction in model.predict(TEXTS)]
    np.testing.assert_allclose(model.predict_proba(iter(TEXTS)), expected, atol=1e-7)
    assert list(model.predict(TEXTS)[0].probabilities) == list(model.class_names)
    assert model.to("cpu") is model


def test_explanations_have_the_weights_of_each_head(store: Callable[..., Path]) -> None:
    model = load(store("model/attention=multi_head"))
    (explained,), (predicted,) = model.explain(["a great film"]), model.predict(["a great film"])
    assert explained == predicted and predicted.maps == {}
    assert explained.maps["attention"].shape == (4, 3, 3)
    means = explained.maps["attention"].mean((0, 1))
    np.testing.assert_allclose(means, [weight for _, weight in explained.tokens], atol=1e-6)


def test_a_saved_model_predicts_the_same_from_a_folder_and_from_the_hub(finished, tmp_path, monkeypatch) -> None:
    folder, result = finished
    model, snapshot = load(folder), tmp_path / "models--me--model" / "snapshots" / ("a" * 40)
    model.save_pretrained(snapshot)
    assert {path.name for path in snapshot.rglob("*") if path.is_file()} == {"best.ckpt", "README.md"}
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("a" * 40)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for name in (snapshot, "me/model"):
        np.testing.assert_array_equal(load(name).predict_proba(TEXTS), model.predict_proba(TEXTS))
    card = (snapshot / "README.md").read_text()
    assert f"| acc | {result['metrics']['test/acc']['value']:.4f} |" in card and "load(" in card and "onnx" not in card
    content = (snapshot / "checkpoints" / "best.ckpt").read_bytes()
    assert str(folder).encode() not in content and b"small.csv" not in content
    with pytest.raises(UserError, match=rf"^folder={snapshot}: exists and is not an empty folder"):
        model.save_pretrained(snapshot)
    with pytest.raises(UserError, match=r"^an ensemble cannot be saved"):
        load([folder, snapshot]).save_pretrained(tmp_path / "new")
    with pytest.raises(UserError, match=r"^me/other: there is no such file here, and the hub has no such model"):
        load("me/other")
    change_card(snapshot / "checkpoints" / "best.ckpt", "config.model.encoder._target_", "os.path.Path")
    with pytest.raises(UserError, match=r"is not a trusted module|is outside the modules that are allowed here"):
        load("me/model")


def test_a_model_is_uploaded_as_it_is_saved(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[Any]()

    class Hub:
        def __init__(self, token: str | None) -> None:
            calls.append(token)

        def create_repo(self, name: str, **options: Any) -> str:
            calls.append((name, options))
            return f"https://hub/{name}"

        def upload_folder(self, repo_id: str, folder_path: Path) -> None:
            calls.append((repo_id, load(folder_path).predict_proba(TEXTS)))

    monkeypatch.setattr("huggingface_hub.HfApi", Hub)
    assert load(checkpoint).push_to_hub("me/model", private=True, token="secret") == "https://hub/me/model"
    assert calls[:2] == ["secret", ("me/model", {"private": True, "exist_ok": True})]
    name, probabilities = calls[2]
    assert name == "me/model"
    np.testing.assert_array_equal(probabilities, load(checkpoint).predict_proba(TEXTS))
