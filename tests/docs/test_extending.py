"""The examples in docs/extending.md."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from omegaconf import OmegaConf

from heedful.data.padded_batches import Inputs
from heedful.models.check import check_model
from heedful.training import build
from tests.forks import complete
from tests.helpers import ROOT, command, run
from tests.models.combinations import BASIS, VOCABULARY, small_options, texts

BLOCK = re.compile(r"^```(?:python|yaml)\n# ((?:mine|my_conf)/\S+|test_mine.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
TRUST = "extras.trusted_modules=[mine]"
COMPONENTS = {
    "embedding": ["small"],
    "position": ["fraction"],
    "encoder": ["highway"],
    "attention": ["cosine", "symmetric"],
    "normalizer": ["relu"],
    "pooling": ["min_max"],
    "head": ["cosine"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a user with the files of the page, and with texts of two classes."""
    folder = tmp_path_factory.mktemp("extending")
    for name, content in BLOCK.findall(PAGE):
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
    others = ("loss/focal", "callbacks/weight_norm", "data/folders", "data/tokenizer/characters", "experiment/small")
    assert files == expected | {f"my_conf/{name}.yaml" for name in others}
    assert len(list((folder / "mine").glob("*.py"))) == len(files)


@pytest.mark.parametrize(("group", "name"), [(group, name) for group, names in COMPONENTS.items() for name in names])
def test_padding_does_not_change_the_logits_of_a_component(
    folder: Path, group: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    exec(next(content for name, content in BLOCK.findall(PAGE) if name == "test_mine.py"), example)
    example["test_cosine_keeps_the_rules"]()


def test_a_model_of_all_examples_trains_and_predicts(folder: Path) -> None:
    names = {group: choices[0] for group, choices in COMPONENTS.items()}
    run(
        folder,
        *("train", "--config-dir", "my_conf", TRUST, *(f"model/{group}={name}" for group, name in names.items())),
        *(
            "data=folders",
            "data.path=texts",
            "data/tokenizer=characters",
            "loss=focal",
            "experiment=small",
            "rate=0.01",
        ),
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
