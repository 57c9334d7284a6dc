"""Text-classification data sets on the Hugging Face hub."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from src.data.classes import distinct_classes, parse_class_names
from src.data.corpus import Corpus
from src.data.datamodule import TextDataModule
from src.data.examples import select_examples, validate_options
from src.data.hub import connection
from src.data.readers import CHUNK
from src.data.rows import Rows, check_columns
from src.errors import UserError
from src.formatting import format_list
from src.misspellings import suggestion


class Hub(TextDataModule):
    """Texts and labels of a data set on the Hugging Face hub or in its local cache.

    Args:
        name: name of the data set, such as owner/name.
        text: name of the column of texts.
        label: name of the column of labels: indices of named classes, strings, numbers or booleans.
        config: configuration of the data set, if it has several.
        train_split: name of the training split.
        val_split: name of the validation split; None holds out training rows.
        test_split: name of the test split; None holds out training rows.
        on_bad_rows: how to treat rows without text or label: "error" reports them, "drop" drops them.
        labels: the allowed classes in order; None means the named classes of the data set or, if it has none,
            the sorted labels of its training split.
        options: passed to `TextDataModule`.
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
        **options: Any,
    ) -> None:
        super().__init__(**options)
        validate_options(text, label, on_bad_rows)
        if name.startswith((".", "/", "~")) or name.count("/") > 1:
            raise UserError(
                f"data.name={name}: is a path, not a name on the hub. For a file, use data=csv data.path={name}"
            )
        self.dataset_name = name
        self.text = text
        self.label = label
        self.config = config
        splits = {"train": train_split, "val": val_split, "test": test_split}
        self.splits = {split: hub_split for split, hub_split in splits.items() if hub_split is not None}
        self.on_bad_rows = on_bad_rows
        self.classes = parse_class_names(labels)

    @cached_property
    def dataset(self) -> Any:
        """The `datasets.DatasetDict`, downloaded on first use; its texts stay on disk until they are read.

        Raises:
            UserError: if there is no such data set, configuration or split, or neither a connection nor a local copy.
        """
        import datasets

        with connection() as online:
            try:
                dataset = datasets.load_dataset(self.dataset_name, self.config)
            except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
                if not online:
                    raise UserError(self._offline_message()) from None
                reason = str(error).partition("\n")[0]
                raise UserError(
                    f"data.name={self.dataset_name}: cannot be loaded from the hub ({reason}). Check data.name and "
                    "data.config"
                ) from None
        if missing := [split for split in self.splits.values() if split not in dataset]:
            raise UserError(
                f"data.name={self.dataset_name}: has no split {missing[0]!r}{suggestion(missing[0], dataset)}, only "
                f"{format_list(dataset, plain=True)}. Set data.train_split, data.val_split or data.test_split; null "
                "holds out part of the training split"
            )
        return dataset

    def fingerprint(self) -> str:
        versions = [(split, self.dataset[hub_split]._fingerprint) for split, hub_split in self.splits.items()]
        return f"hub {self.dataset_name} {versions} {(self.text, self.label, self.on_bad_rows, self.classes)}"

    def read(self) -> Corpus:
        examples = {
            split: select_examples(self._chunks(hub_split), self.text, self.label, self.on_bad_rows, self.cache_dir)
            for split, hub_split in self.splits.items()
        }
        names = self.classes or self._own_classes() or distinct_classes(examples["train"].labels, self.dataset_name)
        return Corpus.from_examples(examples, names)

    def _chunks(self, hub_split: str) -> Iterator[Rows]:
        data, source = self.dataset[hub_split], f"{self.dataset_name} ({hub_split})"
        check_columns(source, (self.text, self.label), data.column_names, "data.text and data.label")
        data = data.select_columns([self.text, self.label])
        for start in range(0, max(len(data), 1), CHUNK):
            columns = data[start : start + CHUNK]
            if names := self._own_classes():  # the label -1 means that the class is unknown
                columns[self.label] = [names[i] if i is not None and i >= 0 else None for i in columns[self.label]]
            yield Rows(source, "row", range(start + 1, start + len(columns[self.text]) + 1), columns)

    def _own_classes(self) -> tuple[str, ...]:
        return tuple(getattr(self.dataset[self.splits["train"]].features[self.label], "names", ()))

    def _offline_message(self) -> str:
        return (
            f"The data set {self.dataset_name!r} comes from the Hugging Face hub, which does not respond (or "
            "HF_HUB_OFFLINE is set), and there is no local copy. Download it on another machine with "
            f"`hf download {self.dataset_name} --repo-type dataset --local-dir <folder>`, then set the path: "
            "data=imdb data.path=<folder> for IMDb, data=csv data.path=<file> for other data sets"
        )
