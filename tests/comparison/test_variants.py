"""Grouping of runs into variants, and the names of variants."""

from pathlib import Path
from typing import Any

import numpy as np

from src.comparison.runs import find_runs
from src.comparison.variants import Variant, group_runs
from tests.comparison.runs import make_probabilities, write_run

LABELS = np.array([0, 1, 1])
PROBABILITIES = make_probabilities(LABELS, LABELS == 1)


def grouped(folder: Path, *runs: dict[str, Any]) -> list[Variant]:
    for number, run in enumerate(runs):
        write_run(folder / str(number), PROBABILITIES, LABELS, **run)
    return group_runs(find_runs([folder]).runs)


def test_seeds_are_one_variant_in_their_order(tmp_path: Path) -> None:
    (only,) = grouped(tmp_path, {"seed": 5}, {"seed": 2}, {"seed": 11})
    assert [run.seed for run in only.runs] == [2, 5, 11]
    assert only.name == "lstm · none"
    assert only.differs == {}


def test_config_groups_name_variants(tmp_path: Path) -> None:
    grid = [
        {"encoder": e, "attention": a, "seed": s} for e in ("rnn", "lstm") for a in ("none", "keras") for s in (1, 2)
    ]
    variants = grouped(tmp_path, *grid)
    assert [variant.name for variant in variants] == ["rnn · none", "rnn · keras", "lstm · none", "lstm · keras"]
    assert variants[1].differs == {"encoder": "rnn", "attention": "keras"}
    assert [len(variant.runs) for variant in variants] == [2, 2, 2, 2]


def test_paths_and_monitoring_callbacks_are_ignored(tmp_path: Path) -> None:
    moved = {
        "data.path": "/elsewhere/b",
        "callbacks.progress.refresh_rate": 9,
        "model.embedding.path": "/there/glove.txt",
    }
    assert len(grouped(tmp_path, {"options": {"model.embedding.path": "/here/glove.txt"}}, {"options": moved})) == 1


def test_options_name_variants_of_the_same_groups(tmp_path: Path) -> None:
    wide, rate = {"model.encoder.hidden_dim": 64}, {"model.encoder.hidden_dim": 8, "optimizer.lr": 0.1}
    variants = grouped(tmp_path, {"options": wide}, {"options": rate}, {"options": wide | {"optimizer.lr": 0.1}})
    assert [variant.name for variant in variants] == [
        "hidden_dim=64 · lr=0.001",
        "hidden_dim=8 · lr=0.1",
        "hidden_dim=64 · lr=0.1",
    ]


def test_options_determined_by_a_choice_are_not_named(tmp_path: Path) -> None:
    """Only Bahdanau has a size; a size that differs within Bahdanau is named for Bahdanau only."""
    small, big = {"model.attention.dim": 8}, {"model.attention.dim": 16}
    two = grouped(tmp_path / "two", {"attention": "none"}, {"attention": "bahdanau", "options": small})
    assert [variant.name for variant in two] == ["none", "bahdanau"]
    three = grouped(
        tmp_path / "three",
        {"attention": "none"},
        {"attention": "bahdanau", "options": small},
        {"attention": "bahdanau", "options": big},
    )
    assert [variant.name for variant in three] == ["none", "bahdanau · dim=8", "bahdanau · dim=16"]


def test_options_of_the_same_name_get_longer_labels(tmp_path: Path) -> None:
    options = [{"model.encoder.dropout": a, "model.embedding.dropout": b} for a, b in ((0.1, 0.2), (0.2, 0.1))]
    names = [variant.name for variant in grouped(tmp_path, *({"options": values} for values in options))]
    assert names == ["embedding.dropout=0.2 · encoder.dropout=0.1", "embedding.dropout=0.1 · encoder.dropout=0.2"]


def test_an_omitted_component_is_named(tmp_path: Path) -> None:
    runs = [{"position": "none"}, {"position": "rotary", "options": {"model.position._target_": "src.rotary"}}]
    assert [variant.name for variant in grouped(tmp_path, *runs)] == ["no position", "rotary"]


def test_many_differences_are_named_by_their_preset(tmp_path: Path) -> None:
    def preset(name: str, variant: int) -> dict[str, Any]:
        options = {f"optimizer.option_{number}": variant for number in range(6)}
        return {"experiment": name, "options": options, "encoder": f"encoder_{variant}"}

    names = [variant.name for variant in grouped(tmp_path, preset("first", 1), preset("second", 2))]
    assert names == ["first", "second"]


def test_of_a_repeated_seed_the_last_started_run_counts(tmp_path: Path) -> None:
    (only,) = grouped(
        tmp_path,
        {"seed": 1, "result": {"started": "2026-01-02T00:00:00+00:00"}},
        {"seed": 1, "result": {"started": "2026-01-01T00:00:00+00:00"}},
        {"seed": 2},
    )
    assert [run.folder.name for run in only.runs] == ["0", "2"]


def test_names_are_unique(tmp_path: Path) -> None:
    long = "x" * 99
    variants = grouped(
        tmp_path, {"options": {"model.head.note": long + "a"}}, {"options": {"model.head.note": long + "b"}}
    )
    assert len({variant.name for variant in variants}) == 2
