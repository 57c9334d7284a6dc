"""From a source's texts to the batches of a Trainer."""

import hashlib
import logging
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytorch_lightning as pl
import tokenizers
import torch

from src.data.batching import BatchBuilder, Truncation
from src.data.cache import SPLITS, TokenizedCorpus, TokenizedSplit, cached, code_version
from src.data.codec import Codec
from src.data.corpus import Corpus, Split, validated
from src.data.files import absolute, nearest
from src.data.listing import listed, shown
from src.data.loaders import Batches, ShuffledBatches
from src.data.order import by_length, shuffled
from src.data.splits import divide
from src.data.tokenizer import Tokenizer, TokenizerBuilder, Trained
from src.errors import UserError

log = logging.getLogger(__name__)


class TextDataModule(pl.LightningDataModule, ABC):
    """Base of all sources: a subclass reads texts, this class splits, tokenizes, caches and batches them.

    After `setup()` everything about the data is known: `codec`, `class_names`, `vocabulary`, `sizes`,
    `fingerprint_` and `part(split)`. The tokenizer learns from the training part alone.

    Args:
        tokenizer: how texts become tokens.
        batch_size: texts a step, or a few less: batches of a split differ by one text at most (≥ 1).
        max_length: tokens of a text that a model sees (≥ 1).
        keep: which ones of a longer text, "first" or "last".
        val_fraction: of the training split, held out where the source has no validation split; in (0, 1).
        test_fraction: likewise where it has no test split, held out before.
        split_seed: of what is held out and of `limit`; apart from `seed`, so that runs of several seeds share
            one split and one cache.
        limit: texts in each split at most, a stratified sample; None takes all.
        length_buckets: train on batches of texts of like length, which saves padding.
        on_device: keep all tokens of a split on the trainer's device.
        cache_dir: where tokenized data are kept; None is `heed` in the user's cache folder.
        seed: of the training order; None follows torch's.
        progress: show progress bars while tokenizing.

    Raises:
        ValueError: an option out of its range.
    """

    def __init__(
        self,
        *,
        tokenizer: TokenizerBuilder,
        batch_size: int = 32,
        max_length: int = 500,
        keep: str = "first",
        val_fraction: float = 0.1,
        test_fraction: float = 0.2,
        split_seed: int = 0,
        limit: int | None = None,
        length_buckets: bool = True,
        on_device: bool = False,
        cache_dir: str | None = None,
        seed: int | None = 0,
        progress: bool = True,
    ) -> None:
        super().__init__()
        for name, fraction in (("val_fraction", val_fraction), ("test_fraction", test_fraction)):
            if not 0 < fraction < 1:
                raise ValueError(f"{name}={fraction}: must lie between 0 and 1, both excluded")
        least = {"batch_size": 1, "limit": 1, "split_seed": 0, "seed": 0}
        for name, number in zip(least, (batch_size, limit, split_seed, seed), strict=True):
            if number is not None and number < least[name]:
                raise ValueError(f"{name}={number}: must be at least {least[name]}")
        self.tokenizer = tokenizer
        self.batch_size = batch_size
        self.truncation = Truncation(max_length, keep)
        self.val_fraction = val_fraction
        self.test_fraction = test_fraction
        self.split_seed = split_seed
        self.limit = limit
        self.length_buckets = length_buckets
        self.on_device = on_device
        self.cache_dir = absolute(_cache_folder() if cache_dir is None else cache_dir, "data.cache_dir")
        self.seed = torch.initial_seed() if seed is None else seed
        self.progress = progress
        self._known_classes: tuple[str, ...] | None = None
        self._data: TokenizedCorpus | None = None
        self._corpus: Corpus | None = None
        self._source = ""  # its fingerprint

    @abstractmethod
    def fingerprint(self) -> str:
        """Changes whenever `read` would give something else; cheap, so without parsing any text."""

    @abstractmethod
    def read(self) -> Corpus:
        """All texts with their classes."""

    def read_valid_corpus(self) -> Corpus:
        """As `read`, checked, since a source may be the user's own.

        Raises:
            UserError: it is not as `Corpus` says; names the class, the value and what is wanted.
        """
        return validated(self.read(), f"{type(self).__module__}.{type(self).__name__}.read()")

    @property
    def is_training(self) -> bool:
        """Whether a model is to learn from these data; otherwise a trained one reads them."""
        return self._known_classes is None

    def use_codec(self, codec: Codec) -> None:
        """Read texts as a trained model does: with its tokenizer, its truncation and its classes. Before `setup()`."""
        self.tokenizer = Trained(codec.tokenizer)
        self.truncation = codec.truncation
        self._known_classes = codec.class_names

    def prepare_data(self) -> None:
        """Tokenize, unless a run before has."""
        self.setup()

    def setup(self, stage: str | None = None) -> None:
        """Load the tokenized data, all splits whatever the stage; free when called again.

        Raises:
            UserError: the data cannot be had, or hold a class that the model they are read for does not know.
        """
        if self._data is not None:
            return
        splitting = (self.val_fraction, self.test_fraction, self.split_seed, self.limit)
        self._source = self.fingerprint()
        content = f"{self._source} {splitting}"
        self.fingerprint_ = _hash(content)[:16]

        def key(tokenizer: TokenizerBuilder) -> str:
            code = code_version(type(self), type(tokenizer))
            return _hash(f"{content} {tokenizer.fingerprint()} {tokenizers.__version__} {code}")

        def trained(data: TokenizedCorpus) -> str:  # how evaluations will read the same texts
            return key(Trained(Tokenizer.from_json(data.tokenizer)))

        data = cached(self.cache_dir, key(self.tokenizer), self._tokenize, trained)
        self._data = data if self._known_classes is None else _renumbered(data, self._known_classes)
        self.class_names = self._data.class_names
        self.codec = Codec(Tokenizer.from_json(self._data.tokenizer), self.truncation, self.class_names)
        self.vocabulary = self.codec.tokenizer.vocabulary
        self.sizes = {split: len(self.tokenized(split).labels) for split in SPLITS}

    def tokenized(self, split: str) -> TokenizedSplit:
        """Tokens, offsets and labels of "train", "val" or "test"; `Batch.index` counts its rows."""
        assert self._data is not None, "call setup() first"
        return getattr(self._data, split)

    @property
    def class_counts(self) -> list[int]:
        """Training texts of each class, C."""
        return np.bincount(self.tokenized("train").labels, minlength=len(self.class_names)).tolist()

    def texts(self, split: str, index: Iterable[int]) -> list[str]:
        """The texts of these rows of a split, read back from the source.

        Raises:
            UserError: if the source has changed since `setup()`, or cannot be read any more.
        """
        if self._corpus is None:
            try:
                self._require_same_source()
                corpus = self.read_valid_corpus()
                self._require_same_source()
            except OSError as error:
                raise UserError(f"data: the source cannot be read any more ({error})") from error
            self._corpus = corpus
        part = self.tokenized(split)
        source: Split = getattr(self._corpus, part.origin)
        return [source.texts[part.rows[i]] for i in index]

    def _require_same_source(self) -> None:
        """Check that the source holds what it held when `setup()` began.

        Raises:
            UserError: if it does not.
        """
        if self.fingerprint() != self._source:
            raise UserError("data: the source has changed since the run began to read it: run again")

    def train_dataloader(self) -> ShuffledBatches | Batches:
        builder = self._builder("train")
        order = partial(shuffled, builder.lengths, self.batch_size, self.seed, self.length_buckets, *self._ranks())
        if getattr(self.trainer, "overfit_batches", 0):
            return Batches(builder, order(0))  # the same few batches in every epoch
        return ShuffledBatches(builder, order, self.seed)

    def val_dataloader(self) -> Batches:
        return self._evaluation("val")

    def test_dataloader(self) -> Batches:
        return self._evaluation("test")

    def _evaluation(self, split: str) -> Batches:
        builder = self._builder(split)
        return Batches(builder, by_length(builder.lengths, self.batch_size, *self._ranks()))

    def _builder(self, split: str) -> BatchBuilder:
        part = self.tokenized(split)
        device = self.trainer.strategy.root_device if self.on_device and self.trainer is not None else "cpu"
        return BatchBuilder(part.tokens, part.offsets, part.labels, self.truncation, device)

    def _ranks(self) -> tuple[int, int]:
        """Which process this is, and of how many."""
        return (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)

    def _tokenize(self) -> TokenizedCorpus:
        start = time.perf_counter()
        corpus = self.read_valid_corpus()
        self._require_same_source()  # or the cache would keep the new texts under the fingerprint of the old ones
        chosen = divide(corpus, self.val_fraction, self.test_fraction, self.split_seed, self.limit)
        texts = {
            split: [getattr(corpus, origin).texts[row] for row in rows] for split, (origin, rows) in chosen.items()
        }
        tokenizer = self.tokenizer.train(texts["train"], self.progress)
        parts = {
            split: TokenizedSplit(
                *tokenizer.encode(texts[split], self.progress),
                getattr(corpus, origin).labels[rows],
                rows,
                origin,
            )
            for split, (origin, rows) in chosen.items()
        }
        log.info(
            "Tokenized %s texts in %.1f s; the vocabulary has %s entries",
            f"{sum(map(len, texts.values())):,}",
            time.perf_counter() - start,
            f"{len(tokenizer.vocabulary):,}",
        )
        return TokenizedCorpus(**parts, tokenizer=tokenizer.to_json(), class_names=corpus.class_names)


def _renumbered(data: TokenizedCorpus, class_names: Sequence[str]) -> TokenizedCorpus:
    """The same texts, with their classes numbered as in `class_names`."""
    number = {name: i for i, name in enumerate(class_names)}
    for name in data.class_names:
        if name not in number:
            raise UserError(
                f"data: class {shown(name)} is none of the model's, {listed(class_names, plain=True)}"
                f"{nearest(name, class_names)}"
            )
    numbers = np.array([number[name] for name in data.class_names])
    parts = {split: getattr(data, split) for split in SPLITS}
    renumbered = {split: replace(part, labels=numbers[part.labels]) for split, part in parts.items()}
    return replace(data, class_names=tuple(class_names), **renumbered)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _cache_folder() -> str:
    """`heed` in the user's cache folder; by the XDG specification, a relative XDG_CACHE_HOME does not count."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(folder if os.path.isabs(folder) else "~/.cache", "heed")
