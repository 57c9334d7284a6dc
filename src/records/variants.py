"""Group runs that differ only in seed and fold into variants, and name each variant by its differences from others."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from src.config.keys import MODEL, UNRELATED_TO_RESULT, is_within, options_in
from src.formatting import format_value
from src.records.runs import FinishedRun

GROUPS = {  # config groups and their keys, in the order in which a variant's name lists them
    key.rpartition(".")[2]: key
    for key in ("data", "data.tokenizer", *MODEL, "loss", "optimizer", "scheduler", "trainer", "callbacks")
}
# if a variant's name has more items, and every run has a preset, the presets replace the items that they determine
MAX_NAME_ITEMS = 4


@dataclass(frozen=True)
class Variant:
    """Runs that differ only in their seed and, in a cross-validation, their fold."""

    name: str  # such as "bilstm · bahdanau"; unique in a comparison
    differs: dict[str, str]  # such as {"encoder": "bilstm", "attention": "bahdanau"}
    runs: tuple[FinishedRun, ...]  # one for each seed and fold

    @property
    def runs_by_seed(self) -> dict[int, tuple[FinishedRun, ...]]:
        """The runs of each seed, in the order of the folds; one run per seed without cross-validation."""
        by_seed: dict[int, tuple[FinishedRun, ...]] = {}
        for run in self.runs:
            by_seed[run.seed] = (*by_seed.get(run.seed, ()), run)
        return by_seed

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, ascending."""
        return tuple(self.runs_by_seed)

    @property
    def choices(self) -> dict[str, str]:
        """The choice of each config group, which is the same in all runs."""
        return self.runs[0].choices


class Settings(NamedTuple):
    """The settings in which a variant may differ from other variants."""

    choices: dict[str, str]  # the choice of each config group
    options: dict[str, str | None]  # varying options as JSON by dotted path; None if the variant lacks the option


def group_runs(runs: Sequence[FinishedRun]) -> list[Variant]:
    """Group runs into variants, in the order in which the variants started.

    Runs belong to one variant if they agree in all options except the seed, the fold, and options without an effect on
    the result, such as paths and loggers. Of several runs of a variant with the same seed and fold, only the run that
    started last is used. `Variant.differs` contains the choices in the config groups that vary, such as `bilstm`, and
    the varying options that these choices do not determine, such as `hidden_dim=64`.
    """
    options = [_options(run.config) for run in runs]
    varying = [key for key in dict.fromkeys(key for values in options for key in values) if _varies(options, key)]
    # values of the varying options → seed and fold → run
    groups: dict[tuple[str | None, ...], dict[tuple[int, int], FinishedRun]] = {}
    for run, values in sorted(zip(runs, options, strict=True), key=lambda pair: pair[0].started):
        groups.setdefault(tuple(values.get(key) for key in varying), {})[run.seed, run.fold] = run
    first_runs = [next(iter(by_repetition.values())) for by_repetition in groups.values()]
    settings = [
        Settings(run.choices, dict(zip(varying, key, strict=True))) for run, key in zip(first_runs, groups, strict=True)
    ]
    differences = _differences(settings)
    names = _make_unique([_name(differs, run) for differs, run in zip(differences, first_runs, strict=True)])
    return [
        Variant(name, differs, tuple(run for _, run in sorted(by_repetition.items())))
        for name, differs, by_repetition in zip(names, differences, groups.values(), strict=True)
    ]


def _options(config: dict[str, Any]) -> dict[str, str]:
    """Return the options that affect the result of a run, as JSON by dotted path."""
    options = options_in(config, (*UNRELATED_TO_RESULT, "data.fold"))
    return {key: json.dumps(_portable(value)) for key, value in options.items() if value != {}}


def _portable(value: Any) -> Any:
    """Return the file name of an absolute path, since folders differ between machines; leave other values unchanged."""
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _varies(mappings: Sequence[Mapping[str, Any]], key: str) -> bool:
    return len({values.get(key) for values in mappings}) > 1


def _differences(variants: Sequence[Settings]) -> list[dict[str, str]]:
    """Return `Variant.differs` of each variant."""
    choices = [variant.choices for variant in variants]
    groups = {
        name: prefix
        for name, prefix in GROUPS.items()
        if _varies(choices, name) and any(is_within(key, [prefix]) for key in variants[0].options)
    }
    differences = _describe(variants, groups)
    have_presets = all(selection.get("experiment") not in (None, "None") for selection in choices)
    if max(map(len, differences)) > MAX_NAME_ITEMS and have_presets:
        return _describe(variants, {"experiment": ""})
    return differences


def _describe(variants: Sequence[Settings], groups: Mapping[str, str]) -> list[dict[str, str]]:
    """Return, for each variant, the choices in these groups and the options that the choices do not determine.

    Args:
        groups: group → dotted path below which the group sets options; "" for all options.
    """
    undetermined = []
    for key in variants[0].options:
        owners = [name for name, prefix in groups.items() if not prefix or is_within(key, [prefix])]
        if not _is_determined(key, owners, variants):
            undetermined.append(key)
    labels = _short_labels(undetermined)
    return [
        {name: str(choices[name]) for name in groups if name in choices}
        | {labels[key]: format_value(json.loads(text)) for key in undetermined if (text := options[key]) is not None}
        for choices, options in variants
    ]


def _is_determined(key: str, groups: Sequence[str], variants: Sequence[Settings]) -> bool:
    """Return whether variants with the same choices in these groups have the same value of an option."""
    values = {(tuple(choices.get(name) for name in groups), options[key]) for choices, options in variants}
    return len(values) == len({selection for selection, _ in values})


def _short_labels(keys: Sequence[str]) -> dict[str, str]:
    """Map each dotted path to its shortest unique suffix."""
    labels: dict[str, str] = {}
    for key in keys:
        parts = key.split(".")
        ends = (".".join(parts[-size:]) for size in range(1, len(parts) + 1))
        labels[key] = next(end for end in ends if sum(f".{other}".endswith(f".{end}") for other in keys) == 1)
    return labels


def _name(differs: Mapping[str, str], run: FinishedRun) -> str:
    """Return a name such as "bilstm · no position · hidden_dim=64".

    If nothing differs, the name is the name of the model, of the task, or of the run's folder.
    """
    items = []
    for key, value in differs.items():
        if key not in GROUPS and key != "experiment":
            items.append(f"{key}={value}")
        else:
            items.append(f"no {key}" if value == "none" and key != "attention" else value)
    return " · ".join(items) or run.result.architecture or run.result.task or run.folder.name


def _make_unique(names: Sequence[str]) -> list[str]:
    """Number the names that occur more than once, such as "a (1)" and "a (2)"."""
    return [
        f"{name} ({names[: index + 1].count(name)})" if names.count(name) > 1 else name
        for index, name in enumerate(names)
    ]
