"""Sources of texts: files, folders of files, data sets on the Hugging Face hub, and those of `datasets`.

A source is the data module of a Trainer: it reads, splits, tokenizes, caches and batches its texts.
"""

import filecmp
import hashlib
import json
import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cached_property, partial
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pytorch_lightning as pl
import tokenizers
import torch
from pydantic import Field

from heedful.base.errors import UserError
from heedful.base.files import number_names
from heedful.base.formatting import format_count, format_list, format_repr
from heedful.base.progress import row_progress
from heedful.config.mistakes import LabelColumn, TextColumn, did_you_mean, not_a_list
from heedful.data.bundled_vectors import ASSETS
from heedful.data.columns import Coverage, fit_column
from heedful.data.corpus import (
    FACTS,
    KEPT,
    PARTS,
    READ,
    SPLITS,
    Corpus,
    Split,
    TokenizedCorpus,
    TokenizedSplit,
    tokenize,
    write_split,
)
from heedful.data.padded_batches import BatchBuilder, Batches, ShuffledBatches, Truncation, by_length, shuffled
from heedful.data.schema import Schema
from heedful.data.sets import as_sets, usual_splits
from heedful.data.splits import Splitting, distinct_rows, divide
from heedful.data.store import code_version, load_or_build
from heedful.data.table import Table, Text, join_parts
from heedful.data.tables import (
    CHUNK,
    FORMATS,
    Rows,
    TableFile,
    arrow_rows,
    check_columns,
    format_places,
    parse_delimiter,
    place_unit,
)
from heedful.data.text_files import (
    absolute_path,
    content_hash,
    existing_path,
    file_format,
    files_of_split,
    tables_of_split,
)
from heedful.data.tokenizer import Tokenizer, TokenizerBuilder
from heedful.kernels.device import fits_on_gpu
from heedful.tasks.labels import describe_combinations, describe_look_alikes, parse_labels
from heedful.tasks.multiclass import Multiclass
from heedful.tasks.task import MIN_TEXTS, Task

if TYPE_CHECKING:
    import datasets
    from scipy.sparse import csr_matrix

log = logging.getLogger(__name__)
SHOWN = 10_000  # rows from which a task learns how labels are written
MIN_LENGTH = 4  # tokens of a pair, up to two of which are a separator
BUNDLED = "bundled:"  # prefix of a path in `ASSETS`


class Source(pl.LightningDataModule):
    """Texts and labels of files, of a data set on the hub, or of the result of `load`, which a subclass may define.

    `setup()` sets `task` with the classes, `codec`, `class_counts` (training texts in each class), `vocabulary` and
    `sizes` (by split, in the order of `SPLITS`); afterwards, `tokenized(split)` may be called. The tokenizer is trained
    on the training split alone.

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
        duplicates: Literal["drop"] | None = None,
        val_fraction: Annotated[float, Field(ge=0, lt=1)] = 0.1,
        test_fraction: Annotated[float, Field(ge=0, lt=1)] = 0.2,
        split_seed: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1)] | None = None,
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
        texts = [text] if isinstance(text, str) else list(text)
        if label in texts:
            raise ValueError(f"text={label!r}: is also the column of labels: set data.text or data.label")
        if len(texts) == 2 and max_length < MIN_LENGTH:
            raise ValueError(f"max_length={max_length}: must be at least {MIN_LENGTH} for pairs of texts")
        if path is None and name is not None and name.startswith((".", "/", "~")):
            raise UserError(f"data.name={name}: is a path: use data=csv data.path={name}")
        self.dataset_name, self.config = name, config
        roles = {**dict(zip(PARTS, texts, strict=False)), "label": label, "group": group}
        self.columns = {role: own for role, own in roles.items() if own is not None}
        for role, own in self.columns.items():
            if own in (columns or ()):
                raise ValueError(f"columns: {own!r} is also data.{role}, which a model must not read twice: remove it")
        self.read_columns = list(dict.fromkeys(columns or ()))  # beside the text
        self.pairs = len(texts) == 2
        self.kept = list(dict.fromkeys(keep_columns or ()))
        self.names = parse_labels(labels)
        splits = {"train": train_split, "val": val_split, "test": test_split}
        self.splits = {split: own for split, own in splits.items() if own is not None}
        self.on_bad_rows, self.delimiter, self.quotes = on_bad_rows, parse_delimiter(delimiter), quotes
        self.drops_duplicates = duplicates == "drop"
        self.files = {} if path is None else self._find_files(path, {"val": val_path, "test": test_path})
        self.title = str(self.files["train"][0]) if self.files else name or type(self).__name__
        self.tokenizer = tokenizer
        self.batch_size = batch_size or 0  # 0: `setup` chooses it
        self.length_buckets, self.on_device = length_buckets, on_device
        self.truncation = Truncation(max_length, keep)
        self.splitting = Splitting(val_fraction, test_fraction, split_seed, limit, folds, fold)
        default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "heedful")
        self.cache_dir = absolute_path(default if cache_dir is None else cache_dir, "data.cache_dir")
        self.seed, self.progress = torch.initial_seed() if seed is None else seed, progress
        self.task: Task = Multiclass()  # without the classes
        self.unknown_classes: str | None = None  # not an evaluation
        self._model: Schema | None = None  # of a trained model, which is evaluated on these data
        self.features: dict[str, csr_matrix | None] = {}  # of the columns of each split, n×K; None without columns
        self.coverage: dict[str, dict[str, Coverage]] = {}  # of the columns of each split, by name
        self._data: dict[str, TokenizedSplit] | None = None

    def __str__(self) -> str:
        return f"{self.title}: {self.sizes}" if self._data else self.title

    @classmethod
    def of(cls, data: "datasets.Dataset | Mapping[str, datasets.Dataset]", **options: Any) -> "Source":
        """Return the source of a `datasets.Dataset`, or of a `DatasetDict` with splits of the usual names."""
        sets = as_sets(data)
        source = cls(**{**usual_splits(sets), **options})
        source.sets = sets
        return source

    def _find_files(self, path: str, others: Mapping[str, str | None]) -> dict[str, list[Path]]:
        """Return the files of each split; `others` are the options val_path and test_path."""
        if path.startswith(BUNDLED):
            path = str(ASSETS / path.removeprefix(BUNDLED))
        files = {split: [existing_path(file, f"data.{split}_path")] for split, file in others.items() if file}
        folder = existing_path(path, "data.path")
        if not folder.is_dir():
            return {"train": [folder], **files}
        names = dict(self.splits)
        own = [name for name in ("val", "dev") if tables_of_split(folder, name, FORMATS)]
        if own and self.dataset_name is None and "val" not in names:  # a copy of a data set has its splits
            names["val"] = own[0]
        found = {split: files_of_split(folder, own, FORMATS) for split, own in names.items() if split not in files}
        return dict(sorted({**files, **found}.items()))

    def use_codec(self, codec: Schema) -> None:
        """Use the tokenizer, truncation and classes of a trained model; must be called before `setup()`."""
        codec.check(self.pairs, "data.text")
        self._model, self.tokenizer, self.truncation = codec, codec.tokenizer, codec.truncation
        self.task, self.read_columns = codec.task.with_classes([]), [column.name for column in codec.columns]

    def score_whole(self, split: str, class_counts: Sequence[int], unknown_classes: str = "error") -> None:
        """Keep only the split "test" or "val" of the source, undivided; must be called after `use_codec`.

        The training split of a source without a test split becomes its test split.

        Args:
            class_counts: the model's training texts in each class.
            unknown_classes: error, drop or wrong: what rows are whose class the model does not have. With wrong, the
                task has further classes, which the model never predicts.
        """
        assert self._model is not None
        own, classes = self.files or self.splits, self._model.class_names
        origin = "train" if split == "test" and split not in own else split
        if origin not in own:
            raise UserError(f"split={split}: {self.title} has no validation split: remove split={split}")
        if self.splitting.folds is not None:
            raise UserError("data.folds: all texts are scored: remove it, or remove data=… to score the model's fold")
        self.files = {split: self.files[origin]} if self.files else {}
        self.splits = {split: self.splits[origin]} if not self.files else {}
        names = self.names or dict(zip(classes, classes, strict=True))
        self.names = {label: name for label, name in names.items() if name in classes} if classes else None
        if self.names == {}:
            raise UserError(f"data.labels: the model has only other classes, {format_list(classes, plain=True)}")
        self.class_counts, self.drops_duplicates = list(class_counts), False
        self.unknown_classes = unknown_classes

    # Reading

    def load(self) -> "Mapping[str, datasets.Dataset]":
        """Return the data sets of all splits by name, unless they are in files; a subclass may override this method."""
        import datasets

        if self.dataset_name is None:
            raise UserError(
                "data: set data.path, the path of a file or folder, or data.name, a name on the hub; the texts of "
                "data=python are given by a program"
            )
        try:
            return datasets.load_dataset(self.dataset_name, self.config)
        except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
            raise UserError(
                f"data.name={self.dataset_name}: cannot be loaded from the hub ({str(error).splitlines()[0]}). Check "
                "data.name and data.config. Without a network, download it on another machine with `hf download "
                f"{self.dataset_name} --repo-type dataset --local-dir <folder>`, then set data.path=<folder>"
            ) from None

    @cached_property
    def sets(self) -> "Mapping[str, datasets.Dataset]":
        return self.load()

    def fingerprint(self) -> str:
        """Return a string that changes whenever the texts or labels change: hashes of the content, and the options."""
        if self.files:
            content = [(split, list(map(file_format, own)), content_hash(own)) for split, own in self.files.items()]
        else:
            content = [(split, [], self._hash_columns(split, self.columns.values())) for split in self.splits]
        roles = ("text", "label", "group", "", *(["second"] * self.pairs))  # "": a role in earlier versions
        columns = tuple(map(self.columns.get, roles))
        names = self.names if self.unknown_classes in (None, "error") else (self.names, self.unknown_classes)
        return f"{content} {(columns, names, self.on_bad_rows, self.delimiter, self.quotes)}{self.task.reading}"

    def _hash_columns(self, split: str, names: Collection[str]) -> str:
        digest = hashlib.sha256()
        for rows in self._rows(split):
            classes = {name: own for name, own in rows.class_names.items() if name in names}
            digest.update(repr(([rows.cells(name) for name in names], classes)).encode())
        return digest.hexdigest()

    @cached_property
    def source_fingerprint(self) -> str:
        """The fingerprint when the run began to read the source."""
        return self.fingerprint()

    @cached_property
    def _content(self) -> str:
        """What determines the splits, except the fold."""
        *shared, folds, _ = self.splitting
        content = f"{self.source_fingerprint} {tuple(shared if folds is None else (*shared, folds))}"
        return f"{content} distinct" if self.drops_duplicates else content

    @property
    def data_fingerprint(self) -> str:
        """The fingerprint of the texts, labels and splits, which is the same for all folds."""
        return _hash(self._content)[:16]

    def _rows(self, split: str) -> Iterator[Rows]:
        """Yield the rows of a split in chunks."""
        columns = list(dict.fromkeys([*self.columns.values(), *self._stored]))
        for file in self.files.get(split, ()):
            yield from TableFile(file, columns, False, self.delimiter, self.quotes, self.columns["label"]).read()
        if self.files:
            return
        sets, own = self.sets, self.splits[split]
        if own not in sets:
            raise UserError(
                f"{self.title}: has no split {own!r}{did_you_mean(own, sets)}, only {format_list(sets, plain=True)}. "
                "Set data.train_split, data.val_split or data.test_split; null holds out part of the training split"
            )
        (source,), data = self._sources(split), sets[own]
        names = dict(zip(check_columns(source, columns, data.column_names), data.column_names, strict=True))
        names = {name: names[name] for name in columns}
        if not len(data):
            raise UserError(f"{source}: has no rows")
        data = data.select_columns(list(names.values())).with_format("arrow")
        yield from arrow_rows(source, data.iter(CHUNK), names, data.features.arrow_schema)

    def _shown_rows(self, split: str) -> Iterator[Rows]:
        """Yield the rows of a split, and show the progress."""
        with row_progress("Read", noun=f"rows of {Path(self.title).name}", is_shown=self.progress) as advance:
            for rows in self._rows(split):
                yield rows
                advance(len(rows.places))

    @property
    def _stored(self) -> list[str]:
        """The further columns that are stored with the texts."""
        return list(dict.fromkeys([*self.kept, *self.read_columns]))

    def _sources(self, split: str) -> list[str]:
        """Return the names of the files of a split, or of the data set, as messages name them."""
        return list(map(str, self.files[split])) if self.files else [f"{self.title} ({self.splits[split]})"]

    def read(self) -> Corpus:
        """Return the corpus in the cache; read the source first if it is not in the cache."""
        stored = self._stored
        in_sets = [] if self.files or not stored else [self._hash_columns(split, stored) for split in self.splits]
        key = _hash(f"{self.source_fingerprint} {self.read_columns} {self.kept} {in_sets} {code_version(type(self))}")
        return load_or_build(self.cache_dir / f"{key}.texts", partial(Corpus.load, task=self.task), self._write)

    def _write(self, folder: Path) -> None:
        """Write the valid rows of each split to a file, and the names of the classes to another."""
        if self._model is None:
            self._require_distinct_splits()
        bad_rows = (self.on_bad_rows, self.unknown_classes)
        write = partial(write_split, folder, self.task, self.columns, self.read_columns, self.kept, *bad_rows)
        names, splits = self.names, self.files or self.splits
        if "train" in splits:
            own, found = write("train", self._shown_rows("train"), names)
            try:
                classes = own or self.task.find_classes(found)
            except ValueError as error:
                raise UserError(f"{self.title}: {error}") from None
            names = names or dict(zip(classes, classes, strict=True)) or None
        for split in splits:
            if split != "train":
                _, found = write(split, self._shown_rows(split), names)
                if names is not None:
                    names |= {name: name for name in sorted(found - set(names.values()))}
        (folder / FACTS).write_text(json.dumps({"class_names": list(dict.fromkeys((names or {}).values()))}))

    def _require_distinct_splits(self) -> None:
        """Refuse a split that is also another one: the same files or copies of them, or the same split on the hub."""
        given: Mapping[str, Any] = self.files or self.splits
        for other, split in combinations([split for split in SPLITS if split in given], 2):
            one, two, kind = given[split], given[other], "path" if self.files else "split"
            if one == two or (
                self.files and len(one) == len(two) and all(map(partial(filecmp.cmp, shallow=False), one, two))
            ):
                raise UserError(
                    f"data.{split}_{kind}={one[0] if self.files else one}: has the same rows as the "
                    f"{other} split, so the model would be {'trained' if other == 'train' else 'chosen'} on these "
                    f"texts; set another, or null to hold out data.{split}_fraction of the training rows"
                )

    # Splits and tokens

    def setup(self, stage: str | None = None) -> None:
        """Load the tokenized data of all splits, regardless of the stage; later calls do nothing."""
        if self._data is not None:
            return
        if self._model is None:
            first = islice(self._rows("train"), SHOWN // CHUNK)
            self.task, message = self.task.suited(cell for rows in first for cell in rows.cells(self.columns["label"]))
            if message:
                log.warning(message)
        content = self._content if (fold := self.splitting.fold) is None else f"{self._content} {fold}"

        def folder(tokenizer: TokenizerBuilder) -> Path:
            code = code_version(type(self), type(tokenizer))
            return self.cache_dir / _hash(f"{content} {tokenizer.fingerprint()} {tokenizers.__version__} {code}")

        def build(part: Path) -> None:
            tokenize(corpus, divide(corpus, self.splitting, rows), self.tokenizer, part, self.progress)

        corpus = self._corpus  # a text that cannot be read is reported now, not after the training
        if self.names is None and self._model is None and (warning := describe_combinations(corpus.task.classes)):
            log.warning(warning)
        rows = distinct_rows(corpus) if self.drops_duplicates else None
        self.dropped = None if rows is None or corpus.train is None else len(corpus.train.labels) - len(rows)
        path = folder(self.tokenizer)
        data = load_or_build(path, TokenizedCorpus.load, build)
        tokenizer = Tokenizer.from_json(data.tokenizer)
        with suppress(OSError):  # it exists, or the file system has no links
            folder(tokenizer).symlink_to(path.name)  # for the trained model
        self._data, self.conflicts, self.vocabulary = data.splits, data.conflicts, tokenizer.vocabulary
        if (codec := self._model) is None:
            labels = np.asarray(data.splits["train"].labels)
            task, table = corpus.task.learn(labels), self.table("train", range(len(labels)))
            columns = [fit_column(name, cells, table.where) for name, cells in table.cells.items()]
            codec = Schema(tokenizer=tokenizer, task=task, pairs=self.pairs, columns=columns, **asdict(self.truncation))
        else:
            classes = corpus.task.classes
            unknown = [name for name in classes if name not in codec.class_names]
            if unknown and self.unknown_classes == "wrong":
                task = codec.task.with_classes([*codec.class_names, *unknown])
                codec, unknown = codec.model_copy(update={"task": task}), []
                self.class_counts += [0] * (len(task.classes) - len(self.class_counts))
            if unknown:
                known = format_list(codec.class_names, plain=True)
                raise UserError(f"data: the model has no class {format_list(unknown)}, only {known}")
            recoded = {name: codec.task.recode(split.labels, classes) for name, split in data.splits.items()}
            self._data = {name: replace(split, labels=recoded[name]) for name, split in data.splits.items()}
        self.codec, self.task = codec, codec.task
        self.sizes = {split: len(self._data[split].labels) for split in SPLITS if split in self._data}
        for split, size in self.sizes.items():
            self.features[split], self.coverage[split] = codec.encode_columns(self.table(split, range(size)))
        self.batch_size = self.batch_size or suited_batch_size(next(iter(self.sizes.values())))
        if "train" in self.sizes:
            self.class_counts = self.count_classes("train")
        if self._model is None:
            self._warn_of_classes(data)

    def _where(self, split: str, index: Sequence[int]) -> str:
        """Return the file of the first of some texts, and the places of those that are in it."""
        files, places, *_ = self.origins(split, index).values()
        own = [place for file, place in zip(files, places, strict=True) if file == files[0]]
        return f"{files[0]}: {format_places(self._unit(self.tokenized(split).origin), own)}"

    @property
    def class_names(self) -> tuple[str, ...]:
        """The C classes, in the order of the probabilities."""
        return self.task.classes

    def count_classes(self, split: str) -> list[int]:
        """Return the number of texts of each class in a split."""
        counts: list[int] = self.task.class_counts(self.tokenized(split).labels).tolist()
        return counts

    def _warn_of_classes(self, data: TokenizedCorpus) -> None:
        """Warn about classes that look alike, texts with several, and classes with few validation or test texts."""
        counts = {split: self.count_classes(split) for split in self.sizes}
        by_class = dict(zip(self.class_names, map(sum, zip(*counts.values(), strict=True)), strict=True))
        if warning := describe_look_alikes(by_class, are_set=self.names is not None):
            log.warning(warning)
        if data.examples:
            log.warning(
                "%s with different labels in several rows: %s. A model predicts the same for equal texts; correct the "
                "labels that are wrong",
                format_count(data.conflicts, "text"),
                "; ".join(map(self._describe_conflict, data.examples)),
            )
        classes = zip(self.class_names, counts["train"], counts.get("val", counts["train"]), strict=True)
        absent = [name for name, in_train, held_out in classes if in_train and not held_out]
        if absent and self.tokenized("val").origin == "train":
            log.warning(
                "Some classes have too few rows: %s. The val split has no texts of these classes, and its scores do "
                "not include them; add rows, or provide each split as a file (data.val_path, data.test_path)",
                format_list(absent),
            )
        test = self.sizes.get("test")
        if test and (rare := self.task.describe_rare_classes(self.tokenized("test").labels, self.groups("test"))):
            log.warning(
                "Some classes have fewer than %d test texts: %s. Scores that are means over classes, such as macro F1 "
                "and AUROC, will have no interval, and do not include classes without a text: add rows of these "
                "classes, or provide a file with more of them (data.test_path)",
                MIN_TEXTS,
                rare,
            )

    def _describe_conflict(self, rows: Sequence[tuple[str, int]]) -> str:
        """Describe a text by its label in each row: 'good': 'pos' (a.csv: line 2) and 'neg' (a.csv: line 9)."""
        labels = list[str]()
        for name, row in rows:
            split = getattr(self._corpus, name)
            (label,) = self._corpus.task.decode(split.labels[[row]])
            (file,), (place,), *_ = self._origins(name, np.array([row])).values()
            labels.append(f"{format_repr(label)} ({file}: {self._unit(name)} {place})")
        return f"{format_repr(join_parts(split.texts[row]))}: {' and '.join(labels)}"

    def tokenized(self, split: str) -> TokenizedSplit:
        """Return the tokenized split "train", "val" or "test"; `Batch.index` contains positions in this split."""
        assert self._data is not None, "call setup() first"
        if split not in self._data:
            raise UserError(f"{self.title}: has no {split} split; with data.test_fraction=0, add test=false")
        return self._data[split]

    @cached_property
    def _corpus(self) -> Corpus:
        return self.read()

    def _origin(self, split: str, index: Iterable[int]) -> tuple[Split, np.ndarray]:
        """Return the split of the source that contains the texts of a split, and the rows of texts in it."""
        data = self.tokenized(split)
        return getattr(self._corpus, data.origin), data.rows[list(index)]

    def table(self, split: str, index: Sequence[int]) -> Table:
        """Return what a model reads of the rows at the positions `index` of a split."""
        origin, rows = self._origin(split, index)
        cells = {name: origin.cells(READ + name, rows) for name in self.read_columns}
        return Table(origin.texts.take(rows), cells, lambda own: self._where(split, [index[i] for i in own]))

    def texts(self, split: str, index: Iterable[int]) -> list[Text]:
        """Return the texts at the positions `index` of a split."""
        origin, rows = self._origin(split, index)
        return origin.texts.take(rows)[:]

    def origins(self, split: str, index: Iterable[int]) -> dict[str, list[Any]]:
        """Return where the texts at the positions `index` come from, as columns of a table.

        They are the file (or the name of a data set), the line, row or record in it, under this name, and the columns
        `keep_columns` as text, with None for missing values; a kept column of the name `file` stays, beside `file_2`.
        """
        data = self.tokenized(split)
        return self._origins(data.origin, data.rows[list(index)])

    def _origins(self, split: str, rows: np.ndarray) -> dict[str, list[Any]]:
        """Return the origins of rows of a split of the source."""
        own, files = getattr(self._corpus, split), self._sources(split)
        numbers, places, *kept = (
            own.cells(name, rows) for name in ("file", "place", *(KEPT + own for own in self.kept))
        )
        names = [*number_names(["file", self._unit(split)], taken=self.kept), *self.kept]
        return dict(zip(names, [[files[number] for number in numbers], places, *kept], strict=True))

    def _unit(self, split: str) -> str:
        return place_unit(self.files[split][0]) if self.files else "row"

    def groups(self, split: str) -> np.ndarray | None:
        """Return the number of each text's group in a split, n int64, or None if the rows have no groups."""
        if "group" not in self.columns:
            return None
        origin, rows = self._origin(split, range(self.sizes[split]))
        return None if origin.groups is None else origin.groups[rows]

    # Batches

    def train_dataloader(self) -> ShuffledBatches | Batches:
        builder = self.builder("train")
        order = partial(shuffled, builder.lengths, self.batch_size, self.seed, self.length_buckets, *self._ranks())
        if getattr(self.trainer, "overfit_batches", 0):
            return Batches(builder, order(0))  # the same batches in every epoch
        return ShuffledBatches(builder, order)

    def val_dataloader(self, split: str = "val") -> Batches:
        builder = self.builder(split)
        limit = getattr(self.trainer, f"limit_{split}_batches", 1.0)
        batches = Batches(builder, by_length(builder.lengths, self.batch_size, *self._ranks(), limit))
        if isinstance(limit, float) and 0 < limit * len(batches) < 1:
            of_all = f"less than one batch of {len(batches)}; set a larger fraction, or a smaller data.batch_size"
            raise UserError(f"trainer.limit_{split}_batches={limit}: is {of_all}")
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
        return BatchBuilder(*tokens, self.truncation, place, data.bounds, self.features.get(split))

    def _ranks(self) -> tuple[int, int]:
        """Return the rank of this process and the number of processes."""
        return (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)


def suited_batch_size(texts: int) -> int:
    """Return about a 40th of the number of training texts, so that few texts make enough steps: 16 to 64."""
    return min(max(texts // 40, 16), 64)


def source_of(trainer: pl.Trainer) -> Source:
    """Return the source that a Trainer was given as its data module."""
    data = trainer.datamodule  # type: ignore[attr-defined]
    if not isinstance(data, Source):
        raise UserError("a callback needs the texts: give the Trainer the data module, as in trainer.fit(module, data)")
    return data


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
