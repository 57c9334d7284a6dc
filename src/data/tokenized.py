"""Tokenized texts; the cache stores them, and batches are built from them."""

import hashlib
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from src.data.corpus import FACTS, Corpus, Texts
from src.data.store import write_header
from src.data.tokenizer import TokenizerBuilder
from src.data.trained_tokenizer import Tokenizer, text_blocks
from src.errors import UserError
from src.formatting import format_list, format_repr
from src.misspellings import suggestion

log = logging.getLogger(__name__)
SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class TokenizedSplit:
    """One split, tokenized but not truncated, so that one folder of the cache serves every `max_length` and `keep`."""

    origin: str  # the source's split that contains the texts: train, val or test
    tokens: np.ndarray  # flat int32
    offsets: np.ndarray  # n+1 int64, offsets in tokens
    labels: np.ndarray  # n int64, class indices
    rows: np.ndarray  # n int64, the row of each text in the split `origin` of the source
    digests: np.ndarray  # n int64, hashes of the texts; duplicates have equal hashes
    counts: np.ndarray  # int64, number of occurrences of each token of the vocabulary

    def require_consistency(self, num_classes: int) -> None:
        """Raise a ValueError if the arrays do not belong together; the tokens are not read."""
        texts, offsets, labels = len(self.rows), self.offsets, self.labels
        is_typed = self.tokens.dtype == np.int32 and offsets.dtype == labels.dtype == self.rows.dtype == np.int64
        is_sized = texts == len(labels) == len(self.digests) == len(offsets) - 1 and offsets[-1] == len(self.tokens)
        if not (is_typed and is_sized and offsets[0] == 0 and (np.diff(offsets) >= 0).all()):
            raise ValueError("the arrays do not belong together")
        if texts == 0 or not 0 <= labels.min() <= labels.max() < num_classes:
            raise ValueError("a label is not a class")


ARRAYS = [field.name for field in fields(TokenizedSplit) if field.name != "origin"]


@dataclass(frozen=True)
class TokenizedCorpus:
    """The tokenizer, the class names, and all tokenized splits without their texts."""

    splits: dict[str, TokenizedSplit]  # train, val and test
    tokenizer: str  # JSON
    class_names: tuple[str, ...]

    @classmethod
    def load(cls, folder: Path) -> "TokenizedCorpus":
        """Map the arrays in a folder of the cache into memory; changes to them are not written.

        Raises:
            OSError, ValueError, KeyError, TypeError: if the folder is damaged.
        """
        facts = json.loads((folder / FACTS).read_text())
        splits = {}
        for split in SPLITS:
            arrays = {name: np.load(folder / f"{split}.{name}.npy", mmap_mode="c") for name in ARRAYS}
            splits[split] = TokenizedSplit(facts["origins"][split], **arrays)
            splits[split].require_consistency(len(facts["class_names"]))
        return cls(splits, facts["tokenizer"], tuple(facts["class_names"]))


def tokenize(
    corpus: Corpus,
    rows_by_split: Mapping[str, tuple[str, np.ndarray]],
    builder: TokenizerBuilder,
    folder: Path,
    progress: bool,
) -> None:
    """Train a tokenizer on the training texts, tokenize all texts with it, and write the result into a folder.

    Args:
        rows_by_split: the result of `src.data.splits.divide`.
    """
    start = time.perf_counter()
    texts: dict[str, Texts] = {
        split: getattr(corpus, origin).texts.take(rows) for split, (origin, rows) in rows_by_split.items()
    }
    tokenizer = builder.train(texts["train"], progress)
    for split in SPLITS:
        origin, rows = rows_by_split[split]
        arrays = _encode(texts[split], tokenizer, folder / f"{split}.tokens.npy", progress)
        for name, array in {**arrays, "labels": getattr(corpus, origin).labels[rows], "rows": rows}.items():
            np.save(folder / f"{split}.{name}.npy", array)
    facts = {
        "tokenizer": tokenizer.to_json(),
        "class_names": corpus.class_names,
        "origins": {split: origin for split, (origin, _) in rows_by_split.items()},
    }
    (folder / FACTS).write_text(json.dumps(facts))
    log.info(
        "Tokenized %s texts in %.1f s; the vocabulary has %s entries",
        f"{sum(map(len, texts.values())):,}",
        time.perf_counter() - start,
        f"{len(tokenizer.vocabulary):,}",
    )


def _encode(texts: Texts, tokenizer: Tokenizer, path: Path, progress: bool) -> dict[str, np.ndarray]:
    """Write the tokens of texts to a file; return the offsets, digests and counts, as in `TokenizedSplit`.

    The probability that two different texts have the same digest is 2**-64.
    """
    counts = np.zeros(len(tokenizer.vocabulary), dtype=np.int64)
    offsets, digests = np.zeros(len(texts) + 1, dtype=np.int64), np.empty(len(texts), dtype=np.int64)
    row = 0
    with path.open("xb") as file:
        write_header(file, np.int32, 0)
        for block in text_blocks(texts, "Tokenizing", progress):
            ids, stops = tokenizer.encode(block)
            file.write(ids.tobytes())
            counts += np.bincount(ids, minlength=len(counts))
            rows = slice(row, row := row + len(block))
            offsets[1:][rows] = offsets[rows.start] + stops[1:]
            hashes = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in block)
            digests[rows] = np.frombuffer(b"".join(hashes), dtype=np.int64)
        write_header(file, np.int32, int(offsets[-1]))
    return {"offsets": offsets, "digests": digests, "counts": counts}


def warn_of_rare_classes(data: TokenizedCorpus, folds: int | None = None) -> None:
    """Warn about classes with so few rows that a held-out split or a fold lacks or may lack them."""
    from_train = {name: split for name, split in data.splits.items() if split.origin == "train"}
    labels = np.concatenate([split.labels for split in from_train.values()])
    counts = np.bincount(labels, minlength=len(data.class_names))
    rare = np.flatnonzero((counts > 1) & (counts < (folds or 0)))
    if len(rare):
        log.warning(
            "Some classes have fewer rows than the %d folds: %s. Some folds have no test text of these classes. Scores "
            "over all folds include these classes; scores of a single fold may not include them",
            folds,
            format_list([data.class_names[c] for c in rare]),
        )
    for name, split in from_train.items():
        absent = np.setdiff1d(data.splits["train"].labels, split.labels)  # none if the split is train
        if name == "test":
            absent = np.setdiff1d(absent, rare)
        if len(absent):
            log.warning(
                "Some classes have too few rows: %s. The %s split has no texts of these classes, and its scores do not "
                "include them; add rows, or provide each split as a file (data.val_path, data.test_path)",
                format_list([data.class_names[c] for c in absent]),
                name,
            )


def renumber_classes(data: TokenizedCorpus, class_names: Sequence[str]) -> TokenizedCorpus:
    """Convert the labels to indices of `class_names`.

    Raises:
        UserError: if a class of the data is not in `class_names`.
    """
    number = {name: i for i, name in enumerate(class_names)}
    for name in data.class_names:
        if name not in number:
            raise UserError(
                f"data: class {format_repr(name)} is not among the classes of the model, "
                f"{format_list(class_names, plain=True)}{suggestion(name, class_names)}"
            )
    numbers = np.array([number[name] for name in data.class_names])
    splits = {name: replace(split, labels=numbers[split.labels]) for name, split in data.splits.items()}
    return TokenizedCorpus(splits, data.tokenizer, tuple(class_names))
