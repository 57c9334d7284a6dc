"""Grouping of runs into variants, and the names of variants."""

from pathlib import Path
from typing import Any

import pytest

from heedful.base.errors import UserError
from heedful.records.runs import find_runs
from heedful.records.variants import Variant, find_variants, group_runs
from tests.run_folders import write_run


def write_variants(folder: Path, *runs: dict[str, Any]) -> list[Variant]:
    for number, run in enumerate(runs):
        write_run(folder / str(number), **run)
    return group_runs(find_runs([folder]).runs)


def test_runs_with_different_seeds_are_one_variant_in_order_of_seeds(tmp_path: Path) -> None:
    (variant,) = write_variants(tmp_path, {"seed": 5}, {"seed": 2}, {"seed": 11})
    assert [run.seed for run in variant.runs] == [2, 5, 11]
    assert variant.name == "lstm · none"
    assert variant.differs == {}


def test_runs_of_the_earlier_package_are_of_the_same_variant(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / str(seed), seed=seed) for seed in (1, 2)]
    config = folders[0] / "config.yaml"
    assert config.read_text().count("_target_: heedful.") > 3
    config.write_text(config.read_text().replace("_target_: heedful.", "_target_: src."))
    (variant,) = group_runs(find_runs([tmp_path]).runs)
    assert [run.seed for run in variant.runs] == [1, 2]


def test_variants_are_named_after_their_choices(tmp_path: Path) -> None:
    grid = [
        {"encoder": e, "attention": a, "seed": s} for e in ("rnn", "lstm") for a in ("none", "keras") for s in (1, 2)
    ]
    variants = write_variants(tmp_path, *grid)
    assert [variant.name for variant in variants] == ["rnn · none", "rnn · keras", "lstm · none", "lstm · keras"]
    assert variants[1].differs == {"encoder": "rnn", "attention": "keras"}
    assert [len(variant.runs) for variant in variants] == [2, 2, 2, 2]


def test_paths_of_data_and_monitoring_callbacks_are_ignored(tmp_path: Path) -> None:
    options = {"data.path": "/elsewhere/b", "callbacks.progress.refresh_rate": 9}
    own = [
        {"paths.output_dir": f"/runs/{i}", "callbacks.best_checkpoint.dirpath": f"/runs/{i}/checkpoints"}
        for i in (1, 2)
    ]
    assert len(write_variants(tmp_path, {"options": own[0]}, {"options": own[1] | options})) == 1


def test_models_in_different_folders_are_different_variants(tmp_path: Path) -> None:
    key = "data.tokenizer.name_or_path"
    runs = ({"options": {key: f"/models/{name}/model"}} for name in ("minilm", "bert"))
    assert len(write_variants(tmp_path, *runs)) == 2


def preset(variant: int, **choice: str) -> dict[str, Any]:
    options = {f"optimizer.option_{number}": variant for number in range(6)}
    return {"options": options, "encoder": f"encoder_{variant}", **choice}


LARGE, SMALL = {"model.encoder.hidden_dim": 64}, {"model.encoder.hidden_dim": 8, "optimizer.lr": 0.1}
DIM, WIDE_DIM = {"model.attention.dim": 8}, {"model.attention.dim": 16}  # only Bahdanau has this option
BAHDANAU = {"attention": "bahdanau", "options": DIM}
DROPOUTS = [{"model.encoder.dropout": a, "model.embedding.dropout": b} for a, b in ((0.1, 0.2), (0.2, 0.1))]
PATHS = [("mini", 0.00123456789), ("bert", 0.5)]
BRANCH = {"model.branch": {"_target_": "heedful.branch", "max_order": 2, "weight": 0.5}}
NAMES: dict[str, tuple[list[dict[str, Any]], list[str]]] = {  # the runs, and the names of their variants
    "varying options": (
        [{"options": LARGE}, {"options": SMALL}, {"options": LARGE | {"optimizer.lr": 0.1}}],
        ["hidden_dim=64 · lr=0.001", "hidden_dim=8 · lr=0.1", "hidden_dim=64 · lr=0.1"],
    ),
    "an option of one choice": ([{"attention": "none"}, BAHDANAU], ["none", "bahdanau"]),
    "an option that varies within a choice": (
        [{"attention": "none"}, BAHDANAU, BAHDANAU | {"options": WIDE_DIM}],
        ["none", "bahdanau · dim=8", "bahdanau · dim=16"],
    ),
    "options with the same last word": (
        [{"options": options} for options in DROPOUTS],
        ["embedding.dro…=0.2 · encoder.dropo…=0.1", "embedding.dro…=0.1 · encoder.dropo…=0.2"],
    ),
    "no position": (
        [{"position": "none"}, {"position": "rotary", "options": {"model.position._target_": "heedful.rotary"}}],
        ["no position", "rotary"],
    ),
    "no branch": ([{"branch": "none"}, {"branch": "ngrams", "options": BRANCH}], ["no branch", "ngrams branch"]),
    "a chosen model": ([{"model": "linear"}], ["linear"]),
    "many differences": (
        [preset(1, experiment="first"), preset(2, experiment="second"), preset(3, model="linear")],
        ["first", "second", "linear"],
    ),
    "presets and a run without one": (
        [preset(1, experiment="first"), preset(2, experiment="second"), preset(3)],
        ["first", "second", "encoder_3 · none"],
    ),
    "what varies within a preset": (
        [
            preset(1, experiment="first"),
            preset(1, experiment="first", attention="keras"),
            preset(2, experiment="second"),
        ],
        ["first · none", "first · keras", "second"],
    ),
    "what the command line sets beside a preset": (
        [
            preset(1, experiment="first", branch="none") | {"result": {"overrides": ["model/branch=none"]}},
            preset(2, experiment="second", branch="ngrams"),
        ],
        ["first · no branch", "second"],
    ),
    "many differences within one preset": (
        [preset(1, experiment="first"), preset(2, experiment="first")],
        [f"encoder_{n} · {' · '.join(['opt…=' + str(n)] * 3)}…" for n in (1, 2)],
    ),
    "long names of presets": (
        [
            {"options": {"loss.name": "a" * 41}, "experiment": "first"},
            {"options": {"loss.name": "b"}, "experiment": "b"},
        ],
        ["first", "b"],
    ),
    "long numbers and paths": (
        [
            {"options": {"model.name_or_path": f"/a/long/folder/of/models/{name}/", "optimizer.lr": lr}}
            for name, lr in PATHS
        ],
        ["name_or_path=mini · lr=0.001235", "name_or_path=bert · lr=0.5"],
    ),
}


@pytest.mark.parametrize(("runs", "names"), NAMES.values(), ids=NAMES)
def test_variants_are_named_after_what_differs(runs: list[dict[str, Any]], names: list[str], tmp_path: Path) -> None:
    assert [variant.name for variant in write_variants(tmp_path, *runs)] == names


def test_the_last_started_run_of_a_repeated_seed_is_used(tmp_path: Path) -> None:
    (variant,) = write_variants(
        tmp_path,
        {"seed": 1, "result": {"started": "2026-01-02T00:00:00+00:00"}},
        {"seed": 1, "result": {"started": "2026-01-01T00:00:00+00:00"}},
        {"seed": 2},
    )
    assert [run.folder.name for run in variant.runs] == ["0", "2"]


def test_names_are_short_and_unique(tmp_path: Path) -> None:
    notes = ["x" * 99 + "a", "x" * 99 + "b", "x" * 35 + "c", "x" * 35 + "d"]
    variants = write_variants(tmp_path, *({"options": {"model.head.note": note}} for note in notes))
    assert [variant.name for variant in variants] == [
        f"note={'x' * 34}…",
        f"note={'x' * 30}… (2)",
        f"note={'x' * 30}… (3)",
        f"note={'x' * 30}… (4)",
    ]


def test_ignored_options_make_no_other_variant(tmp_path: Path) -> None:
    for seed, options in enumerate([{}, {"callbacks.mine.path": "a"}]):
        write_run(tmp_path / str(seed), seed=seed, options=options)
    assert len(find_variants([tmp_path])[0]) == 2
    ((variant,), _) = find_variants([tmp_path], ["callbacks.mine"])
    assert variant.seeds == (0, 1)
    write_run(tmp_path / "other", seed=1, options={"callbacks.mine.path": "b"})
    _, (excluded,) = find_variants([tmp_path], ["callbacks.mine"])
    assert excluded.error.startswith("a later run has the same configuration but for callbacks.mine and seed")
    with pytest.raises(UserError, match=r"--ignore callbacks\.mime: no such option of the runs \(did you mean"):
        find_variants([tmp_path], ["callbacks.mime"])
