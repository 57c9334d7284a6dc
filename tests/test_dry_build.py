"""A dry build reports all mistakes together, before any file is written."""

from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from src.config.keys import MODEL_COMPONENTS
from src.dry_build import build_mistakes, dry_build
from src.errors import UserError
from src.kernels.malloc import machine_memory, require_memory
from tests.helpers import no_skipped_component, small_config


def mistakes(folder: Path, *overrides: str) -> dict[str, str]:
    with no_skipped_component():
        return dict(build_mistakes(small_config(folder, overrides)))


def test_wrong_values_are_reported_in_one_message(tmp_path: Path) -> None:
    overrides = ["optimizer.lr=-1", "model.encoder.dropout=2", "data.folds=5"]
    with pytest.raises(UserError, match=r"^3 mistakes in the configuration; nothing") as error:
        dry_build(small_config(tmp_path / "run", overrides))
    lines = str(error.value).splitlines()[1:]
    assert [line.split()[0] for line in lines] == [overrides[1], overrides[0], overrides[2]]


def test_a_url_is_not_a_path(tmp_path: Path) -> None:
    override = "data.path=https://example.com/a.csv"
    assert list(mistakes(tmp_path, "data=csv", override)) == [override]


def test_several_wrong_options_of_a_component_are_reported_together(tmp_path: Path) -> None:
    overrides = ["model.encoder.hidden_dim=0", "model.encoder.dropout=2", "optimizer.lr=-1", "optimizer.eps=-2"]
    assert list(mistakes(tmp_path, *overrides)) == overrides


def test_a_wrong_size_causes_no_mistakes_of_later_components(tmp_path: Path) -> None:
    heads = ["model/attention=multi_head", "model.attention.heads=7"]
    assert list(mistakes(tmp_path, "model.encoder.hidden_dim=0", *heads)) == ["model.encoder.hidden_dim=0"]
    assert list(mistakes(tmp_path, "model.encoder.hidden_dim=6", *heads)) == ["model.attention.heads=7"]


def test_a_missing_component_is_reported(tmp_path: Path) -> None:
    cfg = small_config(tmp_path)
    OmegaConf.set_struct(cfg, False)
    del cfg["optimizer"], cfg.model["head"]
    with pytest.raises(UserError, match=r"(?s)model\.head .*is required: .*model/head=….*optimizer .*is required"):
        dry_build(cfg)


def test_a_missing_file_is_reported_with_the_other_mistakes(tmp_path: Path) -> None:
    overrides = ["optimizer.lr=-1", "data.path=gone/my.csv"]
    assert list(mistakes(tmp_path, "data=csv", *overrides)) == overrides


def test_a_size_that_differs_from_the_bundled_vectors_is_reported(tmp_path: Path) -> None:
    glove = "model/embedding=glove"
    assert mistakes(tmp_path, glove) == {}
    assert mistakes(tmp_path, glove, "model.embedding.dim=41") == {
        "model.embedding": "the bundled GloVe vectors: the vectors have 50 features; write model.embedding.dim=50"
    }


@pytest.mark.parametrize("weights", ["[1,3]", "[1,2,3]", "balanced"])
def test_the_number_of_class_weights_is_not_validated(weights: str, tmp_path: Path) -> None:
    assert mistakes(tmp_path, "loss=cross_entropy", f"loss.class_weights={weights}") == {}


def test_a_model_larger_than_memory_is_reported_with_its_largest_component() -> None:
    with torch.device("meta"):
        parts = {part: torch.nn.Linear(2, 3) for part in MODEL_COMPONENTS}
        require_memory(torch.nn.ModuleDict(parts))
        parts["encoder"] = torch.nn.Linear(10**7, 10**6, bias=False)
    with pytest.raises(UserError, match=r"^model\.encoder: its 10,000,000,000,000 parameters need 80,000\.0 GB for"):
        require_memory(torch.nn.ModuleDict(parts))
    assert machine_memory() is None or 10**8 < machine_memory() < 10**15  # type: ignore[operator]
