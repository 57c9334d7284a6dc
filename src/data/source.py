"""Sources of texts with labels: files, folders of files, data sets on the Hugging Face hub, and those of `datasets`."""

import hashlib
import json
import logging
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from src.config.mistakes import did_you_mean
from src.data.corpus import FACTS, Corpus
from src.data.datamodule import TextDataModule
from src.data.files import content_hash, existing_path, file_format
from src.data.labels import canonical, parse_labels, sort_classes
from src.data.store import code_version, load_or_build
from src.data.tables import CHUNK, FORMATS, Rows, arrow_rows, check_columns, format_places, parse_delimiter, read_file
from src.errors import UserError
from src.formatting import format_list, format_repr

if TYPE_CHECKING:
    import datasets

log = logging.getLogger(__name__)
ASSETS = Path(__file__).parent / "assets"
BUNDLED = "bundled:"  # prefix of a path in `ASSETS`


class Source(TextDataModule):
    """Texts and labels of files, of a data set on the hub, or of the result of `load`, which a subclass may define.

    Args:
        path: the training file; or a folder with files of all splits, such as train.parquet or train-00000.parquet, at
            most one folder deep; or `bundled:` and the name of a file that Heed contains. None loads `name`.
        name: name of a data set on the hub, such as owner/name.
        rationale: name of a column of spans {start, end} of tokens that people marked as evidence for the label, the
            end exclusive; the tokens of a text are separated by whitespace. None means no spans.
        train_split, val_split, test_split: names of the splits on the hub, or beginnings of the names of their files;
            None holds out training rows.
        options: passed to `TextDataModule`.

    The comments in conf/data/csv.yaml and hub.yaml describe the other options.
    """

    def __init__(
        self,
        path: str | None = None,
        name: str | None = None,
        config: str | None = None,
        text: str = "text",
        label: str = "label",
        group: str | None = None,
        rationale: str | None = None,
        labels: Sequence[Any] | Mapping[Any, Any] | None = None,
        val_path: str | None = None,
        test_path: str | None = None,
        train_split: str = "train",
        val_split: str | None = None,
        test_split: str | None = "test",
        on_bad_rows: Literal["error", "drop"] = "error",
        delimiter: str | None = None,
        quotes: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if text == label:
            raise ValueError(f"text={text!r}: is also the column of labels: set data.text or data.label")
        if path is None and name is not None and name.startswith((".", "/", "~")):
            raise UserError(f"data.name={name}: is a path: use data=csv data.path={name}")
        self.dataset_name = name
        self.config = config
        self.text, self.label, self.group, self.rationale = text, label, group, rationale
        self.columns = [column for column in (text, label, group, rationale) if column is not None]
        self.names = parse_labels(labels)
        splits = {"train": train_split, "val": val_split, "test": test_split}
        self.splits = {split: own for split, own in splits.items() if own is not None}
        self.on_bad_rows = on_bad_rows
        self.delimiter = parse_delimiter(delimiter)
        self.quotes = quotes
        self.files = {} if path is None else self._find_files(path, {"val": val_path, "test": test_path})
        self.title = str(self.files["train"][0]) if self.files else name or type(self).__name__

    @classmethod
    def of(cls, data: "datasets.Dataset | Mapping[str, datasets.Dataset]", **options: Any) -> "Source":
        """Return the source of a `datasets.Dataset`, or of a `DatasetDict` with splits of the usual names."""
        given = data if isinstance(data, Mapping) else {"train": data}
        usual = {"val_split": ("validation", "val", "dev"), "test_split": ("test",)}
        splits = {option: next((name for name in names if name in given), None) for option, names in usual.items()}
        source = cls(**{**splits, **options})
        source._sets = given
        return source

    def _find_files(self, path: str, others: Mapping[str, str | None]) -> dict[str, list[Path]]:
        """Return the files of each split; `others` are the options val_path and test_path."""
        if path.startswith(BUNDLED):
            path = str(ASSETS / path.removeprefix(BUNDLED))
        files = {split: [existing_path(file, f"data.{split}_path")] for split, file in others.items() if file}
        folder = existing_path(path, "data.path")
        if not folder.is_dir():
            return {"train": [folder], **files}
        for split in self.splits.keys() - files.keys():
            beginning = self.splits[split]
            found = [*folder.glob(f"{beginning}*"), *folder.glob(f"*/{beginning}*")]
            files[split] = sorted(file for file in found if file.is_file() and file_format(file) in FORMATS)
            if not files[split]:
                raise UserError(
                    f"data.path={path}: has no file {beginning}* ({', '.join(FORMATS)}), at most one folder deep; its "
                    f"files are {format_list(sorted(os.listdir(folder)), plain=True) or 'none'}"
                )
        return dict(sorted(files.items()))

    def load(self) -> "Mapping[str, datasets.Dataset]":
        """Return the data sets of all splits by name, unless they are in files; a subclass may override this method."""
        import datasets

        if self.dataset_name is None:
            raise UserError("data: set data.path, the path of a file or folder, or data.name, a name on the hub")
        try:
            return datasets.load_dataset(self.dataset_name, self.config)
        except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
            raise UserError(
                f"data.name={self.dataset_name}: cannot be loaded from the hub ({str(error).splitlines()[0]}). Check "
                "data.name and data.config. Without a network, download it on another machine with `hf download "
                f"{self.dataset_name} --repo-type dataset --local-dir <folder>`, then set data.path=<folder>"
            ) from None

    @cached_property
    def _sets(self) -> "Mapping[str, datasets.Dataset]":
        return self.load()

    def fingerprint(self) -> str:
        """Return a string that changes whenever the texts or labels change: hashes of the content, and the options."""
        if self.files:
            content = [
                (split, [file_format(file) for file in files], content_hash(files))
                for split, files in self.files.items()
            ]
        else:
            content = [(split, [], self._hash(split)) for split in self.splits]
        columns = (self.text, self.label, self.group, self.rationale)
        return f"{content} {(columns, self.names, self.on_bad_rows, self.delimiter, self.quotes)}"

    def _hash(self, split: str) -> str:
        """Return a hash of the columns of a data set that is not in files."""
        digest = hashlib.sha256()
        for rows in self._rows(split):
            digest.update(repr(([rows.cells(name) for name in self.columns], rows.class_names)).encode())
        return digest.hexdigest()

    def read(self) -> Corpus:
        """Return the corpus in the cache; read the source first if it is not in the cache."""
        key = hashlib.sha256(f"{self.source_fingerprint} {code_version(type(self))}".encode()).hexdigest()
        return load_or_build(self.cache_dir / f"{key}.texts", Corpus.load, self._write)

    def _rows(self, split: str) -> Iterator[Rows]:
        """Yield the rows of a split in chunks."""
        if self.files:
            for file in self.files[split]:
                yield from read_file(file, self.columns, delimiter=self.delimiter, quotes=self.quotes)
            return
        sets, own = self._sets, self.splits[split]
        if own not in sets:
            raise UserError(
                f"{self.title}: has no split {own!r}{did_you_mean(own, sets)}, only {format_list(sets, plain=True)}. "
                "Set data.train_split, data.val_split or data.test_split; null holds out part of the training split"
            )
        source, data = f"{self.title} ({own})", sets[own]
        check_columns(source, self.columns, data.column_names)
        data = data.select_columns(self.columns).with_format("arrow")
        yield from arrow_rows(source, data.iter(CHUNK), self.columns, data.features.arrow_schema)

    def _write(self, folder: Path) -> None:
        """Write the valid rows of each split to a file, and the names of the classes to another."""
        for split in ("val", "test"):
            if self.is_training and split in self.files and self.files[split][0].samefile(self.files["train"][0]):
                raise UserError(
                    f"data.{split}_path={self.files[split][0]}: is the same file as data.path, so the model would be "
                    f"trained on these texts; set another file, or null to hold out data.{split}_fraction of data.path"
                )
        own, found = self._write_split(folder, "train", self.names)
        if len(found) < 2:
            raise UserError(
                f"{self.title}: every row has the label {format_repr(*found)}; training needs two or more classes"
            )
        names = self.names or {name: name for name in own or sort_classes(found)}
        for split in self.files or self.splits:
            if split != "train":
                self._write_split(folder, split, names)
        (folder / FACTS).write_text(json.dumps({"class_names": list(dict.fromkeys(names.values()))}))

    def _write_split(self, folder: Path, split: str, names: Mapping[str, str] | None) -> tuple[list[str], set[str]]:
        """Write the valid rows of a split; return the named classes of the data set, if it has any, and those found.

        Args:
            names: the class of each allowed label; None allows all labels.
        """
        types = {"text": pa.large_string(), "label": pa.large_string()}
        types |= {"group": pa.large_string()} if self.group else {}
        types |= {"rationale": pa.list_(pa.list_(pa.int64()))} if self.rationale else {}
        schema = pa.schema(list(types.items()))
        # places by source and wrong label, which is empty if a cell is missing
        faults = defaultdict[tuple[str, str], list[int]](list)
        own, found = list[str](), set[str]()
        with pa.ipc.new_stream(str(folder / f"{split}.arrow"), schema) as stream:
            for rows in self._rows(split):
                own = own or [canonical(name) for name in rows.class_names.get(self.label, ())]
                texts, labels, is_valid = rows.texts(self.text), self._labels(rows), list[bool]()
                for place, text, label in zip(rows.places, texts, labels, strict=True):
                    is_missing = not label or not text.strip()
                    is_valid.append(not is_missing and (names is None or label in names))
                    if not is_valid[-1]:
                        faults[rows.source, "" if is_missing else label].append(place)
                if names is not None:
                    labels = [names.get(label, "") for label in labels]
                found.update(compress(labels, is_valid))
                columns: dict[str, list[Any]] = {"text": texts, "label": labels}
                if self.group is not None:
                    columns["group"] = rows.texts(self.group)
                if self.rationale is not None:
                    cells = enumerate(zip(is_valid, texts, rows.cells(self.rationale), strict=True))
                    columns["rationale"] = [
                        _characters(text, spans, rows, i) if ok else [] for i, (ok, text, spans) in cells
                    ]
                stream.write_batch(pa.RecordBatch.from_pydict(columns, schema).filter(pa.array(is_valid)))
        self._report(faults, rows.unit, names)
        if not found:
            raise UserError(f"{rows.source}: no row has both {self.text!r} and {self.label!r}")
        return own, found

    def _report(
        self, faults: Mapping[tuple[str, str], Sequence[int]], unit: str, names: Mapping[str, str] | None
    ) -> None:
        """Report rows with an unknown label, or without a text or label."""
        for (source, label), places in faults.items():
            where = f"{source}: {format_places(unit, places)}:"
            if label:
                classes = dict.fromkeys((names or {}).values())
                raise UserError(
                    f"{where} label {format_repr(label)} is not among the classes {format_list(classes, plain=True)}"
                    f"{did_you_mean(label, classes)}. Correct the label, or list all classes in data.labels, in quotes"
                )
            if self.on_bad_rows == "error":
                raise UserError(
                    f"{where} no {self.text!r} or no {self.label!r}. Correct the file, or drop such rows with "
                    "data.on_bad_rows=drop"
                )
            log.warning("%s dropped, because %r or %r is missing", where, self.text, self.label)

    def _labels(self, rows: Rows) -> list[str]:
        """Return the canonical labels of rows; a missing label is an empty string."""
        labels = rows.texts(self.label)
        forms = {label: canonical(label) for label in set(labels)}
        if own := rows.class_names.get(self.label):  # -1 means that the class is unknown
            names = {str(i): canonical(name) for i, name in enumerate(own)}
            forms = {label: names.get(form, "") for label, form in forms.items()}
        return [forms[label] for label in labels]


def _characters(text: str, spans: Any, rows: Rows, i: int) -> list[tuple[int, int]]:
    """Convert spans of the tokens of the text in row `i` to spans of its characters; empty spans are left out."""
    tokens = [match.span() for match in re.finditer(r"\S+", text)]
    try:
        bounds = [(span["start"], span["end"]) for span in spans]
        if not all(0 <= start <= end <= len(tokens) for start, end in bounds):
            raise IndexError
        return [(tokens[start][0], tokens[end - 1][1]) for start, end in bounds if start < end]
    except (IndexError, KeyError, TypeError):
        raise UserError(
            f"{rows.source}: {rows.unit} {rows.places[i]}: the column of rationales must contain spans {{start, end}} "
            f"with 0 ≤ start ≤ end ≤ {len(tokens):,}, the number of tokens of the text"
        ) from None
