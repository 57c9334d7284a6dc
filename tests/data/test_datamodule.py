"""The data module: splits, cache, attributes and loaders."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from heedful.base.errors import UserError
from heedful.data.padded_batches import Batches, ShuffledBatches
from heedful.data.reading import Reading
from heedful.data.source import Source, suited_batch_size
from heedful.data.tokenizer import Bpe, Word
from tests.data.conftest import Options

SPLITS = ("train", "val", "test")
SetUp = Callable[..., Source]


@pytest.fixture
def set_up(reviews: Path, source_options: Options) -> SetUp:
    """A function that creates and sets up a data module of the reviews, or of another file, with further options."""

    def create(path: Path = reviews, **options: Any) -> Source:
        module = Source(str(path), **{**source_options, **options})
        module.setup("fit")
        return module

    return create


def all_texts(module: Source, split: str) -> list[str]:
    return module.texts(split, range(module.sizes[split]))


def test_with_a_cache_the_source_is_not_read(set_up: SetUp, reviews: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = set_up()
    monkeypatch.setattr(Reading, "write", pytest.fail)
    repeated = set_up(seed=5, max_length=3, batch_size=2, keep="last", length_buckets=False)
    assert repeated.data_fingerprint == first.data_fingerprint
    assert np.array_equal(repeated.tokenized("val").rows, first.tokenized("val").rows)
    lines = reviews.read_text().splitlines()[1:]
    reviews.unlink()
    assert {text for split in SPLITS for text in all_texts(repeated, split)} == {line.split(",")[0] for line in lines}


@pytest.mark.parametrize(
    "change",
    [
        {"split_seed": 1},
        {"val_fraction": 0.3},
        {"test_fraction": 0.3},
        {"limit": 20},
        {"train_limit": 7},
        {"tokenizer": Word(min_frequency=2)},
        {"tokenizer": Bpe(min_frequency=1)},
        {"labels": ["good", "bad"]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_options_that_change_the_tokens_tokenize_again(set_up: SetUp, source_options: Options, change: Options) -> None:
    set_up()
    set_up(**change)
    folders = {path.parent.resolve() for path in Path(source_options["cache_dir"]).glob("*/train.tokens.npy")}
    assert len(folders) == 2


def test_a_limit_of_the_training_texts_leaves_the_other_splits(set_up: SetUp) -> None:
    whole, part = set_up(), set_up(train_limit=7)
    rows = {name: [data.tokenized(name).rows for data in (whole, part)] for name in ("train", "val", "test")}
    assert len(rows["train"][1]) == 7 and set(rows["train"][1]) < set(rows["train"][0])
    assert all(np.array_equal(*rows[name]) for name in ("val", "test"))


def test_the_fingerprint_depends_on_the_data_and_not_on_the_tokenizer(set_up: SetUp) -> None:
    first = set_up()
    assert set_up(tokenizer=Bpe()).data_fingerprint == first.data_fingerprint
    assert set_up(split_seed=1).data_fingerprint != first.data_fingerprint


def test_without_a_seed_the_seed_of_torch_is_used(reviews: Path, source_options: Options) -> None:
    torch.manual_seed(11)
    assert Source(str(reviews), **source_options, seed=None).seed == 11


def attach_trainer(module: Source, **trainer: Any) -> None:
    strategy = SimpleNamespace(root_device=torch.device("cpu"))
    defaults = {"global_rank": 0, "world_size": 1, "overfit_batches": 0, "strategy": strategy}
    module.trainer = SimpleNamespace(**{**defaults, **trainer})  # type: ignore[assignment]


def test_ranks_divide_a_pass_evenly(set_up: SetUp) -> None:
    for split in SPLITS:
        passes = []
        for rank in range(3):
            module = set_up()
            attach_trainer(module, global_rank=rank, world_size=3)
            passes.append([batch.index.tolist() for batch in getattr(module, f"{split}_dataloader")()])
        assert len({len(batches) for batches in passes}) == 1
        rows = sorted(row for batches in passes for batch in batches for row in batch)
        assert rows == list(range(module.sizes[split]))


@pytest.mark.parametrize(("split", "overfits"), [("val", False), ("val", True), ("test", False)])
def test_a_limit_reads_an_even_sample_of_a_split(split: str, overfits: bool, set_up: SetUp) -> None:
    module = set_up()
    whole = [set(rows.tolist()) for rows in getattr(module, f"{split}_dataloader")().plan]
    attach_trainer(module, **{f"limit_{split}_batches": 1})
    sample = set(getattr(module, f"{split}_dataloader")().plan[0].tolist())
    assert len(whole) > 1 and all(sample & rows for rows in whole)
    option = "overfit_batches" if overfits else f"limit_{split}_batches"  # Lightning sets the others, too
    attach_trainer(module, **{f"limit_{split}_batches": 0.01}, overfit_batches=0.01 if overfits else 0)
    with pytest.raises(UserError, match=rf"trainer\.{option}=0\.01: is less than one batch of {len(whole)};"):
        getattr(module, f"{split}_dataloader")()


def test_overfitting_repeats_the_same_batches(set_up: SetUp) -> None:
    module = set_up()
    assert isinstance(module.train_dataloader(), ShuffledBatches)
    attach_trainer(module, overfit_batches=2)
    loader = module.train_dataloader()
    assert isinstance(loader, Batches)
    first, second = ([batch.index.tolist() for batch in loader] for _ in range(2))
    assert first == second
    assert len({int(label) for batch in list(loader)[:2] for label in batch.targets}) == 2


@pytest.mark.parametrize("on_device", [True, False])
def test_tokens_are_stored_on_the_trainers_device_on_request(set_up: SetUp, on_device: bool) -> None:
    module = set_up(on_device=on_device)
    attach_trainer(module, strategy=SimpleNamespace(root_device=torch.device("meta")))
    loader = module.val_dataloader()
    assert loader.builder.tokens.device.type == ("meta" if on_device else "cpu")


def test_a_class_with_a_single_row_is_reported_even_if_the_data_are_cached(
    set_up: SetUp, tmp_path: Path, source_options: Options, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "single.csv"
    path.write_text("text,label\n" + "a,bad\nb,good\n" * 9 + "c,fair\nd,rare\ne,rare\n")
    for _ in range(2):
        caplog.clear()
        module = set_up(path)
        warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
        assert len(warnings) == 2
        assert warnings[0].startswith("Some classes have too few rows: 'fair', 'rare'.")
        assert "The val split has no texts of these classes, and its scores say nothing of them" in warnings[0]
        assert warnings[1].startswith("Some classes have fewer than 5 test texts: ")
        assert "fair: 0 test texts" in warnings[1] and "rare: 1 test text." in warnings[1]
    assert module.class_counts[module.class_names.index("fair")] == 1
    (tmp_path / "test.csv").write_text("text,label\n" + "a,bad\nb,good\n" * 5 + "b,fair\n" * 5 + "d,rare\n" * 4)
    caplog.clear()
    set_up(path, test_path=str(tmp_path / "test.csv"))
    assert "fewer than 5 test texts: rare: 4 test texts. Scores" in caplog.text
    caplog.clear()
    module = Source(str(path), **source_options)
    module.use_codec(set_up(path).codec)
    caplog.clear()
    module.setup()
    assert not caplog.records


def test_each_text_is_in_the_test_split_of_one_fold(set_up: SetUp, reviews: Path) -> None:
    modules = [set_up(folds=3, fold=fold) for fold in range(3)]
    held_out_texts = [text for module in modules for text in all_texts(module, "test")]
    assert sorted(held_out_texts) == sorted(line.split(",")[0] for line in reviews.read_text().splitlines()[1:])
    for module in modules:
        assert sum(module.sizes.values()) == 101
        assert not set(all_texts(module, "test")) & {*all_texts(module, "train"), *all_texts(module, "val")}
    assert len({module.vocabulary for module in modules}) == 3  # each fold has a vocabulary of its training texts


def test_folds_share_the_fingerprint_of_their_cross_validation(set_up: SetUp) -> None:
    first, second = (set_up(folds=3, fold=fold).data_fingerprint for fold in (0, 1))
    others = {set_up(**options).data_fingerprint for options in ({}, {"folds": 2, "fold": 0})}
    assert first == second and len({first, *others}) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fold": 2}, r"folds=None and fold=2: set both"),
        ({"folds": 3}, r"set both, or sweep over all folds with -m data\.folds=3 data\.fold=0,1,2$"),
    ],
)
def test_folds_are_checked_by_the_constructor(reviews: Path, source_options, options: Options, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Source(str(reviews), **{**source_options, **options})


def test_the_cache_is_in_the_users_cache_folder(reviews: Path, source_options, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert Source(str(reviews), **{**source_options, "cache_dir": None}).cache_dir == Path("/somewhere/heedful")


@pytest.mark.parametrize("file", ["train.tokens.npy", "test.labels.npy", "facts.json", "train.arrow"])
def test_a_flipped_bit_in_the_cache_is_rebuilt(set_up: SetUp, source_options, file: str, caplog) -> None:
    set_up()
    path = {path.resolve() for path in Path(source_options["cache_dir"]).glob(f"*/{file}")}.pop()
    content = path.read_bytes()
    path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    set_up()
    assert path.read_bytes() == content
    assert f"(the checksum of {file} does not match)" in caplog.text


def test_the_size_of_batches_follows_the_number_of_training_texts(set_up: SetUp) -> None:
    assert set_up(batch_size=None).batch_size == 16
    assert [suited_batch_size(texts) for texts in (1, 679, 1_080, 2_559, 2_560, 10**6)] == [16, 16, 27, 63, 64, 64]
