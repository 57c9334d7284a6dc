"""A callback that fits a linear model: logistic regression on TF-IDF features, with scikit-learn."""

import hashlib
import logging
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pytorch_lightning as pl
from pydantic import Field

from heedful.base.errors import UserError
from heedful.base.files import csv_line, read_arrays, write_arrays, write_text
from heedful.data.corpus import SPLITS
from heedful.data.source import Source, source_of
from heedful.data.store import code_version, load_or_build
from heedful.data.table import Text, parts_of
from heedful.runs.run_files import Predictions
from heedful.tasks.task import converging

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WORD = r"(?u)\b\w+\b"  # scikit-learn's default omits words of one letter
HEAD = ("class", "feature", "weight")
ENDS = ("lower", "higher")  # in place of classes, without which the features lower or raise the prediction
log = logging.getLogger(__name__)


@dataclass(eq=False)
class LinearBaseline(pl.Callback):
    """Fits the baseline to the training split of the model, and writes its predictions like those of the model.

    The features are the TF-IDF values of words and n-grams, with the logarithm of the counts, and those of the columns
    that the model reads beside the text; of a pair, those of the first text ("1: word") are other features than those
    of the second ("2: word"). The baseline is kept in the cache of the data, so that the runs of a sweep share it. The
    comments in conf/callbacks/baseline.yaml describe the options.
    """

    folder: str
    max_order: Annotated[int, Field(ge=1, le=5)] = 2
    c: Annotated[float, Field(gt=0)] = 10.0
    max_texts: Annotated[int, Field(ge=2)] = 100_000
    top: Annotated[int, Field(ge=0)] = 20
    predictions: dict[str, Predictions] = field(default_factory=dict, init=False)  # by split

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.is_global_zero:
            self.write(source_of(trainer))

    def write(self, data: Source) -> None:
        """Write the files of the baseline; without training texts, words or two classes, there is none."""
        if "train" not in data.sizes:
            return
        if (texts := data.sizes["train"]) > self.max_texts:
            limit = f"callbacks.baseline.max_texts={self.max_texts}"
            log.warning("No linear model is fitted for comparison to more than %s texts", limit)
            return
        key = (data.rows_key, self.max_order, self.c, self.top)
        of_columns = [_digest(data.features[split]) for split in SPLITS if split in data.features]
        digest = hashlib.sha256(f"{key} {of_columns} {code_version(type(data), type(self))}".encode()).hexdigest()
        path = data.cache_dir / f"baseline-{digest}"
        if not path.exists():
            log.info("Fitting the linear model to %s texts", f"{texts:,}")
        try:
            probabilities, features = load_or_build(path, _load, lambda part: self._fit(data, part))
        except UserError as error:  # the cache cannot be written
            log.warning("The linear model is not kept for other runs: %s", error)
            with TemporaryDirectory() as folder:
                self._fit(data, Path(folder))
                probabilities, features = _load(Path(folder))
        task = data.task
        if "val" in probabilities:
            task = task.fit(probabilities["val"], np.asarray(data.tokenized("val").labels))
        for split, values in probabilities.items():
            labels = np.asarray(data.tokenized(split).labels)
            evaluated = {"probabilities": values, "labels": labels, "index": np.arange(len(labels))}
            predictions = Predictions.of(split, task, evaluated, data.groups(split))
            predictions.save(Path(self.folder))
            self.predictions[split] = predictions
        if not probabilities:
            log.warning("No linear model is fitted for comparison, because the texts have no words or a single class")
            return
        write_text(Path(self.folder) / "features.csv", features)

    def _fit(self, data: Source, folder: Path) -> None:
        """Write the probabilities of the validation and test texts and the top features into a folder of the cache."""
        from sklearn import config_context
        from sklearn.feature_extraction.text import TfidfVectorizer  # the import takes half a second

        texts = {split: data.texts(split, range(data.sizes[split])) for split in data.sizes}
        linear = data.task.linear_model(np.asarray(data.tokenized("train").labels), self.c)
        vectorizer = TfidfVectorizer(ngram_range=(1, self.max_order), sublinear_tf=True, token_pattern=WORD)
        if data.roles.are_pairs:
            words = vectorizer.build_analyzer()

            def of_sides(text: Text) -> list[str]:
                return [f"{side}: {word}" for side, part in enumerate(parts_of(text), 1) for word in words(part)]

            vectorizer = TfidfVectorizer(analyzer=of_sides, sublinear_tf=True)
        probabilities: dict[str, np.ndarray] = {}
        lines = [csv_line(HEAD)]
        if linear is not None and any(map(vectorizer.build_analyzer(), texts["train"])):
            model, targets, columns = linear
            matrix = _join(vectorizer.fit_transform(texts["train"]), data.features.get("train"))
            weights = data.weights("train")
            with converging("callbacks.baseline.c"), config_context(enable_metadata_routing=weights is not None):
                if weights is None:
                    model.fit(matrix, targets)
                else:
                    getattr(model, "estimator", model).set_fit_request(sample_weight=True)
                    model.fit(matrix, targets, sample_weight=weights / weights.mean())
            predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
            for split in [name for name in texts if name != "train"]:
                probabilities[split] = np.zeros((len(texts[split]), len(data.task.outputs)), dtype=np.float32)
                values = predict(_join(vectorizer.transform(texts[split]), data.features.get(split)))
                probabilities[split][:, columns] = values.reshape(len(values), -1)
            of_columns = [name for column in data.codec.columns for name in column.features]
            features = [*vectorizer.get_feature_names_out(), *of_columns]
            names = np.array(data.class_names or ENDS)[columns]
            for name, weights in zip(names.tolist(), _weights(model), strict=True):
                for column in np.argsort(-weights, kind="stable")[: self.top]:
                    lines.append(csv_line([name, features[column], f"{weights[column]:.4f}"]))
        write_arrays(folder / "probabilities.npz", **probabilities)
        write_text(folder / "features.csv", "".join(lines))


def _join(words: "csr_matrix", columns: "csr_matrix | None") -> "csr_matrix":
    """Return the features of the words of n texts and, after them, those of the columns."""
    from scipy.sparse import hstack

    return words if columns is None else hstack([words, columns], format="csr")


def _digest(matrix: "csr_matrix") -> str:
    return hashlib.sha256(b"".join(map(bytes, (matrix.indptr, matrix.indices, matrix.data)))).hexdigest()


def _weights(model: Any) -> np.ndarray:
    """Return the weights of the features for each class, C×F; those of the first of two are the negative ones."""
    if hasattr(model, "estimators_"):
        return np.concatenate([of_class.coef_ for of_class in model.estimators_])
    weights = np.atleast_2d(model.coef_)
    return np.concatenate([-weights, weights])


def _load(folder: Path) -> tuple[dict[str, np.ndarray], str]:
    return read_arrays(folder / "probabilities.npz"), (folder / "features.csv").read_text(encoding="utf-8")
