"""Opens the splits of a source: files, folders of files, data sets on the Hugging Face hub, and those of `datasets`."""

import filecmp
import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.base.errors import UserError
from heedful.base.formatting import format_list
from heedful.config.mistakes import did_you_mean
from heedful.data.bundled_vectors import ASSETS
from heedful.data.corpus import SPLITS
from heedful.data.tables import CHUNK, FORMATS, Rows, TableFile, arrow_rows, check_columns, place_unit
from heedful.data.text_files import content_hash, existing_path, file_format, files_of_split, tables_of_split

if TYPE_CHECKING:
    import datasets

BUNDLED = "bundled:"  # prefix of a path in `ASSETS`


def find_files(
    path: str, others: Mapping[str, str | None], names: Mapping[str, str], is_copy: bool
) -> dict[str, list[Path]]:
    """Return the files of each split.

    Args:
        path, others: the options path, val_path and test_path of a source.
        names: the beginnings of the names of the files of each split in a folder.
        is_copy: whether the folder has the splits of a data set on the hub, and so only those that are named.
    """
    if path.startswith(BUNDLED):
        path = str(ASSETS / path.removeprefix(BUNDLED))
    files = {split: [existing_path(file, f"data.{split}_path")] for split, file in others.items() if file}
    folder = existing_path(path, "data.path")
    if not folder.is_dir():
        return {"train": [folder], **files}
    beginnings = [name for name in ("val", "dev") if tables_of_split(folder, name, FORMATS)]
    names = {**({"val": beginnings[0]} if beginnings and not is_copy else {}), **names}
    found = {split: files_of_split(folder, name, FORMATS) for split, name in names.items() if split not in files}
    return dict(sorted({**files, **found}.items()))


def load_from_hub(name: str | None, config: str | None) -> "Mapping[str, datasets.Dataset]":
    """Return the splits of a data set on the hub by name."""
    import datasets

    if name is None:
        raise UserError(
            "data: set data.path, the path of a file or folder, or data.name, a name on the hub; the texts of "
            "data=python are given by a program"
        )
    try:
        return datasets.load_dataset(name, config)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise UserError(
            f"data.name={name}: cannot be loaded from the hub ({str(error).splitlines()[0]}). Check data.name and "
            "data.config. Without a network, download it on another machine with `hf download "
            f"{name} --repo-type dataset --local-dir <folder>`, then set data.path=<folder>"
        ) from None


class Opener:
    """Opens the splits: those of `files`, or else those of the data sets that `load` returns.

    Args:
        title: of the source, for messages.
        splits: the name of each split among the data sets.
        csv: the delimiter, quotes and label of a `TableFile`.
    """

    def __init__(
        self,
        title: str,
        files: Mapping[str, list[Path]],
        splits: Mapping[str, str],
        load: "Callable[[], Mapping[str, datasets.Dataset]]",
        csv: tuple[str | None, bool, str],
    ) -> None:
        self.title, self.files, self.names, self.load, self.csv = title, files, splits, load, csv

    @cached_property
    def sets(self) -> "Mapping[str, datasets.Dataset]":
        return self.load()

    @property
    def splits(self) -> Mapping[str, Any]:
        """The files, or the name among the data sets, of each split."""
        return self.files or self.names

    def keep(self, split: str, origin: str) -> None:
        """Keep a single split, under the name `split`."""
        self.files = {split: self.files[origin]} if self.files else {}
        self.names = {split: self.names[origin]} if not self.files else {}

    def rows(self, split: str, columns: Collection[str]) -> Iterator[Rows]:
        """Yield these columns of a split in chunks."""
        for file in self.files.get(split, ()):
            yield from TableFile(file, list(columns), False, *self.csv).read()
        if self.files:
            return
        sets, name = self.sets, self.names[split]
        if name not in sets:
            raise UserError(
                f"{self.title}: has no split {name!r}{did_you_mean(name, sets)}, only {format_list(sets, plain=True)}. "
                "Set data.train_split, data.val_split or data.test_split; null holds out part of the training split"
            )
        (source,), data = self.sources(split), sets[name]
        names = dict(zip(check_columns(source, list(columns), data.column_names), data.column_names, strict=True))
        names = {name: names[name] for name in columns}
        if not len(data):
            raise UserError(f"{source}: has no rows")
        data = data.select_columns(list(names.values())).with_format("arrow")
        yield from arrow_rows(source, data.iter(CHUNK), names, data.features.arrow_schema)

    def sources(self, split: str) -> list[str]:
        """Return the names of the files of a split, or of the data set, as messages name them."""
        return list(map(str, self.files[split])) if self.files else [f"{self.title} ({self.names[split]})"]

    def unit(self, split: str) -> str:
        """Return the unit of the places in a split."""
        return place_unit(self.files[split][0]) if self.files else "row"

    def content(self, columns: Collection[str]) -> list[tuple[Any, ...]]:
        """Return what changes whenever the content of these columns changes: the hash of each split."""
        if self.files:
            return [(split, list(map(file_format, files)), content_hash(files)) for split, files in self.files.items()]
        return [(split, [], self.hash_columns(split, columns)) for split in self.names]

    def hash_columns(self, split: str, columns: Collection[str]) -> str:
        digest = hashlib.sha256()
        for rows in self.rows(split, columns):
            classes = {name: classes for name, classes in rows.class_names.items() if name in columns}
            digest.update(repr(([rows.cells(name) for name in columns], classes)).encode())
        return digest.hexdigest()

    def require_distinct(self) -> None:
        """Refuse a split that is also another one: the same files or copies of them, or the same split on the hub."""
        given = self.splits
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
