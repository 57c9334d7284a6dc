"""The record of a run, `result.json`: its format, and how it is read and written.

docs/run-folders.md describes the fields. A field is None or empty if the run did not reach the step that determines it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ConfigDict

from heedful.base.errors import UserError
from heedful.base.files import validate, write_json

RESULT_FILE = "result.json"
FORMAT = 1


@dataclass(frozen=True)
class SplitSummary:
    """The texts of a split before truncation; quantiles of their lengths are named min, median and so on."""

    texts: int | None = None
    class_counts: Mapping[str, int] = field(default_factory=dict)
    majority_accuracy: float | None = None
    tokens: int | None = None
    lengths: Mapping[str, int] = field(default_factory=dict)
    cut_texts: int | None = None
    cut_share: float | None = None
    unknown_share: float | None = None
    vector_share: float | None = None
    duplicates: int | None = None
    in_train: int | None = None
    checked: int | None = None
    missing: Mapping[str, int] = field(default_factory=dict)
    unseen: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Data:
    fingerprint: str | None = None
    class_names: tuple[str, ...] = ()
    vocabulary: int | None = None
    train: int | None = None
    val: int | None = None
    test: int | None = None
    max_length: int | None = None
    batch_size: int | None = None
    majority_class: str | None = None
    vectors: int | None = None
    folds: int | None = None
    fold: int | None = None
    dropped: int | None = None
    conflicts: int | None = None
    splits: Mapping[str, SplitSummary] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of texts in each split that the record contains."""
        sizes = {"train": self.train, "val": self.val, "test": self.test}
        return {split: size for split, size in sizes.items() if size is not None}


@dataclass(frozen=True)
class Parameters:
    total: int | None = None
    trainable: int | None = None
    by_part: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Best:
    """The best checkpoint: its path in the run folder, the monitored metric, its value and better direction (min or
    max), and the epoch (from 0)."""

    checkpoint: str | None = None
    monitor: str | None = None
    value: float | None = None
    epoch: int | None = None
    mode: str | None = None

    def describe(self) -> str:
        """Return a text such as "epoch 3 (val/loss 0.2500)", which counts from 1; "" if there is none."""
        if self.epoch is None or self.value is None:
            return ""
        return f"epoch {self.epoch + 1} ({self.monitor} {self.value:.4f})"


@dataclass(frozen=True)
class Score:
    """A final metric with its 95 % interval and the number of texts.

    The value and the bounds are None if the metric is undefined for the texts. The bounds alone are None if they cannot
    be estimated, for example because all texts have the same value.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None


@dataclass(frozen=True)
class ClassScore:
    """Precision, recall and F1 (with its 95 % interval) of a class in a split, and its number of texts."""

    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    support: int | None = None
    f1_low: float | None = None
    f1_high: float | None = None


@dataclass(frozen=True)
class Baseline:
    """The scores of the linear model, by names such as test/acc, and by how much those of the model exceed them."""

    metrics: Mapping[str, Score] = field(default_factory=dict)
    differences: Mapping[str, Score] = field(default_factory=dict)


@dataclass(frozen=True)
class Seconds:
    """Durations; those of epochs exclude validation."""

    total: float | None = None
    fit: float | None = None
    per_epoch: tuple[float, ...] = ()
    test: float | None = None
    cpu: float | None = None


@dataclass(frozen=True)
class LowestError:
    """The lowest error that `abstain` can promise, and the share of the validation texts that it then answers."""

    error: float | None = None
    answered: float | None = None


@dataclass(frozen=True)
class PeakMemory:
    """Peak memory in MB of 2**20 bytes."""

    process: float | None = None
    cuda: float | None = None


@dataclass(frozen=True)
class RunResult:
    """The record of a run; the status `pending` means that there is no record."""

    __pydantic_config__ = ConfigDict(allow_inf_nan=False)  # also of the records in it

    format: int = FORMAT
    task: str | None = None
    status: str = "pending"
    error: str | None = None
    command: str | None = None
    overrides: tuple[str, ...] = ()
    seed: int | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    started: str | None = None
    data: Data = Data()
    parameters: Parameters = Parameters()
    device: str | None = None
    precision: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    git_commit: str | None = None
    best: Best = Best()
    branch_weight: float | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    lowest_error: LowestError = LowestError()
    metrics: Mapping[str, Score] = field(default_factory=dict)
    lower_is_better: tuple[str, ...] = ()
    classes: Mapping[str, Mapping[str, ClassScore]] = field(default_factory=dict)
    baseline: Baseline = Baseline()
    seconds: Seconds = Seconds()
    texts_per_second: float | None = None
    ms_per_text: float | None = None
    peak_memory_mb: PeakMemory = PeakMemory()
    finished: str | None = None

    @classmethod
    def load(cls, folder: Path) -> "RunResult":
        """Read the record in the folder of a run; without a file, return an empty record with the status pending."""
        path = folder / RESULT_FILE
        try:
            result = validate(path.read_bytes(), cls)
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read ({error}): delete it or run again") from error
        if result.format > FORMAT:
            raise UserError(
                f"{path} has format {result.format}, and this version of Heedful reads {FORMAT}: update Heedful"
            )
        return result

    def save(self, folder: Path) -> None:
        write_json(folder / RESULT_FILE, self)

    @property
    def branch(self) -> str:
        """The choice of the branch, such as "ngrams"; "" if the model has none."""
        choice = self.choices.get("branch", "none")
        return "" if choice == "none" else choice

    @property
    def is_of_training(self) -> bool:
        """Whether a training wrote the record, and not an evaluation."""
        return self.seconds.fit is not None

    @property
    def open_end(self) -> str:
        """A sentence without its full stop if the last of several epochs was the best one; otherwise ""."""
        epochs = len(self.seconds.per_epoch)
        if epochs < 2 or self.best.epoch != epochs - 1:
            return ""
        reason = f"{self.best.monitor} still improved, so train longer (trainer.max_epochs)"
        return f"The best epoch was the last of {epochs}: {reason}"

    @property
    def has_network(self) -> bool:
        return "model" not in self.choices  # model=linear has none to use

    @property
    def network_is_used(self) -> bool:
        """False without a network, and where its branch has all the weight."""
        return self.has_network and self.branch_weight != 1

    @property
    def has_unused_network(self) -> bool:
        return self.has_network and not self.network_is_used

    @property
    def architecture(self) -> str:
        """The choices of encoder, attention and branch, such as "bilstm · bahdanau"; empty if none is recorded."""
        if not self.has_network:
            return self.choices["model"]
        parts = " · ".join(self.choices[kind] for kind in ("encoder", "attention") if kind in self.choices)
        return f"{parts} + {self.branch} branch" if parts and self.branch else parts

    @property
    def split(self) -> str:
        """The split whose scores count: test, or val without a test."""
        return "test" if any(name.startswith("test/") for name in self.metrics) else "val"

    def lacks(self, *names: str) -> list[str]:
        """Return those of the fields `names` that have no value."""
        return [name for name in names if getattr(self, name) == getattr(RunResult(), name)]

    def score(self, name: str) -> float | None:
        """Return the value of a metric such as test/acc; None if it was not computed or is undefined."""
        return self.metrics[name].value if name in self.metrics else None
