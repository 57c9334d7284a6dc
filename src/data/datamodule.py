"""The base class of all data sources; it turns texts into the batches of a Trainer."""

import hashlib
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytorch_lightning as pl
import tokenizers
import torch
from pydantic import Field

from src.data.codec import Codec
from src.data.corpus import SPLITS, Corpus, Split, TokenizedCorpus, TokenizedSplit, tokenize
from src.data.files import absolute_path
from src.data.labels import describe_look_alikes, merging_option
from src.data.padded_batches import BatchBuilder, Batches, ShuffledBatches, Truncation, by_length, shuffled
from src.data.splits import Splitting, divide
from src.data.store import code_version, load_or_build
from src.data.tokenizer import Tokenizer, TokenizerBuilder
from src.errors import UserError
from src.formatting import format_list
from src.run_result import Data, SplitSummary

QUANTILES = {"min": 0.0, "median": 0.5, "95 %": 0.95, "max": 1.0}  # of the lengths of texts
log = logging.getLogger(__name__)


class TextDataModule(pl.LightningDataModule, ABC):
    """Base class of all sources: a subclass reads the texts; this class splits, tokenizes, caches and batches them.

    `setup()` sets `codec`, `class_names` (C), `class_counts` (texts of the training split in each class), `vocabulary`,
    `sizes` and `data_fingerprint`; afterwards, `tokenized(split)` may be called. The tokenizer is trained on the
    training split alone. The comments in conf/data/base.yaml describe the options; seed=None means torch's seed.
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
        default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "heed")
        self.cache_dir = absolute_path(default if cache_dir is None else cache_dir, "data.cache_dir")
        self.seed = torch.initial_seed() if seed is None else seed
        self.progress = progress
        self._model_classes: tuple[str, ...] | None = None
        self._data: dict[str, TokenizedSplit] | None = None
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
        self.tokenizer, self.truncation = codec.tokenizer, codec.truncation
        self._model_classes = codec.class_names

    def setup(self, stage: str | None = None) -> None:
        """Load the tokenized data of all splits, regardless of the stage; later calls do nothing."""
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
        data = load_or_build(path, TokenizedCorpus.load, build)
        tokenizer = Tokenizer.from_json(data.tokenizer)
        with suppress(OSError):  # it exists, or the file system has no links
            folder(tokenizer).symlink_to(path.name)  # for the trained model
        self._data = data.splits if self.is_training else self._renumbered(data)
        self.class_names = self._model_classes or data.class_names
        self.codec = Codec(tokenizer, self.truncation, self.class_names)
        self.vocabulary = tokenizer.vocabulary
        self.sizes = {split: len(self._data[split].labels) for split in SPLITS}
        self.class_counts = np.bincount(self._data["train"].labels, minlength=len(self.class_names)).tolist()
        if self.is_training:
            self._warn_of_classes()

    def _renumbered(self, data: TokenizedCorpus) -> dict[str, TokenizedSplit]:
        """Return the splits with labels that are indices of the trained model's classes."""
        names = self._model_classes or ()
        if unknown := [name for name in data.class_names if name not in names]:
            own = format_list(names, plain=True)
            raise UserError(f"data: the model has no class {format_list(unknown)}, only {own}")
        numbers = np.array([names.index(name) for name in data.class_names])
        return {name: replace(split, labels=numbers[split.labels]) for name, split in data.splits.items()}

    def _warn_of_classes(self) -> None:
        """Warn about classes that look alike, and about those that a held-out split lacks."""
        labels = np.concatenate([self.tokenized(split).labels for split in SPLITS])
        counts = np.bincount(labels, minlength=len(self.class_names)).tolist()
        by_class = dict(zip(self.class_names, counts, strict=True))
        if names := describe_look_alikes(by_class):
            option = merging_option(by_class)
            log.warning("Labels that look alike are different classes: %s. To merge them, set %s", names, option)
        for name in ("val", "test"):
            split = self.tokenized(name)
            absent = np.setdiff1d(self.tokenized("train").labels, split.labels)
            if split.origin == "train" and len(absent):
                log.warning(
                    "Some classes have too few rows: %s. The %s split has no texts of these classes, and its scores do "
                    "not include them; add rows, or provide each split as a file (data.val_path, data.test_path)",
                    format_list([self.class_names[c] for c in absent]),
                    name,
                )

    def summarize(self, has_vector: np.ndarray | None = None) -> Data:
        """Describe the data of a run from the cached arrays, without a loop over the texts.

        Args:
            has_vector: whether each token in the vocabulary has a pretrained vector; None if the model uses no
                pretrained vectors.
        """
        return Data(
            self.data_fingerprint,
            tuple(self.class_names),
            len(self.vocabulary),
            **self.sizes,
            max_length=self.truncation.max_length,
            majority_class=self.class_names[int(np.argmax(self.class_counts))],
            vectors=None if has_vector is None else int(has_vector.sum()),
            folds=self.splitting.folds,
            fold=self.splitting.fold,
            splits={split: self._summarize(split, has_vector) for split in SPLITS},
        )

    def _summarize(self, split: str, has_vector: np.ndarray | None) -> SplitSummary:
        data, unknown_id = self.tokenized(split), self.codec.tokenizer.unknown_id
        class_counts = np.bincount(data.labels, minlength=len(self.class_names)).tolist()
        lengths = np.diff(data.offsets)
        excess = np.maximum(lengths - self.truncation.max_length, 0)
        quantiles = np.quantile(lengths, list(QUANTILES.values()), method="inverted_cdf")
        tokens = max(len(data.tokens), 1)
        return SplitSummary(
            texts=len(lengths),
            class_counts=dict(zip(self.class_names, class_counts, strict=True)),
            majority_accuracy=class_counts[int(np.argmax(self.class_counts))] / len(lengths),
            tokens=len(data.tokens),
            lengths=dict(zip(QUANTILES, quantiles.tolist(), strict=True)),
            cut_texts=int(np.count_nonzero(excess)),
            cut_share=int(excess.sum()) / tokens,
            unknown_share=0.0 if unknown_id is None else int(data.counts[unknown_id]) / tokens,
            vector_share=None if has_vector is None else int(data.counts[has_vector].sum()) / tokens,
            duplicates=len(lengths) - len(np.unique(data.digests)),
            in_train=None if split == "train" else int(np.isin(data.digests, self.tokenized("train").digests).sum()),
        )

    def tokenized(self, split: str) -> TokenizedSplit:
        """Return the tokenized split "train", "val" or "test"; `Batch.index` contains positions in this split."""
        assert self._data is not None, "call setup() first"
        return self._data[split]

    def texts(self, split: str, index: Iterable[int]) -> list[str]:
        """Return the texts at the positions `index` of a split."""
        origin, rows = self._origin(split, index)
        return origin.texts.take(rows)[:]

    def rationales(self, split: str, index: Iterable[int]) -> list[list[tuple[int, int]]] | None:
        """Return the (start, end) spans of characters that people marked as evidence, or None if there are none."""
        origin, rows = self._origin(split, index)
        spans = origin.rationales
        return None if spans is None else [[(start, end) for start, end in spans[row].as_py()] for row in rows.tolist()]

    def _origin(self, split: str, index: Iterable[int]) -> tuple[Split, np.ndarray]:
        """Return the split of the source that contains the texts of a split, and the rows of texts in it."""
        if self._corpus is None:
            self._corpus = self.read()
        data = self.tokenized(split)
        return getattr(self._corpus, data.origin), data.rows[list(index)]

    def train_dataloader(self) -> ShuffledBatches | Batches:
        builder = self.builder("train")
        order = partial(shuffled, builder.lengths, self.batch_size, self.seed, self.length_buckets, *self._ranks())
        if getattr(self.trainer, "overfit_batches", 0):
            return Batches(builder, order(0))  # the same batches in every epoch
        return ShuffledBatches(builder, order)

    def val_dataloader(self, split: str = "val") -> Batches:
        builder = self.builder(split)
        return Batches(builder, by_length(builder.lengths, self.batch_size, *self._ranks()))

    def test_dataloader(self) -> Batches:
        return self.val_dataloader("test")

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
