"""Any text-classification set of the Hugging Face hub."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from src.data.corpus import Corpus, Split
from src.data.datamodule import TextDataModule
from src.data.files import nearest
from src.data.hub import connection
from src.data.listing import listed
from src.data.readers import (
    Examples,
    Rows,
    check_columns,
    checked_policy,
    encode_labels,
    examples,
    known_classes,
    names_of,
)
from src.errors import UserError


@dataclass(frozen=True)
class HubSet:
    """A data set of the hub, downloaded when first looked into.

    Args:
        name: owner/name.
        config: which of its configurations, or None for its only one.
        splits: its split for each of train, val, test; without val or test, some of train is held out.
        text: its column of texts.
        label: its column of labels.
        on_bad_rows: "error" or "drop".
        classes: the classes allowed and their order, or None for its own.
    """

    name: str
    config: str | None
    splits: Mapping[str, str]
    text: str = "text"
    label: str = "label"
    on_bad_rows: str = "error"
    classes: tuple[str, ...] | None = None

    @cached_property
    def data(self) -> Any:
        """The `datasets.DatasetDict`, whose texts stay on disk until they are asked for.

        Raises:
            UserError: no such data set or configuration, or no network and no copy from an earlier run.
        """
        import datasets

        with connection() as online:
            try:
                found = datasets.load_dataset(self.name, self.config)
            except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
                raise UserError(self._unread(str(error)) if online else self._unreachable()) from None
        if missing := [split for split in self.splits.values() if split not in found]:
            raise UserError(
                f"data.name={self.name}: has no split {missing[0]!r}{nearest(missing[0], found)}, only "
                f"{listed(found, plain=True)}. Set data.train_split, data.val_split or data.test_split; null holds "
                "some of the training split out"
            )
        return found

    def fingerprint(self) -> str:
        versions = [(part, self.data[split]._fingerprint) for part, split in self.splits.items()]
        return f"hub {self.name} {versions} {(self.text, self.label, self.on_bad_rows, self.classes)}"

    def read(self) -> Corpus:
        found = {part: self._examples(split) for part, split in self.splits.items()}
        names = self.classes or self._own_classes() or names_of(found["train"].labels, self.name)
        splits = {part: Split(some.texts, encode_labels(some, names)) for part, some in found.items()}
        return Corpus(splits["train"], splits.get("val"), splits.get("test"), names)

    def _examples(self, split: str) -> Examples:
        data, source = self.data[split], f"{self.name} ({split})"
        check_columns(source, (self.text, self.label), data.column_names)
        labels = data[self.label][:]
        if own := self._own_classes():
            labels = [own[i] if i is not None and i >= 0 else None for i in labels]  # -1 is the hub's "unknown"
        columns = {self.text: data[self.text][:], self.label: labels}
        return examples(Rows(source, "row", range(1, len(data) + 1), columns), self.text, self.label, self.on_bad_rows)

    def _own_classes(self) -> tuple[str, ...]:
        return tuple(getattr(self.data[self.splits["train"]].features[self.label], "names", ()))

    def _unread(self, reason: str) -> str:
        why = reason.partition("\n")[0]
        return f"data.name={self.name}: the hub cannot give it ({why}). Check data.name and data.config"

    def _unreachable(self) -> str:
        return (
            f"The data set {self.name!r} comes from the Hugging Face hub, which does not answer (or "
            "HF_HUB_OFFLINE forbids to ask), and no earlier run left a copy here. Fetch one elsewhere with "
            f"`hf download {self.name} --repo-type dataset --local-dir <folder>`, then give its path: "
            "data=imdb data.path=<folder> for IMDb, data=csv data.path=<file> for others"
        )


class Hub(TextDataModule):
    """Texts and labels from the hub, or from what an earlier run downloaded.

    Args:
        name: of the data set, such as owner/name.
        text: its column of texts.
        label: its column of labels: class numbers with names, strings, numbers or booleans.
        config: which of its configurations, where it has several.
        train_split: its split to train on.
        val_split: its split to validate on; None holds `val_fraction` of the training rows out.
        test_split: its split to test on; None holds out `test_fraction`.
        on_bad_rows: "error", or "drop" to leave out rows without text or label.
        labels: the classes allowed and their order; None takes the data set's own.
        loading: options of `TextDataModule`.
    """

    def __init__(
        self,
        name: str,
        text: str = "text",
        label: str = "label",
        config: str | None = None,
        train_split: str = "train",
        val_split: str | None = None,
        test_split: str | None = "test",
        on_bad_rows: str = "error",
        labels: Sequence[Any] | None = None,
        **loading: Any,
    ) -> None:
        super().__init__(**loading)
        if name.startswith((".", "/", "~")) or name.count("/") > 1:
            raise UserError(
                f"data.name={name}: is a path, not a name on the hub. For a file: data=csv data.path={name}"
            )
        splits = {"train": train_split, "val": val_split, "test": test_split}
        given = {part: split for part, split in splits.items() if split is not None}
        self.source = HubSet(name, config, given, text, label, checked_policy(on_bad_rows), known_classes(labels))

    def fingerprint(self) -> str:
        return self.source.fingerprint()

    def read(self) -> Corpus:
        return self.source.read()
