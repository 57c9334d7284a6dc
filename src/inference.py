"""The Python API of trained models, for scripts and notebooks."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from src import build
from src.explain.ensemble import Ensemble


@dataclass(frozen=True)
class Prediction:
    """The prediction for a text. A notebook shows it as the tokens of the text, each coloured by its weight.

    Args:
        label: the most probable class.
        probabilities: the probability of each class; the sum is 1.
        tokens: each token that the model read, as spelled in the text, with its attention weight. The weights
            sum to 1, unless the text has no tokens.
    """

    text: str
    label: str
    probabilities: dict[str, float]
    tokens: list[tuple[str, float]]

    def _repr_html_(self) -> str:
        highest = max((weight for _, weight in self.tokens), default=0.0) or 1.0
        words = " ".join(
            f'<span style="background: rgba(255, 140, 0, {0.9 * weight / highest:.3f})" title="{weight:.4f}">'
            f"{escape(word)}</span>"
            for word, weight in self.tokens
        )
        return f"<p><b>{escape(self.label)}</b> {self.probabilities[self.label]:.3f}</p><p>{words}</p>"


class Model:
    """A trained classifier, or an ensemble of trained classifiers, with the tokenizer of each classifier."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the C classes."""
        return self._ensemble.class_names

    def predict(self, texts: Iterable[str], batch_size: int = 32) -> list[Prediction]:
        """Classify texts by the mean of the classifiers' probabilities.

        The weight of a token is the mean of its weights in all classifiers if these read the same tokens. Otherwise, it
        is the weight in the first classifier, and a warning is logged.

        Args:
            batch_size: number of texts in a batch; it does not change the results.

        Raises:
            TypeError: if `texts` is a single text, is not iterable, or contains anything but texts.
            ValueError: if `batch_size` is not an integer of at least 1, or a text contains half of a surrogate pair.
        """
        if not isinstance(texts, str) and isinstance(texts, Iterable):
            texts = list(texts)  # an iterator is read only once
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise TypeError("texts must be a list of texts, such as ['A film to remember']")
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size={batch_size!r} must be a whole number of at least 1")
        for i, text in enumerate(texts):
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise ValueError(
                    f"texts[{i}]: character {error.start} is half of a surrogate pair, not a character: remove it"
                ) from None
        explanations = self._ensemble.explain(texts, batch_size, maps=False)
        return [
            Prediction(
                text,
                explanation.predicted,
                dict(zip(self.class_names, explanation.probabilities, strict=True)),
                list(zip(explanation.words, explanation.weights, strict=True)),
            )
            for text, explanation in zip(texts, explanations, strict=True)
        ]


def load(path: str | Path | Sequence[str | Path], trusted_modules: Collection[str] = ()) -> Model:
    """Load a checkpoint, or several as an ensemble, for inference on the CPU.

    Args:
        path: path of a checkpoint, such as `outputs/train/runs/<time>/checkpoints/best.ckpt`, or a list of paths of
            checkpoints with the same classes, for example from runs with different seeds.
        trusted_modules: names of your own packages whose classes the checkpoints may name.

    Raises:
        UserError: if a file is missing, damaged or not a checkpoint of Heed, or names a Python class that is not
            trusted; if the list is empty or names a file twice; or if the models do not predict the same classes.
        TypeError: if `path` is neither a path nor a list of paths, or `trusted_modules` is not a list of names.
    """
    items: list[Any] = list(path) if isinstance(path, Iterable) and not isinstance(path, str | bytes) else [path]
    if not all(isinstance(item, str | Path) for item in items):
        raise TypeError("path must be the path of a checkpoint, such as 'best.ckpt', or a list of paths")
    is_list = isinstance(trusted_modules, Iterable) and not isinstance(trusted_modules, str | bytes)
    if not is_list or not all(isinstance(module, str) for module in trusted_modules):
        raise TypeError("trusted_modules must be a list of names of packages, such as ['my_package']")
    extras = OmegaConf.create({"trusted_modules": list(trusted_modules)})
    paths = str(path) if isinstance(path, str | Path) else [str(item) for item in items]
    return Model(build.restore_ensemble(paths, extras)[1])
