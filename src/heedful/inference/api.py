"""Trained models in Python, for scripts, notebooks and the commands: `from heedful import load`."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf
from torch import nn

from heedful.base.errors import UserError, name_file
from heedful.base.files import replace_atomically
from heedful.base.formatting import format_list, format_names
from heedful.config.keys import plain_value
from heedful.config.overrides import escape_references
from heedful.config.places import TRUSTED, TRUSTED_IN_CHECKPOINTS
from heedful.config.schema import Device, validate_config
from heedful.data.schema import warn_of_missing, warn_of_unseen
from heedful.data.sets import as_set, is_table, list_rows, text_columns
from heedful.data.table import Table, Text
from heedful.data.tables import arrow_rows, check_columns, format_places, table_columns
from heedful.data.text_files import existing_path
from heedful.inference.abstention import answer, choose_limit
from heedful.models.classifier import Classifier
from heedful.models.ensemble import Ensemble, Member
from heedful.portable import FILES_OF_AN_EXPORT, ONNX_FILE
from heedful.report.words import branch_title
from heedful.runs.checkpoint import Card
from heedful.runs.folder import BEST, checkpoint_in
from heedful.runtime import UNSURE, blank_if_missing
from heedful.tasks.stored import trusting
from heedful.training import build, restoring

if TYPE_CHECKING:
    from heedful.data.source import Source

PLACES_OF_TEXTS = ("path", "val_path", "test_path", "name", "config")  # options of data
HUB_NAME = r"[\w-][\w.-]*/(?!.*\.(ckpt|onnx)$)[\w.-]+"  # owner/name
FILES_OF_A_MODEL = [f"checkpoints/{BEST}", *FILES_OF_AN_EXPORT]
TEXTS = "texts must be a list of texts, such as ['A film to remember'], or of tuples of two texts for a model of pairs"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prediction:
    """The prediction for a text. A notebook shows it as the tokens of the text, each coloured by its weight.

    Args:
        label: the most probable class; "unsure" with `abstain`, if its error would be higher. With several labels for
            each text, the list of its classes; a number if the model predicts numbers. None for a blank text, which
            has neither probabilities nor tokens.
        probabilities: the probability of each class; the sum is 1 if a text has one class. A number is repeated.
        tokens: each token that the model read, as spelled in the text, with its attention weight. The weights
            sum to 1, unless the text has no tokens.
        branch: each token with its share in the linear branch's log odds of `label`, or in its number; empty for a
            model without such a branch and for several models.
        branch_weight: the weight of the linear branch in the logits, 0 to 1.
        maps: the token × token weights H×L×L of the attention component and of the encoder's layers, by name; empty
            for predictions that `predict` returns, and for long texts.
        class_weights: by class, each token with its weight for this class, if each class has weights of its own.
    """

    text: Text
    label: str | list[str] | float | None
    probabilities: dict[str, float]
    tokens: list[tuple[str, float]]
    branch: list[tuple[str, float]] = field(default_factory=list)
    branch_weight: float = 0.0
    maps: dict[str, np.ndarray] = field(default_factory=dict, compare=False, repr=False)
    class_weights: dict[str, list[tuple[str, float]]] = field(default_factory=dict, repr=False)

    def _repr_html_(self) -> str:
        if self.label is None:
            return "<p>blank text: no prediction</p>"
        likeliest = max(self.probabilities, key=self.probabilities.__getitem__)
        label = likeliest if isinstance(self.label, float) or self.label == UNSURE else self.label
        labels = label if isinstance(label, list) else [label]
        title = ", ".join(f"<b>{escape(name)}</b> {self.probabilities[name]:.3f}" for name in labels)
        lines = [f"{UNSURE}: {title}" if self.label == UNSURE else title]
        if self.branch_weight < 1:
            lines.append(_coloured(self.tokens))
        for name in labels if self.branch_weight < 1 else ():
            if weights := self.class_weights.get(name):
                lines += [f"weights of {escape(name)}", _coloured(weights)]
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

    def __repr__(self) -> str:
        names = format_names(member.name or "a training" for member in self.members)
        return f"Model of {names}: {self.task.targets}, {format_list(self.task.outputs, plain=True)}"

    def to(self, device: torch.device | str) -> "Model":
        """Move the classifiers to a device, such as "cuda", which then classifies the texts; return the model."""
        for member in self.members:
            member.model.to(device)
            member.loss.to(device)
        return self

    def predict(
        self, texts: Any, batch_size: int = 32, maps: bool = False, abstain: float | None = None
    ) -> list[Prediction]:
        """Classify texts by the mean of the classifiers' probabilities.

        The weight of a token is the mean of its weights in all classifiers if these read the same tokens. Otherwise, it
        is the weight in the first classifier, and a warning is logged.

        Args:
            texts: a list of texts, or of tuples of two for a model of pairs; or a frame, a `datasets.Dataset`, a dict
                of columns or a list of dicts, with the names of the training, also of columns beside the text.
            batch_size: number of texts in a batch; it does not change the results.
            maps: whether the predictions have `maps`.
            abstain: the expected error, such as 0.02, up to which a prediction has a label; the others are "unsure".

        Raises:
            UserError: if no confidence has so low an error on the validation texts, or the model does not know it.
            TypeError: if `texts` is a single text, or contains anything but texts or tuples of two.
            ValueError: if `batch_size` is less than 1, or a text contains half of a surrogate pair.
        """
        table = self._table(texts, batch_size)
        limit = None if abstain is None else choose_limit(self, abstain)
        predictions = [Prediction(text, None, {}, []) for text in table.texts]
        rows = table.not_blank()
        for row, example in zip(rows, self.examples(table.take(rows), batch_size, maps), strict=True):
            tokens = list(zip(example.words, example.weights.tolist(), strict=True))
            by_class = {
                name: list(zip(example.words, weights.tolist(), strict=True))
                for name, weights in example.class_weights.items()
            }
            label = answer(example.value, example.confidence, limit)
            chances = example.probabilities if example.has_classes else {"value": label}
            prediction = Prediction(table.texts[row], label, chances, tokens, maps=example.maps, class_weights=by_class)
            if (branch := example.branch) is not None:
                shares = list(zip(example.words, branch.shares.tolist(), strict=True))
                prediction = replace(prediction, branch=shares, branch_weight=branch.weight)
            predictions[row] = prediction
        return predictions

    def predict_proba(self, texts: Any, batch_size: int = 32) -> np.ndarray:
        """Return the probability of each class, N×C float64, in the order of `class_names`; NaN for a blank text."""
        table = self._table(texts, batch_size)
        probabilities, rows = np.full((len(table), len(self.task.outputs)), np.nan), table.not_blank()
        if rows:
            probabilities[rows] = self.task.shown(self.classify(table.take(rows), batch_size)[0])
        return probabilities

    def _table(self, texts: Any, batch_size: int) -> Table:
        """Return what the models read; the texts of a table have the names of the training, or are its only columns."""
        if batch_size < 1:
            raise ValueError(f"batch_size={batch_size} must be at least 1")
        columns = self.column_names
        if not is_table(texts):
            warn_of_missing(columns)
            table = Table(as_texts(texts))
            self.check(table)
            warn_of_blank(table)
            return table
        column, data = self.members[0].card.text_column, as_set(texts)
        names = [column] if isinstance(column, str) else column
        if not columns:
            names = text_columns(data.column_names, names)
        check_columns("texts", names, data.column_names)
        given = [name for name in columns if name in data.column_names]
        warn_of_missing([name for name in columns if name not in given])
        cells = data.select_columns([*names, *given]).with_format("arrow")[:]
        (rows,) = arrow_rows("texts", [cells], {name: name for name in cells.column_names}, cells.schema)
        table = rows.table(names, given, self.numbers)
        warn_of_unseen(self.check(table), len(table))
        warn_of_blank(table)
        return table

    def explain(self, texts: Any, batch_size: int = 32) -> list[Prediction]:
        """Classify texts as `predict` does; the predictions also have the token × token weights, `maps`."""
        return self.predict(texts, batch_size, maps=True)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the weights, `checkpoints/best.ckpt`, and a model card, README.md, into a new folder, for `load`.

        Paths of the training data and other options of the training that a model does not need are left out.

        Raises:
            UserError: if the folder exists and is not empty, or the model is an ensemble or an export.
        """
        from heedful.portable.folder import new_folder, write_model_card  # slow

        name, card, model, loss = self.members[0]
        if len(self.members) > 1:
            raise UserError("an ensemble cannot be saved: save each of its models, and load them as a list")
        if not isinstance(model, Classifier):
            raise UserError(f"{name}: is an export: copy its folder")
        with new_folder(str(folder), "folder") as part:
            weights = nn.ModuleDict({"model": model, "loss": loss}).state_dict()
            plain = {key: weight.detach().cpu().clone().contiguous() for key, weight in weights.items()}
            with replace_atomically(part / "checkpoints" / BEST) as file:
                torch.save({"state_dict": plain, **card.for_others().content()}, file)
            write_model_card(part, card, name, model)

    def push_to_hub(self, name: str, private: bool = False, token: str | None = None) -> str:
        """Upload what `save_pretrained` writes to owner/name on the Hugging Face hub, and return its address.

        The token is that of your account; None means that of `hf auth login`.
        """
        import huggingface_hub

        with TemporaryDirectory() as parent:
            self.save_pretrained(Path(parent, "model"))
            hub = huggingface_hub.HfApi(token=token)
            url = hub.create_repo(name, private=private, exist_ok=True)
            hub.upload_folder(repo_id=name, folder_path=Path(parent, "model"))
        return str(url)


def warn_of_blank(table: Table) -> None:
    """Log which texts are blank."""
    if blank := sorted(set(range(len(table))) - set(table.not_blank())):
        log.warning("texts: %s, counted from 0: blank text, so no prediction", format_places("row", blank))


def as_texts(texts: Any) -> list[Text]:
    """Return texts or pairs as a list, after checking them; a missing one is blank."""
    if isinstance(texts, str | Mapping) or not hasattr(texts, "__iter__"):
        raise TypeError(TEXTS)
    listed = list_rows(texts)
    for row, text in enumerate(listed):
        text = blank_if_missing(text)
        parts = (text,) if isinstance(text, str) else tuple(text) if hasattr(text, "__len__") else ()
        parts = tuple(map(blank_if_missing, parts))
        if not all(isinstance(part, str) for part in parts) or len(parts) != 2 - isinstance(text, str):
            raise TypeError(f"{TEXTS}, but row {row} is {text!r:.80}")
        for part in parts:
            part.encode()
        listed[row] = parts if len(parts) > 1 else text
    return listed


def load(path: str | Path | Sequence[str | Path], trusted_modules: Sequence[str] = (), device: str = "auto") -> Model:
    """Load a trained model, or several as an ensemble, for inference.

    Args:
        path: the folder of a run, such as `outputs/train/runs/<time>`, whose best checkpoint is loaded; the path of a
            checkpoint; a folder of `save_pretrained`; the folder of an export, or an ONNX file in it; a name on the
            Hugging Face hub, such as me/model; or a list of these, with the same classes, for example of runs with
            different seeds.
        trusted_modules: names of your own packages whose classes the checkpoints may name.
        device: cpu, cuda, or auto: cuda if there is a GPU. Exports compute on the CPU.

    Raises:
        UserError: if there is no such device, if a file cannot be loaded, names a class that is not trusted, or is
            named twice, or if the models do not predict the same classes.
    """
    extras = OmegaConf.create({"trusted_modules": list(trusted_modules)})
    return Model(restore_ensemble(path, extras, device=device).members)


def find_device(name: str) -> str:
    """Return cpu or cuda for auto, cpu or cuda: auto is cuda if torch finds a GPU; without one, cuda is refused."""
    if name not in get_args(Device):
        raise UserError(f"device={name}: must be auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda: torch finds no GPU on this machine; choose cpu or auto")
    return ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name


def evaluation_data(cfg: DictConfig, card: Card) -> "Source":
    """Create the data on which a command evaluates a model.

    All texts of `cfg.file`, or of the test split of `cfg.data` if it names a data set, are scored. Without both, the
    data are those of the training, divided in the same way; a warning says if they have changed since then.
    """
    selected = with_data(cfg, card)
    if cfg.get("file") is not None or "_target_" in (cfg.get("data") or {}):
        return build.datamodule(selected, card, cfg.get("split", "test"), cfg.get("unknown_classes", "error"))
    data = build.datamodule(selected, card)
    if data.data_fingerprint != card.fingerprint:  # perhaps because of options such as data.limit
        places = {key: value for key, value in (cfg.get("data") or {}).items() if key in PLACES_OF_TEXTS}
        trained = OmegaConf.create({"ckpt_path": cfg.ckpt_path, "data": places, "extras": cfg.extras})
        original: Source = build.make(with_data(trained, card), "data")
        original.use_codec(card.codec)
        if original.data_fingerprint != card.fingerprint:
            message = "%s has changed since the training: its splits were drawn anew. `eval file=…` scores a whole file"
            log.warning(message, data.opener.title)
    return data


def with_data(cfg: DictConfig, card: Card) -> DictConfig:
    """Return a configuration whose node `data` selects the data to evaluate.

    This node reads `cfg.file` if it is set, and is `cfg.data` if that names a data set. Otherwise, it is the
    checkpoint's node without `cache_dir`, overridden by the options in `cfg.data`.
    """
    data, trusted = cfg.get("data") or {}, TRUSTED
    if cfg.get("file") is not None:
        old = card.config["data"]
        options = {
            "path": str(existing_path(cfg.file, "file")),
            "text": plain_value(cfg, "text_column") or card.text_column,
            "label": plain_value(cfg, "label_column") or old.get("label", "label"),
            "labels": old.get("labels"),
            "group": old.get("group"),
            "delimiter": cfg.delimiter,
            "quotes": cfg.quotes,
        }
        if options["group"] is not None and "group" not in data:
            columns = table_columns(Path(options["path"]), cfg.delimiter, cfg.quotes)
            if options["group"] not in columns:
                log.warning("%s has no column %r of groups, so each row counts as independent", cfg.file, old["group"])
                options["group"] = None
        source = {"_target_": "heedful.data.source.Source", "tokenizer": {"_target_": "heedful.data.tokenizer.Word"}}
        data = OmegaConf.merge(source, escape_references(options), data)  # the model's tokenizer replaces this one
    elif "_target_" not in data:
        # `merge` leaves references in the checkpoint escaped; its data must not choose a folder to write to
        data, trusted = OmegaConf.merge(card.cfg("data").data, {"cache_dir": None}, data), TRUSTED_IN_CHECKPOINTS
    selected = OmegaConf.create({"data": data, "extras": cfg.extras, "seed": cfg.get("seed", 0)})
    with name_file(cfg.ckpt_path):
        validate_config(selected, "eval", trusted)
    return selected


def restore_ensemble(
    paths: str | Path | Sequence[str | Path], extras: DictConfig, accepts_exports: bool = True, device: str = "cpu"
) -> Ensemble:
    """Restore the models that `find_model` finds, on a device; the node `extras` names the trusted modules."""
    found = find_device(device)
    names = [str(find_model(path)) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not names:
        raise UserError("ckpt_path=[]: names no checkpoint; write ckpt_path=… or ckpt_path=[…,…]")
    if exports := [name for name in names if name.endswith(".onnx") and not accepts_exports]:
        raise UserError(f"ckpt_path={exports[0]}: is an export, which can only predict: name a checkpoint")
    if len(set(names)) < len(names):
        raise UserError("ckpt_path: names a checkpoint twice, which would count twice in the mean; remove one")
    return Ensemble([_restore(name, extras, found) for name in names])


def _restore(name: str, extras: DictConfig, device: str) -> Member:
    if not name.endswith(".onnx"):
        member = restoring.restore(name, extras)
        return member._replace(model=member.model.to(device), loss=member.loss.to(device))
    from heedful.portable.folder import read_export  # slow

    with trusting(extras.get("trusted_modules") or ()):
        return read_export(Path(name))


def find_model(path: str | Path) -> Path:
    """Return the checkpoint or the ONNX file of a model: itself, in a folder, or downloaded from the hub by its name.

    Only the files of a model are downloaded; like every model, they may come from anyone.
    """
    folder = Path(path)
    if re.fullmatch(HUB_NAME, str(path)) and not folder.exists():
        import huggingface_hub

        try:
            folder = Path(huggingface_hub.snapshot_download(str(path), allow_patterns=FILES_OF_A_MODEL))
        except (OSError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise UserError(f"{path}: there is no such file here, and the hub has no such model ({reason})") from None
    return folder / ONNX_FILE if (folder / ONNX_FILE).is_file() else checkpoint_in(folder, BEST)
