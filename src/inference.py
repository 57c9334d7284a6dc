"""Trained models in Python and in notebooks."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from omegaconf import OmegaConf

from src import build
from src.analysis.explanation import explain
from src.data.codec import Codec
from src.models.classifier import Classifier
from src.models.loss import Loss


@dataclass(frozen=True)
class Prediction:
    """The prediction for a text. A notebook shows it as the text with each word coloured by its weight.

    Args:
        text: the text.
        label: the most probable class.
        probabilities: the probability of each class; they sum to 1.
        tokens: each token that the model read, as spelled in the text, with its attention weight; they sum to 1.
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
    """A trained classifier with its tokenizer.

    Args:
        model: the classifier.
        loss: converts its logits into probabilities.
        codec: tokenizer, truncation and class names.
    """

    def __init__(self, model: Classifier, loss: Loss, codec: Codec) -> None:
        self._model = model
        self._loss = loss
        self._codec = codec

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, C of them."""
        return self._codec.class_names

    def predict(self, texts: Sequence[str], batch_size: int = 32) -> list[Prediction]:
        """Classify texts.

        Args:
            texts: any number of texts.
            batch_size: texts in a batch; it does not change the results.

        Raises:
            TypeError: if `texts` is a single text, or contains anything but texts.
        """
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError("texts must be a list of texts, such as ['A film to remember']")
        explanations = explain(self._model, self._loss, self._codec, texts, batch_size, maps=False)
        return [
            Prediction(
                text,
                explanation.predicted,
                dict(zip(self.class_names, explanation.probabilities, strict=True)),
                list(zip(explanation.words, explanation.weights, strict=True)),
            )
            for text, explanation in zip(texts, explanations, strict=True)
        ]


def load(path: str | Path, trusted_modules: Collection[str] = ()) -> Model:
    """Load a checkpoint for inference on the CPU.

    Args:
        path: of a checkpoint, such as `outputs/train/runs/<time>/checkpoints/best.ckpt`.
        trusted_modules: your own packages whose classes the checkpoint may name.

    Raises:
        UserError: if the file is missing, damaged or not a checkpoint of Heed, or names a class that is not trusted.
    """
    extras = OmegaConf.create({"trusted_modules": list(trusted_modules)})
    card, (model, loss) = build.restore(str(path), extras)
    return Model(model, loss, card.codec)
