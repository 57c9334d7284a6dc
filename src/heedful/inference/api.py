"""Trained models in Python, for scripts, notebooks and the commands: `from heedful import load`."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from heedful.base.errors import UserError, name_file
from heedful.config.overrides import escape_references
from heedful.config.places import TRUSTED, TRUSTED_IN_CHECKPOINTS
from heedful.config.schema import validate_config
from heedful.data.text_files import existing_path
from heedful.models.ensemble import Ensemble
from heedful.report.words import branch_title
from heedful.runs.checkpoint import Card
from heedful.runs.folder import BEST, checkpoint_in
from heedful.training import build

if TYPE_CHECKING:
    from heedful.data.source import Source

PLACES_OF_TEXTS = ("path", "val_path", "test_path", "name", "config")  # options of data
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prediction:
    """The prediction for a text. A notebook shows it as the tokens of the text, each coloured by its weight.

    Args:
        label: the most probable class.
        probabilities: the probability of each class; the sum is 1.
        tokens: each token that the model read, as spelled in the text, with its attention weight. The weights
            sum to 1, unless the text has no tokens.
        branch: each token with its share in the linear branch's log odds of `label`; empty for a model without such a
            branch and for several models.
        branch_weight: the weight of the linear branch in the logits, 0 to 1.
    """

    text: str
    label: str
    probabilities: dict[str, float]
    tokens: list[tuple[str, float]]
    branch: list[tuple[str, float]] = field(default_factory=list)
    branch_weight: float = 0.0

    def _repr_html_(self) -> str:
        lines = [f"<b>{escape(self.label)}</b> {self.probabilities[self.label]:.3f}", _coloured(self.tokens)]
        if self.branch:
            lines += [branch_title(self.branch_weight), _coloured(self.branch)]
        return "".join(f"<p>{line}</p>" for line in lines)


def _coloured(tokens: Sequence[tuple[str, float]]) -> str:
    """Return the tokens in HTML, in blue with a positive number and in red with a negative one."""
    highest = max((abs(number) for _, number in tokens), default=0.0) or 1.0
    return " ".join(
        f'<span style="background: rgba({"37, 110, 190" if number >= 0 else "200, 60, 50"}, '
        f'{0.9 * abs(number) / highest:.3f})" title="{number:.4f}">{escape(word)}</span>'
        for word, number in tokens
    )


class Model(Ensemble):
    """A trained classifier, or an ensemble of trained classifiers, for Python programs."""

    def predict(self, texts: Iterable[str], batch_size: int = 32) -> list[Prediction]:
        """Classify texts by the mean of the classifiers' probabilities.

        The weight of a token is the mean of its weights in all classifiers if these read the same tokens. Otherwise, it
        is the weight in the first classifier, and a warning is logged.

        Args:
            batch_size: number of texts in a batch; it does not change the results.

        Raises:
            TypeError: if `texts` is a single text, or contains anything but texts.
            ValueError: if `batch_size` is less than 1, or a text contains half of a surrogate pair.
        """
        texts = texts if isinstance(texts, str) else list(texts)
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError("texts must be a list of texts, such as ['A film to remember']")
        if batch_size < 1:
            raise ValueError(f"batch_size={batch_size} must be at least 1")
        for text in texts:
            text.encode()  # fails for half of a surrogate pair
        predictions = []
        for text, example in zip(texts, self.explain(texts, batch_size, maps=False), strict=True):
            tokens = list(zip(example.words, example.weights.tolist(), strict=True))
            prediction = Prediction(text, example.predicted, example.probabilities, tokens)
            if (branch := example.branch) is not None:
                shares = list(zip(example.words, branch.shares.tolist(), strict=True))
                prediction = replace(prediction, branch=shares, branch_weight=branch.weight)
            predictions.append(prediction)
        return predictions


def load(path: str | Path | Sequence[str | Path], trusted_modules: Sequence[str] = ()) -> Model:
    """Load a checkpoint, or several as an ensemble, for inference on the CPU.

    Args:
        path: the folder of a run, such as `outputs/train/runs/<time>`, whose best checkpoint is loaded; or the path of
            a checkpoint; or a list of both, with the same classes, for example of runs with different seeds.
        trusted_modules: names of your own packages whose classes the checkpoints may name.

    Raises:
        UserError: if a file cannot be loaded, names a class that is not trusted, or is named twice, or if the models do
            not predict the same classes.
    """
    return Model(restore_ensemble(path, OmegaConf.create({"trusted_modules": list(trusted_modules)})).members)


def evaluation_data(cfg: DictConfig, card: Card) -> "Source":
    """Create the data on which a command evaluates a model.

    All texts of `cfg.file`, or of the test split of `cfg.data` if it names a data set, are scored. Without both, the
    data are those of the training, divided in the same way; a warning says if they have changed since then.
    """
    selected = with_data(cfg, card)
    if cfg.get("file") is not None or "_target_" in (cfg.get("data") or {}):
        return build.datamodule(selected, card, whole=cfg.get("split", "test"))
    data = build.datamodule(selected, card)
    if data.data_fingerprint != card.fingerprint:  # perhaps because of options such as data.limit
        places = {key: value for key, value in (cfg.get("data") or {}).items() if key in PLACES_OF_TEXTS}
        trained = OmegaConf.create({"ckpt_path": cfg.ckpt_path, "data": places, "extras": cfg.extras})
        if build.make(with_data(trained, card), "data").data_fingerprint != card.fingerprint:
            message = "%s has changed since the training: its splits were drawn anew. To score a whole file, add file=…"
            log.warning(message, data.title)
    return data


def with_data(cfg: DictConfig, card: Card) -> DictConfig:
    """Return a configuration whose node `data` selects the data to evaluate.

    This node reads `cfg.file` if it is set, and is `cfg.data` if that names a data set. Otherwise, it is the
    checkpoint's node without `cache_dir`, overridden by the options in `cfg.data`.
    """
    data, trusted = cfg.get("data") or {}, TRUSTED
    if cfg.get("file") is not None:
        own = card.config["data"]
        options = {
            "path": str(existing_path(cfg.file, "file")),
            "text": cfg.text_column or own.get("text", "text"),
            "label": cfg.label_column or own.get("label", "label"),
            "labels": own.get("labels"),
            "delimiter": cfg.delimiter,
            "quotes": cfg.quotes,
        }
        source = {"_target_": "heedful.data.source.Source", "tokenizer": {"_target_": "heedful.data.tokenizer.Word"}}
        data = OmegaConf.merge(source, escape_references(options), data)  # the model's tokenizer replaces this one
    elif "_target_" not in data:
        # `merge` leaves references in the checkpoint escaped; its data must not choose a folder to write to
        data, trusted = OmegaConf.merge(card.cfg.data, {"cache_dir": None}, data), TRUSTED_IN_CHECKPOINTS
    selected = OmegaConf.create({"data": data, "extras": cfg.extras, "seed": cfg.get("seed", 0)})
    with name_file(cfg.ckpt_path):
        validate_config(selected, "eval", trusted)
    return selected


def restore_ensemble(paths: str | Path | Sequence[str | Path], extras: DictConfig) -> Ensemble:
    """Restore one or more checkpoints, or the best ones of runs; the node `extras` names the trusted modules."""
    names = [str(checkpoint_in(path, BEST)) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not names:
        raise UserError("ckpt_path=[]: names no checkpoint; write ckpt_path=… or ckpt_path=[…,…]")
    if len(set(names)) < len(names):
        raise UserError("ckpt_path: names a checkpoint twice, which would count twice in the mean; remove one")
    return Ensemble([build.restore(name, extras) for name in names])
