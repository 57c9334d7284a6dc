"""One mistake in a configuration, how the right name is guessed, and how all mistakes are shown together."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any, NamedTuple

WIDEST = 48  # characters of the left column; a longer entry stands on its own line
SHOWN = 12  # choices that are listed before the rest becomes an ellipsis
SYNONYMS = {  # what other programs call an option, by the end of its path here
    "learning_rate": "lr",
    "base_lr": "lr",
    "rate": "lr",
    "epochs": "max_epochs",
    "epoch": "max_epochs",
    "num_epochs": "max_epochs",
    "n_epochs": "max_epochs",
    "num_train_epochs": "max_epochs",
    "steps": "max_steps",
    "hidden": "hidden_dim",
    "hidden_size": "hidden_dim",
    "hidden_units": "hidden_dim",
    "units": "hidden_dim",
    "rnn_size": "hidden_dim",
    "d_model": "dim",
    "embedding_dim": "embedding.dim",
    "embedding_size": "embedding.dim",
    "embed_dim": "embedding.dim",
    "num_layers": "layers",
    "n_layers": "layers",
    "num_heads": "heads",
    "n_heads": "heads",
    "nhead": "heads",
    "batch": "batch_size",
    "bs": "batch_size",
    "train_batch_size": "batch_size",
    "max_len": "max_length",
    "maxlen": "max_length",
    "seq_len": "max_length",
    "max_seq_length": "max_length",
    "vocab": "vocab_size",
    "num_words": "vocab_size",
    "max_features": "vocab_size",
    "wd": "weight_decay",
    "l2": "weight_decay",
    "grad_clip": "gradient_clip_val",
    "clip": "gradient_clip_val",
    "max_grad_norm": "gradient_clip_val",
    "gradient_accumulation_steps": "accumulate_grad_batches",
    "accumulate": "accumulate_grad_batches",
    "gpus": "devices",
    "num_gpus": "devices",
    "random_seed": "seed",
    "checkpoint": "ckpt_path",
    "resume_from": "ckpt_path",
    "dropout_rate": "dropout",
    "fp16": "precision",
}


class Mistake(NamedTuple):
    """What the user wrote, such as `optimizer.lr=fast`, and what is wrong with it."""

    where: str
    what: str


def nearest(name: str, names: Iterable[str], at_least: float = 0.5) -> list[str]:
    """The names that `name` may have been meant for, at most three; none where nothing is alike.

    A dotted name that ends as `name` does, or as its synonym, comes before one that is merely spelled alike:
    `hidden_dim` means `model.encoder.hidden_dim`, and `learning_rate` means `optimizer.lr`.
    """
    names = list(names)
    last = name.rpartition(".")[2]
    for meant in (name, SYNONYMS.get(last.lower(), "")):
        tail = [other for other in names if meant and (other.endswith(f".{meant}") or (other == meant != name))]
        if tail:
            return sorted(tail, key=lambda other: -_shared(name, other))[:3]

    def likeness(other: str) -> float:
        whole = SequenceMatcher(None, name.lower(), other.lower(), autojunk=False).ratio()
        if "." in name:
            return whole
        end = SequenceMatcher(None, name.lower(), other.lower().rpartition(".")[2], autojunk=False).ratio()
        return max(whole, end - 0.1)  # of two that are as much alike, the one that is alike as a whole

    return [best for best in [max(names, key=likeness, default="")] if best and likeness(best) >= at_least]


def _shared(name: str, other: str) -> int:
    """How many names of a dotted path stand in both."""
    return len({*name.split(".")} & {*other.split(".")})


def did_you_mean(names: list[str]) -> str:
    return f"; did you mean {' or '.join(names)}?" if names else ""


def format_names(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


def no_such_choice(name: object, choices: list[str]) -> str:
    return f"no such choice{did_you_mean(nearest(str(name), choices))} ({format_names(sorted(choices))})"


def format_value(value: Any) -> str:
    """A value as one would write it on the command line, cut to a readable length."""
    if isinstance(value, bool) or value is None:
        text = {True: "true", False: "false", None: "null"}[value]
    elif isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {format_value(item)}" for key, item in value.items()) + "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(map(format_value, value)) + "]"
    else:
        text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def format_mistakes(mistakes: Iterable[Mistake]) -> str:
    """All mistakes as one message, each once."""
    unique = list(dict.fromkeys(mistakes))
    width = max((len(where) for where, _ in unique if len(where) <= WIDEST), default=0)
    count = "1 mistake" if len(unique) == 1 else f"{len(unique)} mistakes"
    lines = [f"{count} in the configuration; nothing was started."]
    for where, what in unique:
        lines.append(f"  {where:<{width}}   {what}" if len(where) <= width else f"  {where}\n  {'':<{width}}   {what}")
    return "\n".join(lines)
