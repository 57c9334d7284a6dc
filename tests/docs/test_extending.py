"""The examples in docs/extending.md."""

import json
import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from omegaconf import OmegaConf

from heedful import load
from heedful.commands import compare, faithfulness
from heedful.data.padded_batches import Inputs
from heedful.models.check import check_model
from heedful.training import build
from tests.forks import complete
from tests.helpers import ROOT, command, evaluate, run
from tests.models.combinations import BASIS, VOCABULARY, small_options, texts
from tests.portable.exports import export

BLOCK = re.compile(
    r"^```(?:python|yaml)\n((?:# @package _global_\n)?# ((?:mine|my_conf)/\S+|test_mine.py)\n.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
TRUST = "extras.trusted_modules=[mine]"
COMPONENTS = {
    "embedding": ["small"],
    "position": ["fraction"],
    "encoder": ["highway"],
    "attention": ["cosine", "symmetric"],
    "normalizer": ["relu"],
    "pooling": ["min_max"],
    "head": ["cosine", "cut_points"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a user with the files of the page, and with texts of two classes."""
    folder = tmp_path_factory.mktemp("extending")
    for content, name in BLOCK.findall(PAGE):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "mine" / "__init__.py").touch()
    for label, word in (("bad", "poor"), ("good", "fine")):
        (folder / "texts" / label).mkdir(parents=True)
        for i in range(10):
            (folder / "texts" / label / f"{i}.txt").write_text(f"{word} film number {i}")
    return folder


def test_the_page_has_an_example_of_each_kind_with_its_config_file(folder: Path) -> None:
    files = {path.relative_to(folder).as_posix() for path in (folder / "my_conf").rglob("*.yaml")}
    expected = {f"my_conf/model/{group}/{name}.yaml" for group, names in COMPONENTS.items() for name in names}
    others = ("loss/focal", "loss/cumulative", "callbacks/weight_norm", "data/folders", "data/tokenizer/characters")
    experiments = ("small", "ordinal", "hierarchy")
    assert files == expected | {f"my_conf/{name}.yaml" for name in (*others, *(f"experiment/{e}" for e in experiments))}
    assert len(list((folder / "mine").glob("*.py"))) == len(files) - 2  # ordinal.py has three classes


@pytest.mark.parametrize(("group", "name"), [(group, name) for group, names in COMPONENTS.items() for name in names])
def test_padding_does_not_change_the_logits_of_a_component(folder: Path, group: str, name: str, monkeypatch) -> None:
    monkeypatch.syspath_prepend(folder)
    components = {kind: small_options(kind, choice) for kind, choice in BASIS.items()}
    components["attention"] = small_options("attention", "bahdanau" if group == "normalizer" else BASIS["attention"])
    components[group] = yaml.safe_load((folder / "my_conf" / "model" / group / f"{name}.yaml").read_text())
    config = {"model": components, "extras": {"trusted_modules": ["mine"]}}
    torch.manual_seed(0)
    model = build.classifier(OmegaConf.create(config), VOCABULARY, 3).eval()
    check_model(model, len(VOCABULARY), 3, 40, torch.device("cpu"))
    inputs = texts()
    padded = Inputs(*(torch.nn.functional.pad(tensor, (0, 6)) for tensor in inputs[:2]))
    torch.testing.assert_close(model(inputs), model(padded))
    for i, length in enumerate(inputs.mask.sum(1).tolist()):
        logits = model(inputs.of_text(i, length))
        torch.testing.assert_close(logits[0], model(inputs)[i])
    encoded = model.encoder(model.position(model.embedding(inputs), inputs.mask), inputs.mask)
    attended, weights = model.attention(encoded), model.attention.weights(encoded)
    if model.attention.sums_to_one:
        torch.testing.assert_close(weights.sum(-1)[:, :, 0], torch.ones_like(weights.sum(-1)[:, :, 0]))
    assert attended.states.shape[-1] == model.attention.output_dim


def test_the_example_of_a_test_passes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    example: dict[str, Any] = {}
    exec(next(content for content, name in BLOCK.findall(PAGE) if name == "test_mine.py"), example)
    example["test_cosine_keeps_the_rules"]()


def test_a_model_of_all_examples_trains_and_predicts(folder: Path) -> None:
    names = {group: choices[0] for group, choices in COMPONENTS.items()}
    run(
        folder,
        *("train", "--config-dir", "my_conf", TRUST, *(f"model/{group}={name}" for group, name in names.items())),
        *("data=folders", "data.path=texts", "data/tokenizer=characters", "loss=focal"),
        *("experiment=small", "rate=0.01"),
        *("callbacks=[checkpoints,weight_norm]", "logger=csv", "trainer.max_epochs=2", "hydra.run.dir=run"),
    )
    result = json.loads((folder / "run" / "result.json").read_text())
    assert result["status"] == "completed"
    assert yaml.safe_load((folder / "run" / "config.yaml").read_text())["optimizer"]["lr"] == 0.01
    assert result["data"]["class_names"] == ["bad", "good"] and result["data"]["train"] == 14
    assert "train/weight_norm" in (folder / "run" / "csv" / "metrics.csv").read_text()
    line = run(folder, "predict", TRUST, "ckpt_path=run/checkpoints/best.ckpt", "text=fine film", "json=true")
    assert json.loads(line)["label"] in ("bad", "good")
    refused = complete(*command(folder, "predict", "ckpt_path=run/checkpoints/best.ckpt", "text=fine film"))
    assert refused.returncode == 1
    assert "mine is not a trusted module; if you trust it, write extras.trusted_modules=[mine]" in refused.stderr


def words_with_labels(path: Path, labels: dict[str, str]) -> None:
    """Write a table of short texts, whose label is that of their word, or several labels for two words."""
    words = list(labels)
    rows = [(word, labels[word]) for word in words] + [
        (f"{a} {b}", f"{labels[a]}|{labels[b]}") for a, b in pairwise(words) if "/" in labels[a]
    ]
    lines = [f"{text} number {i},{label}" for i in range(12) for text, label in rows]
    path.write_text("\n".join(["text,label", *lines]), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "labels", "classes", "text", "label", "score", "limit"),
    [
        (
            *("ordinal", {"poor": "low", "fine": "medium", "great": "high"}, ["low", "medium", "high"]),
            *("great 3", "high", "distance", 0.2),
        ),
        (
            *("hierarchy", {"dog": "animal/dog", "cat": "animal/cat", "tree": "plant"}),
            *(["animal", "animal/cat", "animal/dog", "plant"], "cat 3", ["animal", "animal/cat"], "hamming", 0.1),
        ),
    ],
)
def test_a_task_trains_is_evaluated_compared_and_loaded(
    folder: Path,
    name: str,
    labels: dict[str, str],
    classes: list[str],
    text: str,
    label: Any,
    score: str,
    limit: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words_with_labels(folder / f"{name}.csv", labels)
    data = ["data=csv", f"data.path={name}.csv", "data.text=text", "data.label=label"]
    place = ["-m", f"hydra.sweep.dir={name}"] if name == "ordinal" else [f"hydra.run.dir={name}"]
    run(
        folder,
        *("train", "--config-dir", "my_conf", TRUST, f"experiment={name}", *data, "callbacks=checkpoints", *place),
        *("logger=csv", "trainer.max_epochs=12", "optimizer.lr=0.03", "data.batch_size=8"),
    )
    (record,) = folder.glob(f"{name}/**/result.json")
    result, name = json.loads(record.read_text()), str(record.parent.relative_to(folder))
    assert result["data"]["class_names"] == classes and result["metrics"][f"test/{score}"]["value"] < limit
    assert f"val/{score}" in (record.parent / "csv" / "metrics.csv").read_text()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(folder)
    assert load(name, ["mine"]).predict([text])[0].label == label
    found = evaluate(folder / f"{name}_eval", name, TRUST)["metrics"]
    assert found[f"test/{score}"] == result["metrics"][f"test/{score}"]
    export(Path(name), folder / f"{name}_export", TRUST)
    assert load(f"{name}_export", ["mine"]).predict([text])[0].label == label
    compare.main([name, "--trusted-modules", "mine", "--out", f"{name}_comparison"])
    compared = (folder / f"{name}_comparison" / "comparison.md").read_text().lower()
    assert ("distance" if score == "distance" else "accuracy") in compared
    if score == "distance":
        faithfulness.main([name, "--trusted-modules", "mine", "--texts", "7", "--out", f"{name}_faithfulness"])
        refused = complete(*command(folder, "compare", name))
        assert refused.returncode == 1 and "--trusted-modules mine" in refused.stderr


def test_ordinal_probabilities_are_differences_of_those_above_the_cut_points(folder: Path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(folder)
    from mine.ordinal import CumulativeLoss, Ordinal  # type: ignore[import-not-found]

    task = Ordinal(("low", "medium", "high"), order=("low", "medium", "high"))
    logits = torch.tensor([[2.0, -1.0]])
    above = [1 / (1 + math.exp(-2)), 1 / (1 + math.exp(1))]
    found = task.probabilities(logits)
    torch.testing.assert_close(found, torch.tensor([[1 - above[0], above[0] - above[1], above[1]]]))
    torch.testing.assert_close(task.logits(found), logits)
    loss = CumulativeLoss([5, 3, 2])(logits, torch.tensor([1]))  # medium is above the first cut point alone
    assert loss.item() == pytest.approx(-(math.log(above[0]) + math.log(1 - above[1])) / 2, abs=1e-6)


def test_no_prediction_of_a_hierarchy_lacks_a_parent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    from mine.hierarchy import Hierarchy  # type: ignore[import-not-found]

    task = Hierarchy().with_classes(["a", "a/b", "a/b/c", "d"])
    assert task.parents == (0, 0, 1, 3) and task.split("a/b/c|d") == ["a", "a/b", "a/b/c", "d"]
    rng = np.random.default_rng(0)
    logits = torch.from_numpy(rng.normal(size=(61, 4))).float()
    probabilities = task.probabilities(logits)
    torch.testing.assert_close(probabilities[:, 2], logits[:, :3].sigmoid().prod(1))
    torch.testing.assert_close(task.probabilities(task.logits(probabilities)), probabilities, atol=1e-5, rtol=1e-4)
    targets = rng.random((61, 4)) < 0.4
    predicted = task.fit(probabilities.numpy(), targets).predicted(probabilities.numpy())
    assert predicted.any() and (predicted <= predicted[:, [0, 0, 1, 3]]).all()
