"""The record of a run: a file in the run's folder with the results of the measures for each text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ConfigDict
from typing_extensions import TypedDict

from src.errors import UserError
from src.files import read_arrays, replace_atomically, validate
from src.records.faithfulness_names import ADVERSARY_ARRAYS, COLUMNS, GUIDES, RANKINGS

RECORD_FILE = "faithfulness.npz"
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # shares of tokens that are erased (DeYoung et al. 2020, section 4.2)
MIN_RANGE = 1e-6  # smallest distance between a text's limits for which a normalized value is defined
FORMAT = 6  # version of the file and of the measures; runs with a record of another version are measured again


class RecordedExample(TypedDict):
    """A text with its true and predicted class."""

    words: list[str]
    label: str
    predicted: str


class Version(TypedDict):
    """The version of the file."""

    format: int


class Options(Version):
    """The options of a record; `training` has the numbers of training texts and epochs, by measure."""

    __pydantic_config__ = ConfigDict(allow_inf_nan=False)  # type: ignore[misc]

    texts: int
    seed: int
    measures: list[str]
    rankings: list[str]
    checkpoint: str
    training: dict[str, list[int]]
    skipped: int
    seconds: float
    examples: list[RecordedExample]


SAMPLE = ("format", "texts", "seed", "checkpoint")  # options that determine the sample of texts and the rankings
# Arrays of every record.
REQUIRED = ("rows", "lengths", "correct", "probabilities", "weights", "integral_error", "scores")
BY_SHARE = ("_removal", "_unknown")  # endings of the names of arrays with a value for each erased share
RANGES = {  # range of the values of each array; other arrays may have any finite values, and all may contain NaN
    "lengths": (0.0, np.inf),
    **dict.fromkeys(
        (
            *("probabilities", "weights", "flip", "polarity", "permuted", "uniform", "adversarial"),
            *("auprc", "token_f1", "iou_f1"),
            *GUIDES,
            *ADVERSARY_ARRAYS,
        ),
        (0.0, 1.0),
    ),
    **dict.fromkeys(
        (
            *("soft_comprehensiveness", "soft_sufficiency", "tau_gradient", "tau_leave_one_out"),
            *("comprehensiveness_low", "comprehensiveness_high", "sufficiency_low", "sufficiency_high"),
        ),
        (-1.01, 1.01),
    ),
}


@dataclass(frozen=True)
class Record:
    """The results of a run on n texts, with R rankings.

    Args:
        options: the options that determine the results, the names of the rankings, the number of texts `skipped`
            because the model knows none of their tokens, the words and classes of the examples, and the duration in
            `seconds`.
        arrays: arrays by name: n×R×5 for comprehensiveness and sufficiency (by removal and by the unknown token), n×R
            for other measures of rankings, `probabilities` n×C, attention `weights` n×L with zeros after the end of the
            text, `scores` R×tokens of the examples, and n for all others.
    """

    options: dict[str, Any]
    arrays: dict[str, np.ndarray]

    @property
    def rankings(self) -> list[str]:
        return list(self.options["rankings"])

    @property
    def probability(self) -> np.ndarray:
        """The probability of the predicted class, n."""
        return self.arrays["probabilities"].max(1)

    def of(self, name: str, ranking: str) -> np.ndarray:
        """Return the values of a measure for a ranking: n, or n×5 if the measure has a value for each erased share."""
        return self.arrays[name][:, self.rankings.index(ranking)]

    def values(self, name: str, ranking: str) -> np.ndarray | None:
        """Return the value of a measure for each text, NaN if undefined; None if it was not computed for the ranking.

        Args:
            name: name of an array, which is averaged over the erased shares if it is n×R×5; or
                `normalized_comprehensiveness` or `normalized_sufficiency`, for values normalized by their limits.
        """
        measure = name.removeprefix("normalized_")
        if measure != name:
            values = self.values(f"{measure}_removal", ranking)
            if values is None or f"{measure}_low" not in self.arrays:
                return None
            return normalize(values, self.arrays[f"{measure}_low"], self.arrays[f"{measure}_high"])
        if name not in self.arrays or ranking not in self.rankings:
            return None
        values = self.of(name, ranking)
        return values.mean(1) if values.ndim == 2 else values

    def is_of(self, options: Mapping[str, Any]) -> bool:
        """Return whether the record has the format, checkpoint and sample of texts of these options."""
        return all(self.options[name] == options[name] for name in SAMPLE)

    def missing(self, options: Mapping[str, Any]) -> list[str]:
        """Return the measures in these options that the record lacks, or has for other training options."""
        if not self.is_of(options):
            return list(options["measures"])
        recorded, requested = self.options["training"], options["training"]
        usable = {name for name in self.options["measures"] if recorded.get(name) == requested.get(name)}
        return [name for name in options["measures"] if name not in usable]

    def extended(self, options: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "Record":
        """Return a record with further measures of the same texts."""
        merged = {
            "measures": sorted({*self.options["measures"], *options["measures"]}),
            "training": self.options["training"] | options["training"],
            "seconds": self.options["seconds"] + options["seconds"],
        }
        return Record({**self.options, **options, **merged}, {**self.arrays, **arrays})

    def save(self, run: Path) -> None:
        with replace_atomically(run / RECORD_FILE) as part, part.open("wb") as file:
            arrays: dict[str, Any] = {"options": np.array(json.dumps(self.options)), **self.arrays}
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, run: Path) -> "Record | None":
        """Read the record of a run; None if there is no record, or if it has another format version.

        Raises:
            UserError: if the file is damaged.
        """
        path = run / RECORD_FILE
        try:
            arrays = read_arrays(path)
            options = json.loads(str(arrays.pop("options")))
            if validate(options, Version)["format"] != FORMAT:
                return None
            validate(options, Options)
            _require_arrays(options, arrays)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, RecursionError, OSError) as error:
            raise UserError(f"{path} cannot be read ({error}): delete it, and run the command again") from error
        return cls(options, arrays)


def _require_arrays(options: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Check the names of the rankings, and the names, types, shapes and ranges of the arrays.

    Raises:
        ValueError: if a check fails.
    """
    rankings = len(options["rankings"])
    if not set(options["rankings"]) <= set(RANKINGS) or len(set(options["rankings"])) < rankings:
        raise ValueError("the names of the rankings are unknown or repeated")
    if absent := set(REQUIRED) - arrays.keys():
        raise ValueError(f"{min(absent)} is missing")
    for name, array in arrays.items():
        if array.dtype.kind not in ("i" if name in ("rows", "lengths") else "fib"):
            raise ValueError(f"{name} has values of type {array.dtype}")
    n = arrays["rows"].size
    if (np.diff(arrays["rows"].ravel()) <= 0).any():
        raise ValueError("rows is not strictly ascending")
    by_ranking = {
        name: (n, rankings, len(SHARES)) if name.endswith(BY_SHARE) else (n, rankings) for name, *_ in COLUMNS
    }
    shapes: dict[str, tuple[int, ...]] = {
        **by_ranking,
        "scores": (rankings, sum(len(example["words"]) for example in options["examples"])),
        "probabilities": (n, max(1, arrays["probabilities"].size // max(1, n))),
        "weights": (n, int(arrays["lengths"].max(initial=0))),
    }
    for name, array in arrays.items():
        if array.shape != shapes.get(name, (n,)):
            raise ValueError(f"{name} has shape {array.shape}")
        low, high = RANGES.get(name, (-np.inf, np.inf))
        values = array.astype(np.float64)
        if np.isinf(values).any() or not (np.isnan(values) | ((values >= low) & (values <= high))).all():
            raise ValueError(f"{name} has values out of range")


def normalize(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return (value − low) / (high − low): 0 at the lower, 1 at the upper limit; NaN if high − low < MIN_RANGE."""
    is_defined = high - low >= MIN_RANGE
    return np.where(is_defined, (values - low) / np.where(is_defined, high - low, 1), np.nan)
