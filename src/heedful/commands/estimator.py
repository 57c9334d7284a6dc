"""The classifier as an estimator of scikit-learn: `from heedful import TextClassifier`."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, check_is_fitted, column_or_1d

from heedful.base.formatting import format_repr
from heedful.config.overrides import as_lines, format_override, key_of, parse_override, quote
from heedful.data.sets import as_set, is_matrix, is_table
from heedful.data.tables import format_places
from heedful.inference.abstention import choose_limit
from heedful.inference.api import Model, Prediction, as_texts
from heedful.launch.trained_run import run_training
from heedful.runtime import UNSURE, spell
from heedful.tasks.labels import canonical

# Overrides of a training whose result is a model alone, unless the user sets the option
OF_A_MODEL = {"logger": "none", "test": "false", "data.test_fraction": "0", "data.on_bad_rows": "drop"}
FOR_FILES = ("last_checkpoint", "gradient_norms")  # callbacks whose files nobody sees in a temporary folder


class TextClassifier(ClassifierMixin, BaseEstimator):
    """Trains a classifier of texts on all given texts, of which it holds out `data.val_fraction` for validation.

    Args:
        overrides: options as on the command line: one, such as "experiment=recommended", or a list. Each is also a
            parameter of its own for `get_params`, `set_params` and searches: `{"optimizer.lr": [0.001, 0.01]}`.
        random_state: seed of initial weights, order of texts and dropout; None means the option `seed`, 0 by default.
        folder: where the files of the training are kept; None deletes them.
        verbose: whether to print the epochs.

    Attributes:
        classes_: the labels, sorted.
        model_: the trained model, as `load` returns it.
    """

    def __init__(
        self,
        overrides: str | Sequence[str] = (),
        *,
        random_state: int | np.random.RandomState | None = None,
        folder: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.overrides = overrides
        self.random_state = random_state
        self.folder = folder
        self.verbose = verbose

    def _lines(self) -> list[str]:
        return as_lines([self.overrides])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if `deep`, also the value of each override, by its key."""
        params = super().get_params(deep)
        with suppress(TypeError, ValueError):  # wrong overrides are reported by `fit`
            lines = [line for line in self._lines() if deep and isinstance(line, str)]
            params |= {key_of(line): parse_override(line, {}).value() for line in lines}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters and, by their keys, overrides; return the estimator."""
        parameters = super().get_params(deep=False)
        super().set_params(**{name: value for name, value in params.items() if name in parameters})
        options = {key_of(key): format_override(key, value) for key, value in params.items() if key not in parameters}
        if options:
            lines = {**{key_of(line): line for line in self._lines()}, **options}
            self.overrides = list(lines.values())
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on texts X, a sequence of n texts, with labels y, n of any type that can be sorted.

        If y is an array, a frame or a sparse matrix n×C of 0 and 1, each text has any number of C labels.

        X may also be a table, such as a frame or a data set, with the columns `data.text` and, if it is set,
        `data.columns`; a table of the texts alone may have other names. A text of twice the `sample_weight` (n numbers
        of at least 0, as in `data.weight`) is drawn twice as often in training; one of weight 0 is left out.
        """
        texts = as_set(X) if is_table(X) or self.get_params().get("data.columns") else as_texts(X)
        keys, seed = {key_of(line) for line in self._lines()}, self.random_state
        self._has_indicators = is_matrix(y)
        if "task" in keys and not self._has_indicators:
            raise ValueError("task: the estimator predicts one class of each text; train() has other tasks")
        numbers = np.zeros(y.shape[0], dtype=np.int64) if self._has_indicators else self._numbers(y)
        weights = np.ones(len(numbers)) if sample_weight is None else column_or_1d(sample_weight, dtype=np.float64)
        check_consistent_length(texts, numbers, weights)
        if len(wrong := np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))):
            where = format_places("row", wrong.tolist())
            raise ValueError(f"sample_weight is not a number of 0 or more in {where}, counted from 0")
        rows = np.flatnonzero(weights)
        if not len(rows):
            raise ValueError("sample_weight is zero for all texts")
        lines = [*self._lines(), *(f"{key}={value}" for key, value in OF_A_MODEL.items() if key not in keys)]
        if self._has_indicators:
            self.classes_ = np.array(getattr(y, "columns", range(y.shape[1])))
            self._names = list(map(str, self.classes_.tolist()))
            lines += [*(["task=multilabel"] if "task" not in keys else []), format_override("data.label", self._names)]
        elif len(found := self.classes_[np.unique(numbers[rows])].tolist()) < 2:
            raise ValueError(f"y has 1 class, {format_repr(found[0])}, but training needs two or more")
        if seed is not None:
            lines.append(f"seed={seed.randint(2**31) if isinstance(seed, np.random.RandomState) else seed}")
        data: Any = (texts, y if self._has_indicators else [self._names[number] for number in numbers])
        if sample_weight is not None:
            if "data.weight" in keys:
                raise ValueError("sample_weight: data.weight already names a column of weights; give one of them")
            label = self._names if self._has_indicators else self.get_params().get("data.label", "label")
            table = as_set(data, self.get_params().get("data.text", "text"), label)
            name = max(table.column_names, key=len) + "_weight"  # no other column has this name
            data = table.add_column(name, weights).select(rows)
            lines.append(format_override("data.weight", name))
        with TemporaryDirectory() as parent:
            folder, without = (Path(parent, "run"), FOR_FILES) if self.folder is None else (self.folder, ())
            lines.append(f"hydra.run.dir={quote(str(folder))}")
            if self.folder is None:
                lines.append("hydra.output_subdir=null")
            (member,) = run_training(lines, data, repr(self), self.verbose, without).model.members
        self.model_ = Model([member if self.folder is not None else member._replace(name="")])  # its file is deleted
        return self

    def _numbers(self, y: Any) -> np.ndarray:
        """Find the classes of labels y; return the number of each text's class."""
        y = list(y) if hasattr(y, "__iter__") and not hasattr(y, "__array__") else y  # such as a column of a data set
        cells = np.asarray(y, dtype=object).ravel().tolist()
        if missing := [row for row, cell in enumerate(cells) if not isinstance(cell, str) and spell(cell) is None]:
            raise ValueError(f"y has no label in {format_places('row', missing)}, counted from 0; leave these rows out")
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels)
        check_classification_targets(labels)
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        self._names = [canonical(str(label)) for label in self.classes_.tolist()]
        if len(set(self._names)) < len(self._names) or "" in self._names:
            self._names = list(map(str, range(len(self._names))))
        found: np.ndarray = numbers
        return found

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class for n texts, n × the number of `classes_`, in their order.

        Those of a blank text are NaN.
        """
        check_is_fitted(self)
        probabilities = self.model_.predict_proba(X)
        of_classes = dict(zip(self.model_.class_names, probabilities.T, strict=True))
        absent = np.zeros(len(probabilities))  # of a class of which all texts are blank
        return np.stack([of_classes.get(name, absent) for name in self._names], 1)

    def predict(self, X: Any, abstain: float | None = None) -> np.ndarray:
        """Return the most probable label of each text, n; for a model of several labels, n×C numbers 0 and 1.

        With `abstain`, an expected error such as 0.02, the labels are objects, and less certain ones are "unsure". That
        of a blank text is None, in an array of objects.
        """
        probabilities = self.predict_proba(X)
        if self._has_indicators:
            if abstain is not None:
                choose_limit(self.model_, abstain)  # says that several labels have no limit
            return np.asarray(self.model_.task.predicted(probabilities), dtype=np.int64)
        labels: np.ndarray = self.classes_[probabilities.argmax(1)]
        if abstain is not None:
            limit = choose_limit(self.model_, abstain)
            labels = np.where(probabilities.max(1) >= limit.confidence, labels.astype(object), UNSURE)
        if (is_blank := np.isnan(probabilities).any(1)).any():
            labels = labels.astype(object)
            labels[is_blank] = None
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, with several labels that of all labels of a text; a blank text counts as wrong."""
        hits = self.predict(X) == (y.toarray() if hasattr(y, "toarray") else np.asarray(y))
        return float(np.average(hits.reshape(len(hits), -1).all(1), weights=sample_weight))

    def explain(self, X: Any) -> list[Prediction]:
        """Return the prediction for each text with its attention weights; a notebook shows the tokens in colour."""
        check_is_fitted(self)
        return self.model_.explain(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False, True
        return tags
