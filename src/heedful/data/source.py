"""Sources of texts: data modules of a Trainer, which read, split, tokenize, cache and batch their texts."""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import tokenizers
import torch

from heedful.base.errors import UserError
from heedful.base.files import number_names
from heedful.base.formatting import format_list
from heedful.data.columns import fit_column
from heedful.data.corpus import SPLITS, TokenizedCorpus, TokenizedSplit, tokenize
from heedful.data.label_warnings import warn_of_labels
from heedful.data.origin import Origin
from heedful.data.padded_batches import BatchBuilder, Batches, ShuffledBatches, by_length, shuffled
from heedful.data.reading import label_cells
from heedful.data.roles import KEPT, READ
from heedful.data.schema import Schema
from heedful.data.splits import distinct_rows, divide
from heedful.data.store import code_version, hash_text, load_or_build
from heedful.data.table import Table, Text
from heedful.data.tables import CHUNK, format_places
from heedful.data.tokenizer import Tokenizer, TokenizerBuilder
from heedful.kernels.device import fits_on_gpu
from heedful.tasks.labels import describe_combinations, match_classes
from heedful.tasks.multilabel import Multilabel

log = logging.getLogger(__name__)
SHOWN = 10_000  # rows from which a task learns how labels are written


class Source(Origin):
    """Texts and labels of files, of a data set on the hub, or of the result of `load`, which a subclass may define.

    `setup()` sets `task` with the classes, `codec`, `class_counts` (training texts in each class), `vocabulary` and
    `sizes` (by split, in the order of `SPLITS`); afterwards, `tokenized(split)` may be called. The tokenizer is trained
    on the training split alone.
    """

    def __str__(self) -> str:
        return f"{self.opener.title}: {self.sizes}" if self.data else self.opener.title

    # Splits and tokens

    def setup(self, stage: str | None = None) -> None:
        """Load the tokenized data of all splits, regardless of the stage; later calls do nothing."""
        if self.data is not None:
            return
        roles = self.roles
        if roles.has_indicators and self.task.targets != Multilabel.targets:
            raise UserError(
                f"data.label=[{', '.join(roles.label)}]: columns that say whether a text has a label need "
                "task=multilabel; for another task, name one column"
            )
        if self._model is None:
            first = islice(self.opener.rows("train", roles.every), SHOWN // CHUNK)
            self.task, message = self.task.suited(cell for rows in first for cell in label_cells(rows, roles))
            if message:
                log.warning(message)
        corpus = self.corpus  # a text that cannot be read is reported now, not after the training
        if (
            self.reading.names is None
            and self._model is None
            and (warning := describe_combinations(corpus.task.classes))
        ):
            log.warning(warning)
        rows = distinct_rows(corpus) if self.drops_duplicates else None
        self.dropped = None if rows is None or corpus.train is None else len(corpus.train.labels) - len(rows)
        data = self._tokenize(rows)
        tokenizer = Tokenizer.from_json(data.tokenizer)
        self.data, self.conflicts, self.vocabulary = data.splits, data.conflicts, tokenizer.vocabulary
        self.codec = self._fit(tokenizer) if self._model is None else self._of_model(self._model)
        self.task = self.codec.task
        classes = match_classes(corpus.task.classes, self.task.classes)
        targets = {name: self.task.recode(split.labels, classes) for name, split in self.data.items()}
        self.data = {name: replace(split, labels=targets[name]) for name, split in self.data.items()}
        self.sizes = {split: len(self.data[split].labels) for split in SPLITS if split in self.data}
        for split, size in self.sizes.items():
            features, self.coverage[split] = self.codec.encode_columns(self.table(split, range(size)))
            if features is not None:
                self.features[split] = features
        self.batch_size = self.batch_size or suited_batch_size(next(iter(self.sizes.values())))
        if "train" in self.sizes:
            self.class_counts = self.count_classes("train")
        if self._model is None:
            warn_of_labels(self, corpus, data.examples)

    def _tokenize(self, rows: np.ndarray | None) -> TokenizedCorpus:
        """Return the tokens in the cache; tokenize these rows of the training split if they are not there."""

        def folder(tokenizer: TokenizerBuilder) -> Path:
            code = code_version(type(self), type(tokenizer))
            return self.cache_dir / hash_text(
                f"{self.rows_key} {tokenizer.fingerprint()} {tokenizers.__version__} {code}"
            )

        def build(part: Path) -> None:
            tokenize(self.corpus, divide(self.corpus, self.splitting, rows), self.tokenizer, part, self.progress)

        path = folder(self.tokenizer)
        data = load_or_build(path, TokenizedCorpus.load, build)
        with suppress(OSError):  # it exists, or the file system has no links
            folder(Tokenizer.from_json(data.tokenizer)).symlink_to(path.name)  # for the trained model
        return data

    def _fit(self, tokenizer: Tokenizer) -> Schema:
        """Return the schema that suits the training texts."""
        labels = np.asarray(self.tokenized("train").labels)
        task, table = self.corpus.task.learn(labels), self.table("train", range(len(labels)))
        columns = [fit_column(name, cells, table.where) for name, cells in table.cells.items()]
        return Schema(
            tokenizer=tokenizer,
            task=task,
            pairs=self.roles.are_pairs,
            columns=columns,
            numbers=self.reading.numbers,
            **asdict(self.truncation),
        )

    def _of_model(self, codec: Schema) -> Schema:
        """Return the schema of a trained model, perhaps with further classes."""
        classes = match_classes(self.corpus.task.classes, codec.class_names)
        unknown = [name for name in classes if name not in codec.class_names]
        if unknown and self.reading.unknown_classes != "wrong":
            known = format_list(codec.class_names, plain=True)
            raise UserError(f"data: the model has no class {format_list(unknown)}, only {known}")
        if unknown:
            task = codec.task.with_classes([*codec.class_names, *unknown])
            codec = codec.model_copy(update={"task": task})
            self.class_counts += [0] * (len(task.classes) - len(self.class_counts))
        return codec

    @property
    def class_names(self) -> tuple[str, ...]:
        """The C classes, in the order of the probabilities."""
        return self.task.classes

    def count_classes(self, split: str) -> list[int]:
        """Return the number of texts of each class in a split."""
        counts: list[int] = self.task.class_counts(self.tokenized(split).labels).tolist()
        return counts

    def tokenized(self, split: str) -> TokenizedSplit:
        """Return the tokenized split "train", "val" or "test"; `Batch.index` contains positions in this split."""
        assert self.data is not None, "call setup() first"
        if split not in self.data:
            raise UserError(f"{self.opener.title}: has no {split} split; with data.test_fraction=0, add test=false")
        return self.data[split]

    def _origin(self, split: str, index: Iterable[int]) -> tuple[str, np.ndarray]:
        """Return the split of the source that contains the texts of a split, and the rows of texts in it."""
        data = self.tokenized(split)
        return data.origin, data.rows[list(index)]

    def table(self, split: str, index: Sequence[int]) -> Table:
        """Return what a model reads of the rows at the positions `index` of a split."""
        name, rows = self._origin(split, index)
        origin = self.corpus.of(name)
        cells = {name: origin.cells(READ + name, rows) for name in self.roles.read}
        return Table(origin.texts.take(rows), cells, lambda wrong: self._where(split, [index[i] for i in wrong]))

    def texts(self, split: str, index: Iterable[int]) -> list[Text]:
        """Return the texts at the positions `index` of a split."""
        name, rows = self._origin(split, index)
        return self.corpus.of(name).texts.take(rows)[:]

    def origins(self, split: str, index: Iterable[int]) -> dict[str, list[Any]]:
        """Return where the texts at the positions `index` come from, as columns of a table.

        They are the file (or the name of a data set), the line, row or record in it, under this name, and the columns
        `keep_columns` as text, with None for missing values; a kept column of the name `file` stays, beside `file_2`.
        """
        return self.origins_of_rows(*self._origin(split, index))

    def origins_of_rows(self, split: str, rows: np.ndarray) -> dict[str, list[Any]]:
        """Return the origins of rows of a split of the source."""
        split_cells, files, kept = self.corpus.of(split), self.opener.sources(split), self.roles.kept
        numbers, *cells = (split_cells.cells(name, rows) for name in ("file", "place", *(KEPT + name for name in kept)))
        names = [*number_names(["file", self.opener.unit(split)], taken=kept), *kept]
        return dict(zip(names, [[files[number] for number in numbers], *cells], strict=True))

    def groups(self, split: str) -> np.ndarray | None:
        """Return the number of each text's group in a split, n int64, or None if the rows have no groups."""
        data = self.tokenized(split)
        groups = self.corpus.of(data.origin).groups
        return None if groups is None else groups[data.rows]

    def weights(self, split: str) -> np.ndarray | None:
        """Return the weight of each training text, n float64 above 0; None if all texts of the split weigh the same."""
        data = self.tokenized(split)
        weights = self.corpus.of(data.origin).weights if split == "train" else None
        return None if weights is None else weights[data.rows]

    def _where(self, split: str, index: Sequence[int]) -> str:
        """Return the file of the first of some texts, and the places of those that are in it."""
        files, places, *_ = self.origins(split, index).values()
        of_first = [place for file, place in zip(files, places, strict=True) if file == files[0]]
        return f"{files[0]}: {format_places(self.opener.unit(self.tokenized(split).origin), of_first)}"

    # Batches

    def train_dataloader(self) -> ShuffledBatches | Batches:
        builder = self.builder("train")
        options = (self.batch_size, self.seed, self.length_buckets, *self._ranks())
        order = partial(shuffled, builder.lengths, *options, weights=builder.weights)
        if getattr(self.trainer, "overfit_batches", 0):
            return Batches(builder, order(0))  # the same batches in every epoch
        return ShuffledBatches(builder, order)

    def val_dataloader(self, split: str = "val") -> Batches:
        builder = self.builder(split)
        limit = getattr(self.trainer, f"limit_{split}_batches", 1.0)
        batches = Batches(builder, by_length(builder.lengths, self.batch_size, *self._ranks(), limit))
        if isinstance(limit, float) and 0 < limit * len(batches) < 1:
            of_all = f"less than one batch of {len(batches)}; set a larger fraction, or a smaller data.batch_size"
            option = "overfit_batches" if getattr(self.trainer, "overfit_batches", 0) else f"limit_{split}_batches"
            raise UserError(f"trainer.{option}={limit}: is {of_all}")
        return batches

    def test_dataloader(self) -> Batches:
        return self.val_dataloader("test")

    def predict_dataloader(self) -> Batches:
        """Return the test texts (in an evaluation, those of its split), in the order of the split."""
        builder = self.builder(list(self.sizes)[-1])
        return Batches(builder, by_length(np.zeros(len(builder)), self.batch_size, *self._ranks()))

    def builder(self, split: str) -> BatchBuilder:
        """Return the builder of the batches of a split."""
        data = self.tokenized(split)
        device = torch.device("cpu") if self.trainer is None else self.trainer.strategy.root_device
        is_stored = fits_on_gpu(data.tokens.nbytes, device) if self.on_device is None else self.on_device
        place = device if is_stored else "cpu"
        tokens = (data.tokens, data.offsets, data.labels)
        further = (data.bounds, self.features.get(split), self.weights(split))
        return BatchBuilder(*tokens, self.truncation, place, *further)

    def _ranks(self) -> tuple[int, int]:
        """Return the rank of this process and the number of processes."""
        return (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)


def source_of(trainer: pl.Trainer) -> Source:
    """Return the data module that a Trainer was given."""
    data = trainer.datamodule  # type: ignore[attr-defined]
    if not isinstance(data, Source):
        raise UserError("a callback needs the texts: give the Trainer the data module, as in trainer.fit(module, data)")
    return data


def suited_batch_size(texts: int) -> int:
    """Return about a 40th of the number of training texts, so that few texts make enough steps: 16 to 64."""
    return min(max(texts // 40, 16), 64)
