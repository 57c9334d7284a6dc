"""Messages about misspelt names, with the valid names that are most similar."""

from collections.abc import Iterable
from difflib import get_close_matches

from src.formatting import format_names

LONGEST_NAME = 100  # characters; longer names get no suggestions
SYNONYMS = {  # last words of an option's path in Heed → the names of this option in other programs
    "lr": ("learning_rate", "base_lr", "rate"),
    "max_epochs": ("epochs", "epoch", "num_epochs", "n_epochs", "num_train_epochs"),
    "max_steps": ("steps",),
    "hidden_dim": ("hidden", "hidden_size", "hidden_units", "units", "rnn_size"),
    "dim": ("d_model",),
    "embedding.dim": ("embedding_dim", "embedding_size", "embed_dim"),
    "layers": ("num_layers", "n_layers"),
    "heads": ("num_heads", "n_heads", "nhead"),
    "batch_size": ("batch", "bs", "train_batch_size"),
    "max_length": ("max_len", "maxlen", "seq_len", "max_seq_length"),
    "vocab_size": ("vocab", "num_words", "max_features"),
    "weight_decay": ("wd", "l2"),
    "gradient_clip_val": ("grad_clip", "clip", "max_grad_norm"),
    "accumulate_grad_batches": ("gradient_accumulation_steps", "accumulate"),
    "devices": ("gpus", "num_gpus"),
    "seed": ("random_seed",),
    "ckpt_path": ("checkpoint", "resume_from"),
    "dropout": ("dropout_rate",),
    "precision": ("fp16",),
    "acc": ("accuracy",),
}
ENDINGS = {name: ending for ending, names in SYNONYMS.items() for name in names}


def nearest(name: str, names: Iterable[str], at_least: float = 0.6) -> list[str]:
    """Return those of `names` that resemble `name`; an empty list if none does.

    If dotted names end in `name` or in its synonym, at most three of them are returned: `hidden_dim` means
    `model.encoder.hidden_dim`, and `learning_rate` means `optimizer.lr`. Otherwise, the name with the most similar
    spelling is returned if its similarity, between 0 and 1, is at least `at_least`.
    """
    names = [other for other in names if len(other) <= LONGEST_NAME >= len(name)]
    for ending in (name, ENDINGS.get(name.rpartition(".")[2].lower(), "")):
        matches = [other for other in names if ending and (other.endswith(f".{ending}") or other == ending != name)]
        if matches:
            parts = set(name.split("."))
            return sorted(matches, key=lambda other: -len(parts.intersection(other.split("."))))[:3]
    spellings = {} if "." in name else {other.lower().rpartition(".")[2]: other for other in names}
    spellings |= {other.lower(): other for other in names}
    return [spellings[match] for match in get_close_matches(name.lower(), spellings, 1, at_least)]


def did_you_mean(names: list[str]) -> str:
    return f"; did you mean {' or '.join(names)}?" if names else ""


def no_such(kind: str, similar: list[str]) -> str:
    """Return "no such option; did you mean lr?" for the kind "option" and the similar name "lr"."""
    return f"no such {kind}{did_you_mean(similar)}"


def no_such_choice(name: object, choices: list[str]) -> str:
    return f"{no_such('choice', nearest(str(name), choices))} ({format_names(sorted(choices))})"


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)" for the most similar x of `names`; an empty string if none is similar."""
    matches = nearest(name, names)
    return f" (did you mean {matches[0]!r}?)" if matches else ""
