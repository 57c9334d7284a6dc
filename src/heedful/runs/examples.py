"""A text with its prediction and the attention weight of each word, and the file of such texts in a run's folder."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from heedful.base.files import validate, write_text
from heedful.base.formatting import format_value
from heedful.runs.run_files import read_existing

EXAMPLES_FILE = "attention.json"
KINDS = {"mistake": "Most confident mistakes", "uncertain": "Most uncertain predictions", "error": "Largest errors"}


def rounded(digits: int) -> PlainSerializer:
    return PlainSerializer(lambda array: array.astype(np.float64).round(digits).tolist())


READ = PlainValidator(lambda value: np.array(value, np.float64))
Weights = Annotated[np.ndarray, READ, rounded(6)]  # a list in JSON
Map = Annotated[np.ndarray, READ, rounded(4)]


@dataclass(frozen=True)
class BranchWords:
    """The part of a linear branch in a prediction."""

    weight: float  # of its logits in the mean with the others
    shares: Weights  # L, the share of each word in its log odds of the predicted class, or in its number
    measure: str = "log odds"  # or number


@dataclass(frozen=True)
class Example:
    """One text with its prediction and the attention weight of each word."""

    split: str
    index: int
    label: str | None  # None if the true class is unknown
    predicted: str
    probabilities: dict[str, float]
    words: list[str]
    weights: Weights  # L
    matrix: Map | None  # H×L×L; None if there is no word × word map
    cut: str = ""  # the part that was read, such as "first 500 of 20,000 tokens"; "" if the text is not cut
    layers: dict[str, Map] = field(default_factory=dict)  # encoder layer → its weights H×L×L
    is_unknown: bool = False  # whether the model knows none of the words, so that the prediction is a guess
    branch: BranchWords | None = None  # None if there is no linear branch, or its weight is 0
    value: str | list[str] | float = ""  # the prediction as programs read it, such as a list of labels
    class_weights: dict[str, Weights] = field(default_factory=dict)  # L each; empty if all classes share `weights`
    confidence: float = 0.0  # of a prediction that is no single class
    kind: str = ""  # a key of KINDS; "" for texts that are no errors
    origin: dict[str, str] = field(default_factory=dict)  # the file, the line (row, record) in it, and kept columns

    @property
    def sole_branch(self) -> BranchWords | None:
        """The branch if it has all the weight, so that attention has no part in the prediction; otherwise None."""
        return self.branch if self.branch is not None and self.branch.weight == 1 else None

    @property
    def maps(self) -> dict[str, np.ndarray]:
        """The word × word weights H×L×L of the attention component and of the encoder's layers, by name."""
        return ({} if self.matrix is None else {"attention": self.matrix}) | self.layers

    @property
    def label_weights(self) -> dict[str, np.ndarray]:
        labels = self.value if isinstance(self.value, list) else [self.value]
        return {str(name): self.class_weights[str(name)] for name in labels if name in self.class_weights}

    @property
    def has_classes(self) -> bool:
        """Whether the prediction consists of classes, which have probabilities; otherwise, it is a number."""
        return not isinstance(self.value, float)

    @property
    def prediction(self) -> str:
        """The prediction and, if it has one, its probability."""
        name = self.predicted or "no label"
        return f"{name} ({self.probability:.2f})" if self.has_classes else name

    @property
    def probability(self) -> float:
        return self.probabilities.get(self.predicted, self.confidence)

    @property
    def title(self) -> str:
        """Split, row number, origin, true class, predicted class, its probability and, if cut, the part read."""
        prediction = f"predicted {self.prediction}"
        classes = prediction if self.label is None else f"{self.label or 'no label'}, {prediction}"
        cut = f", {self.cut}" if self.cut else ""
        origin = ", ".join(
            f"{name} {format_value(Path(cell).name if name == 'file' else cell)}" for name, cell in self.origin.items()
        )
        where = f" ({origin})" if origin else ""
        return f"{self.split} {self.index}{where}: {classes}{cut}"


EXAMPLES = TypeAdapter(list[Example])


def write_examples(run: Path, examples: Sequence[Example]) -> None:
    """Write texts to `attention.json`; weights are rounded to six decimal places, and those of maps to four.

    Of the weights of classes, only those of predicted ones are written.
    """
    shown = [replace(example, class_weights=example.label_weights) for example in examples]
    write_text(run / EXAMPLES_FILE, EXAMPLES.dump_json(shown).decode())


def read_examples(run: Path) -> list[Example]:
    """Return the texts in `attention.json`, without the errors."""
    return [example for example in read_texts(run) if not example.kind]


def read_texts(run: Path) -> list[Example]:
    """Return all texts in `attention.json`; [] without the file."""
    return read_existing(run / EXAMPLES_FILE, lambda path: validate(path.read_bytes(), list[Example])) or []
