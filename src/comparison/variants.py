"""Group runs that differ only in seed and fold into variants, and name each by its differences to the others."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from src.comparison.runs import FinishedRun
from src.config.keys import MODEL, UNRELATED_TO_RESULT, is_within, options_in
from src.formatting import format_value

GROUPS = {  # config groups and their keys, in the order of a variant's name
    key.rpartition(".")[2]: key
    for key in ("data", "data.tokenizer", *MODEL, "loss", "optimizer", "scheduler", "trainer", "callbacks")
}
MAX_NAME_ITEMS = 4  # if more differ and each run has a preset, the preset's name replaces them


@dataclass(frozen=True)
class Variant:
    """One model, trained once for each seed, or once for each seed and fold of a cross-validation."""

    name: str  # such as "bilstm · bahdanau"; unique in a comparison
    differs: dict[str, str]  # such as {"encoder": "bilstm", "attention": "bahdanau"}
    runs: tuple[FinishedRun, ...]  # by seed and fold, each once

    @property
    def runs_by_seed(self) -> dict[int, tuple[FinishedRun, ...]]:
        """The runs of each seed, by fold; a single one without cross-validation."""
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
        """The selected option of each config group, the same in all runs."""
        return self.runs[0].choices


def group_runs(runs: Sequence[FinishedRun]) -> list[Variant]:
    """Group runs into variants, in the order of their start. Of runs with the same seed and fold, the last counts."""
    options = [_options(run.config) for run in runs]
    varying = [key for key in dict.fromkeys(key for values in options for key in values) if _varies(options, key)]
    groups: dict[tuple[str | None, ...], dict[tuple[int, int], FinishedRun]] = {}
    for run, values in sorted(zip(runs, options, strict=True), key=lambda pair: pair[0].started):
        groups.setdefault(tuple(values.get(key) for key in varying), {})[run.seed, run.fold] = run
    first_runs = [next(iter(by_repetition.values())) for by_repetition in groups.values()]
    varying_values = [dict(zip(varying, key, strict=True)) for key in groups]
    differences = _differences(first_runs, varying_values)
    names = _make_unique([_name(differs, run) for differs, run in zip(differences, first_runs, strict=True)])
    return [
        Variant(name, differs, tuple(run for _, run in sorted(by_repetition.items())))
        for name, differs, by_repetition in zip(names, differences, groups.values(), strict=True)
    ]


def _options(config: dict[str, Any]) -> dict[str, str]:
    """The options that affect the result of a run, as JSON by dotted path."""
    options = options_in(config, (*UNRELATED_TO_RESULT, "data.fold"))
    return {key: json.dumps(_portable(value)) for key, value in options.items() if value != {}}


def _portable(value: Any) -> Any:
    """The name of an absolute path, since folders differ between machines."""
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _varies(options: Sequence[dict[str, Any]], key: str) -> bool:
    return len({values.get(key) for values in options}) > 1


def _differences(runs: Sequence[FinishedRun], options: Sequence[dict[str, str | None]]) -> list[dict[str, str]]:
    """The differences of each variant: choices of config groups, and options that these do not determine."""
    varying = list(options[0])
    choices = [run.choices for run in runs]
    groups = {
        name: prefix
        for name, prefix in GROUPS.items()
        if _varies(choices, name) and any(is_within(key, [prefix]) for key in varying)
    }
    differences = _describe(choices, options, groups)
    have_presets = all(selection.get("experiment") not in (None, "None") for selection in choices)
    if max(map(len, differences)) > MAX_NAME_ITEMS and have_presets:
        return _describe(choices, options, {"experiment": ""})
    return differences


def _describe(
    choices: Sequence[dict[str, str]], options: Sequence[dict[str, str | None]], groups: dict[str, str]
) -> list[dict[str, str]]:
    """The choices in these groups, and the options that they do not determine, for each variant."""

    def is_determined(key: str) -> bool:
        owners = [name for name, prefix in groups.items() if not prefix or is_within(key, [prefix])]
        by_choice: dict[tuple[str | None, ...], set[str | None]] = {}
        for selection, values in zip(choices, options, strict=True):
            by_choice.setdefault(tuple(selection.get(name) for name in owners), set()).add(values[key])
        return all(len(values) == 1 for values in by_choice.values())

    undetermined = [key for key in options[0] if not is_determined(key)]
    labels = _short_labels(undetermined)
    return [
        {name: str(selection[name]) for name in groups if name in selection}
        | {labels[key]: format_value(json.loads(text)) for key in undetermined if (text := values[key]) is not None}
        for selection, values in zip(choices, options, strict=True)
    ]


def _short_labels(keys: Sequence[str]) -> dict[str, str]:
    """The shortest unique suffix of each dotted path."""
    labels: dict[str, str] = {}
    for key in keys:
        parts = key.split(".")
        ends = (".".join(parts[-size:]) for size in range(1, len(parts) + 1))
        labels[key] = next(end for end in ends if sum(f".{other}".endswith(f".{end}") for other in keys) == 1)
    return labels


def _name(differs: dict[str, str], run: FinishedRun) -> str:
    if not differs:
        return run.result.variant or run.result.task or run.folder.name

    def item(key: str, value: str) -> str:
        if key not in GROUPS and key != "experiment":
            return f"{key}={value}"
        return f"no {key}" if value == "none" and key != "attention" else value

    return " · ".join(item(key, value) for key, value in differs.items())


def _make_unique(names: list[str]) -> list[str]:
    count, seen = Counter(names), Counter[str]()
    for index, name in enumerate(names):
        if count[name] > 1:
            seen[name] += 1
            names[index] = f"{name} ({seen[name]})"
    return names
