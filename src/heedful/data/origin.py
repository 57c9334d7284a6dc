"""Where the texts of a run come from, and how they are read: the options of a source."""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import pytorch_lightning as pl
import torch
from pydantic import Field

from heedful.base.errors import UserError
from heedful.config.mistakes import LabelColumn, TextColumn, not_a_list
from heedful.data.columns import Coverage
from heedful.data.corpus import Corpus, TokenizedSplit
from heedful.data.opener import Opener, find_files, load_from_hub
from heedful.data.padded_batches import Truncation
from heedful.data.reading import Reading
from heedful.data.roles import Roles
from heedful.data.schema import Schema
from heedful.data.sets import as_sets, usual_splits
from heedful.data.splits import Splitting
from heedful.data.store import code_version, hash_text, load_or_build
from heedful.data.tables import parse_delimiter
from heedful.data.text_files import absolute_path
from heedful.data.tokenizer import TokenizerBuilder
from heedful.runtime import number_form
from heedful.tasks.labels import parse_labels
from heedful.tasks.multiclass import Multiclass
from heedful.tasks.task import Task

if TYPE_CHECKING:
    import datasets
    from scipy.sparse import csr_matrix

log = logging.getLogger(__name__)
MIN_LENGTH = 4  # tokens of a pair, up to two of which are a separator


class Origin(pl.LightningDataModule):
    """The options of a source: which rows it has, how they are read, divided and tokenized, and what its batches are.

    Args:
        path: the training file; or a folder with files of all splits, such as train.parquet or train-00000.parquet, at
            most one folder deep; or `bundled:` and the name of a file that Heedful contains. None loads `name`.
        name: name of a data set on the hub, such as owner/name.
        train_split, val_split, test_split: names of the splits on the hub, or beginnings of the names of their files;
            None holds out training rows, unless `path` is a folder, `name` is None, and the name of a file in it begins
            with "val" or "dev": this file is the validation split.
        seed: of the order of the training texts; None means torch's seed.

    The comments in conf/data/base.yaml, csv.yaml and hub.yaml describe the other options.
    """

    def __init__(
        self,
        path: str | None = None,
        name: str | None = None,
        config: str | None = None,
        text: TextColumn = "text",
        label: LabelColumn = "label",
        group: str | None = None,
        labels: Sequence[Any] | Mapping[Any, Any] | None = None,
        val_path: str | None = None,
        test_path: str | None = None,
        train_split: str = "train",
        val_split: str | None = None,
        test_split: str | None = "test",
        on_bad_rows: Literal["error", "drop"] = "error",
        delimiter: str | None = None,
        quotes: bool = True,
        *,
        tokenizer: TokenizerBuilder,
        batch_size: Annotated[int, Field(ge=1)] | None = 32,
        max_length: Annotated[int, Field(ge=1)] = 500,
        keep: Annotated[
            Literal["first", "last"], not_a_list("must be first or last; to copy columns, write data.keep_columns=[…]")
        ] = "first",
        keep_columns: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        weight: str | None = None,
        decimal: Literal[",", ".", "comma", "point"] | None = None,
        thousands: Literal[",", ".", " ", "'", "comma", "point", "space", "apostrophe"] | None = None,
        duplicates: Literal["drop"] | None = None,
        val_fraction: Annotated[float, Field(ge=0, lt=1)] = 0.1,
        test_fraction: Annotated[float, Field(ge=0, lt=1)] = 0.2,
        split_seed: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1)] | None = None,
        train_limit: Annotated[int, Field(ge=1)] | None = None,
        folds: Annotated[int, Field(ge=2)] | None = None,
        fold: Annotated[int, Field(ge=0)] | None = None,
        length_buckets: bool = True,
        on_device: bool | None = None,
        cache_dir: str | None = None,
        seed: Annotated[int, Field(ge=0)] | None = 0,
        progress: bool = True,
    ) -> None:
        super().__init__()
        if (folds is None) != (fold is None):
            sweep = f"-m data.folds={folds or 5} data.fold={','.join(map(str, range(folds or 5)))}"
            raise ValueError(f"folds={folds} and fold={fold}: set both, or sweep over all folds with {sweep}")
        roles = Roles.of(text, label, group, weight, columns, keep_columns)
        if roles.are_pairs and max_length < MIN_LENGTH:
            raise ValueError(f"max_length={max_length}: must be at least {MIN_LENGTH} for pairs of texts")
        if path is None and name is not None and name.startswith((".", "/", "~")):
            raise UserError(f"data.name={name}: is a path: use data=csv data.path={name}")
        self.sets_numbers = decimal is not None or thousands is not None
        self.reading = Reading(roles, parse_labels(labels), on_bad_rows, number_form(decimal, thousands))
        named = {"train": train_split, "val": val_split, "test": test_split}
        splits = {split: rows for split, rows in named.items() if rows is not None}
        others, is_copy = {"val": val_path, "test": test_path}, name is not None
        files = {} if path is None else find_files(path, others, splits, is_copy)
        title = str(files["train"][0]) if files else name or type(self).__name__
        self.dataset = name, config
        self.opener = Opener(title, files, splits, self.load, (parse_delimiter(delimiter), quotes, roles.label[0]))
        self.drops_duplicates = duplicates == "drop"
        self.tokenizer = tokenizer
        self.batch_size = batch_size or 0  # 0: `setup` chooses it
        self.length_buckets, self.on_device = length_buckets, on_device
        self.truncation = Truncation(max_length, keep)
        self.splitting = Splitting(val_fraction, test_fraction, split_seed, limit, folds, fold, train_limit)
        default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "heedful")
        self.cache_dir = absolute_path(default if cache_dir is None else cache_dir, "data.cache_dir")
        self.seed, self.progress = torch.initial_seed() if seed is None else seed, progress
        self.task: Task = Multiclass()  # without the classes
        self._model: Schema | None = None  # of a trained model, which is evaluated on these data
        self.data: dict[str, TokenizedSplit] | None = None
        self.features: dict[str, csr_matrix] = {}  # of the columns of each split, n×K; empty without columns
        self.coverage: dict[str, dict[str, Coverage]] = {}  # of the columns of each split, by name

    @classmethod
    def of(cls, data: "datasets.Dataset | Mapping[str, datasets.Dataset]", **options: Any) -> Self:
        """Return the source of a `datasets.Dataset`, or of a `DatasetDict` with splits of the usual names."""
        sets = as_sets(data)
        source = cls(**{**usual_splits(sets), **options})
        source.opener.sets = sets
        return source

    def use_codec(self, codec: Schema) -> None:
        """Use the tokenizer, truncation and classes of a trained model; must be called before `setup()`."""
        codec.check(self.roles.are_pairs, "data.text")
        self._model, self.tokenizer, self.truncation = codec, codec.tokenizer, codec.truncation
        self.task = codec.task.with_classes([])
        numbers = self.reading.numbers if self.sets_numbers else codec.numbers
        roles = replace(self.roles, read=tuple(column.name for column in codec.columns))
        self.reading = replace(self.reading, roles=roles, numbers=numbers)

    def score_whole(self, split: str, class_counts: Sequence[int], unknown_classes: str = "error") -> None:
        """Keep only the split "test" or "val" of the source, undivided; must be called after `use_codec`.

        The training split of a source without a test split becomes its test split.

        Args:
            class_counts: the model's training texts in each class.
            unknown_classes: error, drop or wrong: what rows are whose class the model does not have. With wrong, the
                task has further classes, which the model never predicts.
        """
        present = self.opener.splits
        origin = "train" if split == "test" and split not in present else split
        if origin not in present:
            raise UserError(f"split={split}: {self.opener.title} has no validation split: remove split={split}")
        if self.splitting.folds is not None:
            raise UserError("data.folds: all texts are scored: remove it, or remove data=… to score the model's fold")
        self.opener.keep(split, origin)
        assert self._model is not None
        self.reading = self.reading.of_model(self._model.class_names, unknown_classes)
        self.class_counts, self.drops_duplicates = list(class_counts), False

    # Reading

    @property
    def roles(self) -> Roles:
        return self.reading.roles

    def load(self) -> "Mapping[str, datasets.Dataset]":
        """Return the data sets of all splits by name, unless they are in files; a subclass may override this method."""
        return load_from_hub(*self.dataset)

    def fingerprint(self) -> str:
        """Return a string that changes whenever the texts or labels change: hashes of the content, and the options."""
        return self.reading.fingerprint(self.opener, self.task)

    @cached_property
    def source_fingerprint(self) -> str:
        """The fingerprint when the run began to read the source."""
        return self.fingerprint()

    @cached_property
    def _content(self) -> str:
        """What determines the splits, except the fold."""
        *shared, folds, _, most = self.splitting
        content = f"{self.source_fingerprint} {tuple(shared if folds is None else (*shared, folds))}"
        content = content if most is None else f"{content} {most}"
        return f"{content} distinct" if self.drops_duplicates else content

    @property
    def data_fingerprint(self) -> str:
        """The fingerprint of the texts, labels and splits, which is the same for all folds."""
        return hash_text(self._content)[:16]

    @property
    def rows_key(self) -> str:
        """A string that changes whenever the rows of a split or their weights change."""
        return f"{self._content} {self.splitting.fold} {self.roles.weight}"

    @cached_property
    def corpus(self) -> Corpus:
        return self.read()

    def read(self) -> Corpus:
        """Return the corpus in the cache, and repeat its warnings; read the source first if it is not in the cache."""
        reading, opener, further = self.reading, self.opener, self.roles.further
        in_sets = [opener.hash_columns(split, further) for split in opener.splits if further and not opener.files]
        key = f"{self.source_fingerprint} {self.roles} {in_sets} {code_version(type(self))}"

        def write(folder: Path) -> None:
            if self._model is None:
                opener.require_distinct()
            reading.write(folder, opener, self.task, self.progress)

        load = partial(Corpus.load, task=self.task)
        corpus = load_or_build(self.cache_dir / f"{hash_text(key)}.texts", load, write)
        for warning in corpus.warnings:
            log.warning("%s", warning)
        return corpus
