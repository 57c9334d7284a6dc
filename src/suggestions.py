"""Messages about a misspelt name, with suggestions of valid names."""

from collections.abc import Iterable
from difflib import SequenceMatcher

from src.formatting import format_names

LONGEST_NAME = 100  # characters; longer names get no suggestions
SYNONYMS = {  # name of an option in other programs → last words of the option's path in Heed
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
    "accuracy": "acc",
}


def nearest(name: str, names: Iterable[str], at_least: float = 0.5) -> list[str]:
    """Return at most three of `names` that resemble `name`; an empty list if no name does.

    A dotted name that ends in `name` or in its synonym takes precedence over a name of similar spelling:
    `hidden_dim` means `model.encoder.hidden_dim`, and `learning_rate` means `optimizer.lr`. A name of similar spelling
    counts if its similarity, between 0 and 1, reaches `at_least`.
    """
    names = list(names)
    last = name.rpartition(".")[2]
    for ending in (name, SYNONYMS.get(last.lower(), "")):
        matches = [other for other in names if ending and (other.endswith(f".{ending}") or other == ending != name)]
        if matches:
            return sorted(matches, key=lambda other: -_shared(name, other))[:3]

    def similarity(other: str) -> float:
        whole = SequenceMatcher(None, name.lower(), other.lower(), autojunk=False).ratio()
        if "." in name:
            return whole
        end = SequenceMatcher(None, name.lower(), other.lower().rpartition(".")[2], autojunk=False).ratio()
        return max(whole, end - 0.1)  # the similarity of the whole names counts more

    return [best for best in [max(names, key=similarity, default="")] if best and similarity(best) >= at_least]


def _shared(name: str, other: str) -> int:
    """Return the number of distinct names that two dotted paths have in common."""
    return len({*name.split(".")} & {*other.split(".")})


def did_you_mean(names: list[str]) -> str:
    return f"; did you mean {' or '.join(names)}?" if names else ""


def no_such(kind: str, similar: list[str]) -> str:
    """Return "no such option; did you mean lr?" for the kind "option" and the similar name "lr"."""
    return f"no such {kind}{did_you_mean(similar)}"


def no_such_choice(name: object, choices: list[str]) -> str:
    return f"{no_such('choice', nearest(str(name), choices))} ({format_names(sorted(choices))})"


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return the clause ' (did you mean …?)' with the most similar of `names`, or an empty string."""
    if len(name) > LONGEST_NAME:
        return ""
    matches = nearest(name, [other for other in names if len(other) <= LONGEST_NAME], at_least=0.6)
    return f" (did you mean {matches[0]!r}?)" if matches else ""
