"""The base class of all data sources; it turns texts into the batches of a Trainer."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytorch_lightning as pl
import tokenizers
import torch
from pydantic import Field

from src.data.batch_order import by_length, shuffled
from src.data.codec import Codec
from src.data.corpus import Corpus, Split
from src.data.files import absolute_path
from src.data.padded_batches import BatchBuilder, Batches, ShuffledBatches, Truncation
from src.data.splits import Splitting, divide
from src.data.store import code_version, default_folder, load_or_build
from src.data.tokenized import SPLITS, TokenizedCorpus, TokenizedSplit, renumber_classes, tokenize, warn_of_rare_classes
from src.data.tokenizer import TokenizerBuilder, Trained
from src.data.trained_tokenizer import Tokenizer


class TextDataModule(pl.LightningDataModule, ABC):
    """Base class of all sources: a subclass reads the texts; this class splits, tokenizes, caches and batches them.

    `setup()` sets `codec`, `class_names` (C), `class_counts` (texts of the training split in each class), `vocabulary`,
    `sizes` and `data_fingerprint`; afterwards, `tokenized(split)` may be called. The tokenizer is trained on the
    training split alone. The comments in conf/data/base.yaml describe the options; seed=None means torch's seed.

    Raises:
        ValueError: if only one of `folds` and `fold` is set.
    """

    def __init__(
        self,
        *,
        tokenizer: TokenizerBuilder,
        batch_size: Annotated[int, Field(ge=1)] = 32,
        max_length: Annotated[int, Field(ge=1)] = 500,
        keep: Literal["first", "last"] = "first",
        val_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.1,
        test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2,
        split_seed: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1)] | None = None,
        folds: Annotated[int, Field(ge=2)] | None = None,
        fold: Annotated[int, Field(ge=0)] | None = None,
        length_buckets: bool = True,
        on_device: bool = False,
        cache_dir: str | None = None,
        seed: Annotated[int, Field(ge=0)] | None = 0,
        progress: bool = True,
    ) -> None:
        super().__init__()
        if (folds is None) != (fold is None):
            sweep = f"-m data.folds={folds or 5} data.fold={','.join(map(str, range(folds or 5)))}"
            raise ValueError(f"folds={folds} and fold={fold}: set both, or sweep over all folds with {sweep}")
        self.tokenizer = tokenizer
        self.batch_size = batch_size
        self.truncation = Truncation(max_length, keep)
        self.splitting = Splitting(val_fraction, test_fraction, split_seed, limit, folds, fold)
        self.length_buckets = length_buckets
        self.on_device = on_device
        self.cache_dir = absolute_path(default_folder() if cache_dir is None else cache_dir, "data.cache_dir")
        self.seed = torch.initial_seed() if seed is None else seed
        self.progress = progress
        self._model_classes: tuple[str, ...] | None = None
        self._data: TokenizedCorpus | None = None
        self._corpus: Corpus | None = None

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a string that changes whenever the result of `read` would change, without parsing any text."""

    @abstractmethod
    def read(self) -> Corpus:
        """Read all texts with their classes."""

    @cached_property
    def source_fingerprint(self) -> str:
        """The fingerprint when the run began to read the source."""
        return self.fingerprint()

    @property
    def is_training(self) -> bool:
        """Whether a model is trained on these data; False after a call of `use_codec`."""
        return self._model_classes is None

    def use_codec(self, codec: Codec) -> None:
        """Use the tokenizer, truncation and classes of a trained model; must be called before `setup()`."""
        self.tokenizer, self.truncation = Trained(codec.tokenizer), codec.truncation
        self._model_classes = codec.class_names

    def setup(self, stage: str | None = None) -> None:
        """Load the tokenized data of all splits, regardless of the stage; later calls do nothing.

        Raises:
            UserError: if the data cannot be read or split, or contain a class that is not in the codec that
                `use_codec` set.
        """
        if self._data is not None:
            return
        *shared, folds, fold = self.splitting
        content = f"{self.source_fingerprint} {tuple(shared if folds is None else (*shared, folds))}"
        self.data_fingerprint = _hash(content)[:16]  # the same for all folds
        if fold is not None:
            content += f" {fold}"

        def folder(tokenizer: TokenizerBuilder) -> Path:
            code = code_version(type(self), type(tokenizer))
            return self.cache_dir / _hash(f"{content} {tokenizer.fingerprint()} {tokenizers.__version__} {code}")

        def build(part: Path) -> None:
            corpus = self.read()
            tokenize(corpus, divide(corpus, self.splitting), self.tokenizer, part, self.progress)

        path = folder(self.tokenizer)
        is_cached = path.exists()
        data = load_or_build(path, TokenizedCorpus.load, build)
        if not is_cached:
            with suppress(OSError):  # the link exists, or the file system has no links
                folder(Trained(Tokenizer.from_json(data.tokenizer))).symlink_to(path.name)  # for the trained model
        if self._model_classes is None:
            warn_of_rare_classes(data)
        else:
            data = renumber_classes(data, self._model_classes)
        self._data, self.class_names = data, data.class_names
        self.codec = Codec(Tokenizer.from_json(data.tokenizer), self.truncation, self.class_names)
        self.vocabulary = self.codec.tokenizer.vocabulary
        self.sizes = {split: len(data.splits[split].labels) for split in SPLITS}
        self.class_counts = np.bincount(data.splits["train"].labels, minlength=len(self.class_names)).tolist()

    def tokenized(self, split: str) -> TokenizedSplit:
        """Return the tokenized split "train", "val" or "test"; `Batch.index` contains positions in this split."""
        assert self._data is not None, "call setup() first"
        return self._data.splits[split]

    def texts(self, split: str, index: Iterable[int]) -> list[str]:
        """Return the texts at the positions `index` of a split.

        Raises:
            UserError: if the texts are no longer in the cache, and the source has changed since `setup()`.
        """
        origin, rows = self._origin(split, index)
        return [origin.texts[row] for row in rows]

    def rationales(self, split: str, index: Iterable[int]) -> list[list[tuple[int, int]]] | None:
        """Return the (start, end) spans of characters that people marked as evidence, for texts as in `texts`.

        The result is None if the source has no such spans.
        """
        origin, rows = self._origin(split, index)
        spans = origin.rationales
        return None if spans is None else [[(start, end) for start, end in spans[row].as_py()] for row in rows]

    def _origin(self, split: str, index: Iterable[int]) -> tuple[Split, list[int]]:
        """Return the split of the source that contains the texts of a split, and the rows of texts in it."""
        if self._corpus is None:
            self._corpus = self.read()
        data = self.tokenized(split)
        return getattr(self._corpus, data.origin), [int(data.rows[i]) for i in index]

    def train_dataloader(self) -> ShuffledBatches | Batches:
        builder = self.builder("train")
        order = partial(shuffled, builder.lengths, self.batch_size, self.seed, self.length_buckets, *self._ranks())
        if getattr(self.trainer, "overfit_batches", 0):
            return Batches(builder, order(0))  # the same batches in every epoch
        return ShuffledBatches(builder, order, self.seed)

    def val_dataloader(self) -> Batches:
        return self._evaluation_batches("val")

    def test_dataloader(self) -> Batches:
        return self._evaluation_batches("test")

    def _evaluation_batches(self, split: str) -> Batches:
        builder = self.builder(split)
        return Batches(builder, by_length(builder.lengths, self.batch_size, *self._ranks()))

    def builder(self, split: str) -> BatchBuilder:
        """Return the builder of the batches of a split."""
        data = self.tokenized(split)
        device = self.trainer.strategy.root_device if self.on_device and self.trainer is not None else "cpu"
        return BatchBuilder(data.tokens, data.offsets, data.labels, self.truncation, device)

    def _ranks(self) -> tuple[int, int]:
        """Return the rank of this process and the number of processes."""
        return (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
