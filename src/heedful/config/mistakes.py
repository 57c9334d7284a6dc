"""Mistakes in a configuration, one message for all of them, and suggestions for misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator

from heedful.base.formatting import format_count, format_names

MAX_ENTRY_WIDTH = 48  # characters; a longer entry gets a line of its own
LONGEST_NAME = 100  # characters; longer names get no suggestions

# The words that users of other libraries type by habit, by the option that they mean
HABITS = {
    "trainer.max_epochs": ("epochs", "num_epochs", "n_epochs", "nb_epoch", "num_train_epochs", "max_iter"),
    "trainer.devices": ("gpus", "n_gpu", "num_gpus"),
    "trainer.accelerator": ("device",),
    "trainer.precision": ("fp16", "bf16", "amp"),
    "trainer.gradient_clip_val": ("max_grad_norm", "grad_clip", "clip_grad_norm", "clipnorm"),
    "optimizer.lr": ("learning_rate", "eta0"),
    "data.batch_size": ("per_device_train_batch_size", "train_batch_size"),
    "data.path": ("train_file", "data_path", "data_files"),
    "data.text": ("text_column", "text_col"),
    "data.label": ("label_column", "label_col", "target"),
    "data.val_fraction": ("val_size", "validation_split", "validation_fraction"),
    "data.test_fraction": ("test_size",),
    "data.folds": ("n_splits", "cv", "k_folds", "n_folds"),
    "model.encoder.hidden_dim": ("units", "hidden_size"),
    "callbacks.early_stopping": ("early_stop",),
    "callbacks.best_checkpoint.mode": ("direction", "directions"),
    "callbacks.best_checkpoint.monitor": ("optimized_metric", "objective", "objectives"),
    "hydra.sweeper.search.trials": ("n_trials",),
    "data": ("dataset",),
    "seed": ("random_state", "seed_everything", "random_seed"),
    "ckpt_path": ("resume_from_checkpoint", "checkpoint", "checkpoint_path", "ckpt"),
}


class Mistake(NamedTuple):
    """An entry of a configuration, such as `optimizer.lr=fast`, and the error in it."""

    entry: str
    message: str

    @property
    def path(self) -> str:
        return self.entry.partition("=")[0]


def format_mistakes(mistakes: Iterable[Mistake]) -> str:
    """Return one message that lists all distinct mistakes."""
    unique = list(dict.fromkeys(mistakes))
    width = max((len(entry) for entry, _ in unique if len(entry) <= MAX_ENTRY_WIDTH), default=0)
    lines = [f"{format_count(len(unique), 'mistake')} in the configuration; nothing was started."]
    for entry, message in unique:
        column = f"{entry:<{width}}" if len(entry) <= width else f"{entry}\n  {'':<{width}}"
        lines.append(f"  {column}   {message}")
    return "\n".join(lines)


def not_a_list(reason: str) -> BeforeValidator:
    """Return the annotation of an option for which a list may be tried; a list is refused for this reason."""

    def check(value: Any) -> Any:
        if isinstance(value, list):
            raise ValueError(reason)
        return value

    return BeforeValidator(check)


def _two_columns(columns: list[str]) -> list[str]:
    if len(columns) != 2 or columns[0] == columns[1]:
        raise ValueError("must be one column, or two different ones for pairs of texts, such as [premise,hypothesis]")
    return columns


TextColumn = str | Annotated[list[str], AfterValidator(_two_columns)]


def _indicators(columns: list[str]) -> list[str]:
    if len(columns) < 2 or len(set(columns)) < len(columns):
        raise ValueError(
            "must be one column, or with task=multilabel several different ones of 0 and 1, such as [billing,refund]"
        )
    return columns


LabelColumn = str | Annotated[list[str], AfterValidator(_indicators)]


def nearest(name: str, names: Iterable[str], similarity: float = 0.62) -> list[str]:
    """Return those of `names` that resemble `name`; a dot and a slash are the same.

    If names end in `name`, at most three of them are returned: `hidden_dim` means `model.encoder.hidden_dim`. If it is
    a word of another library, the option that it means is returned: `epochs` means `trainer.max_epochs`. Otherwise, the
    name with the most similar spelling is returned if it is similar enough.

    Args:
        similarity: of a word, without dots, that is similar enough; 1 is the same word.
    """
    dotted = {other.replace("/", "."): other for other in names if len(other) <= LONGEST_NAME >= len(name)}
    name = name.replace("/", ".")
    if matches := [other for other in dotted if f".{other}".endswith(f".{name}")]:
        return [dotted[match] for match in matches[:3]]
    meant = [option for option, words in HABITS.items() if name.rpartition(".")[2] in words and option in dotted]
    if meant:
        return meant
    last = {other: other.lower().rpartition(".")[2] for other in dotted}
    close = get_close_matches(name.lower().rpartition(".")[2], last.values(), len(last), 0.5) if last else []
    spellings = {} if "." in name else {last[other]: other for other in dotted}
    spellings |= {other.lower(): other for other in dotted if last[other] in close}
    swapped = [spelling for spelling in spellings if sorted(spelling) == sorted(name.lower())]
    similar = swapped[:1] or get_close_matches(name.lower(), spellings, 1, 0.8 if "." in name else similarity)
    return [dotted[spellings[spelling]] for spelling in similar]


def did_you_mean(name: object, names: Iterable[str], similarity: float = 0.62) -> str:
    """Return " (did you mean lr?)" for the name most similar to `lrr`; an empty string if no name is similar."""
    similar = (name if name == name.strip() else repr(name) for name in nearest(str(name), names, similarity))
    return f" (did you mean {shown}?)" if (shown := " or ".join(similar)) else ""


def no_such(kind: str, name: object, names: Iterable[str]) -> str:
    """Return "no such option (did you mean lr?)" for the kind `option`, or the valid names if none is similar."""
    names = list(names)
    valid = f"; it must be one of {format_names(sorted(names))}" if names else ""
    return f"no such {kind}{did_you_mean(name, names) or valid}"
