"""Group runs that differ only in seed and fold into variants, and name each variant by its differences from others."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heedful.base.errors import UserError
from heedful.base.formatting import format_names, format_value
from heedful.config.keys import MODEL, UNRELATED_TO_RESULT, is_within, options_in, paths_in
from heedful.config.mistakes import no_such
from heedful.records.runs import ExcludedRun, FinishedRun, find_runs
from heedful.runs.run_files import Predictions

GROUPS = {  # config groups and their keys, in the order in which a variant's name lists them
    key.rpartition(".")[2]: key
    for key in (
        *("data", "data.tokenizer", *MODEL, "model.normalizer", "model.branch"),
        *("loss", "optimizer", "scheduler", "trainer", "callbacks"),
    )
}
# maximum number of characters of a name; if it has more, and presets differ, they replace the items that they determine
MAX_NAME = 40
PRESETS = ("experiment", "model")  # groups such as experiment=recommended and model=linear
MIN_OPTION = 4  # minimum number of characters of an option in a name
REPEATED = "a later run has the same configuration{} and seed, and is used instead"


@dataclass(frozen=True)
class Variant:
    """Runs that differ only in their seed and, in a cross-validation, their fold."""

    name: str  # such as "bilstm · bahdanau"; unique in a comparison
    differs: dict[str, str]  # such as {"encoder": "bilstm", "attention": "bahdanau"}
    runs: tuple[FinishedRun, ...]  # one for each seed and fold
    outside: str = ""  # the file with the predictions of another program; "" for runs
    is_checked: bool = True  # whether it is known that the model was not trained on the texts that it predicts

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

    @property
    def has_unused_network(self) -> bool:
        """Whether the branch of a network has all the weight in each run."""
        return all(run.result.has_unused_network for run in self.runs)


class Settings(NamedTuple):
    """The settings in which a variant may differ from other variants."""

    choices: dict[str, str]  # the choice of each config group
    options: dict[str, str | None]  # varying options as JSON by dotted path; None if the variant lacks the option
    overridden: frozenset[str] = frozenset()  # the keys that the command line of the run sets


def find_variants(
    folders: Sequence[Path], ignored: Sequence[str] = ()
) -> tuple[list[Variant], tuple[ExcludedRun, ...]]:
    """Return the variants of all runs below the folders, which must have the same data, and the runs not in them.

    The options in `ignored` make no other variant, as those in UNRELATED_TO_RESULT do not.
    """
    runs, excluded = find_runs(folders)
    _require_same_data(runs)
    known = {path for run in runs for path in paths_in(run.config)} if ignored else set()
    if unknown := [key for key in ignored if key not in known]:
        raise UserError(f"--ignore {unknown[0]}: {no_such('option of the runs', unknown[0], sorted(known))}")
    variants, incomplete = _with_complete_folds(group_runs(runs, ignored))
    listed = {run.folder for variant in variants for run in variant.runs} | {run.folder for run in incomplete}
    reason = REPEATED.format(f" but for {', '.join(ignored)}" if ignored else "")
    repeated = (ExcludedRun(run.folder, "repeated", reason) for run in runs if run.folder not in listed)
    return variants, (*excluded, *incomplete, *repeated)


def _require_same_data(runs: Sequence[FinishedRun]) -> None:
    first: dict[tuple[Any, ...], FinishedRun] = {}  # the first run with each data
    for run in runs:
        first.setdefault((run.result.data.fingerprint, run.result.data.class_names), run)
    if len(first) > 1:
        lines = [f"  {run.folder}: {run.result.data.test} test texts" for run in first.values()]
        raise UserError("\n".join(["the runs differ in their data: compare runs with the same data", *lines]))


def group_runs(runs: Sequence[FinishedRun], ignored: Sequence[str] = ()) -> list[Variant]:
    """Group runs into variants, in the order in which the variants started.

    Runs belong to one variant if they agree in all options except the seed, the fold, and options without an effect on
    the result, such as paths, loggers, and those in `ignored`. Of several runs of a variant with the same seed and
    fold, only the run that started last is used. `Variant.differs` contains the choices in the config groups that vary,
    such as `bilstm`, and the varying options that these choices do not determine, such as `hidden_dim=64`.
    """
    options = [_options(run.config, ignored) for run in runs]
    keys = dict.fromkeys(key for values in options for key in values)
    varying = [key for key in keys if len({values.get(key) for values in options}) > 1]
    groups: dict[tuple[str | None, ...], dict[tuple[int, int], FinishedRun]] = {}  # by options, then by seed and fold
    for run, values in sorted(zip(runs, options, strict=True), key=lambda pair: pair[0].started):
        groups.setdefault(tuple(values.get(key) for key in varying), {})[run.seed, run.fold] = run
    first_runs = [next(iter(repetitions.values())) for repetitions in groups.values()]
    settings = [
        Settings(run.choices, dict(zip(varying, key, strict=True)), _overridden(run))
        for run, key in zip(first_runs, groups, strict=True)
    ]
    differences = _differences(settings)
    names = _make_unique([_name(differs, run) for differs, run in zip(differences, first_runs, strict=True)])
    runs_in_order = (tuple(run for _, run in sorted(repetitions.items())) for repetitions in groups.values())
    return [Variant(*facts) for facts in zip(names, differences, runs_in_order, strict=True)]


def _options(config: dict[str, Any], ignored: Sequence[str]) -> dict[str, str]:
    """Return the options that affect the result as JSON by dotted path; paths in the run's folder become relative."""
    folder = f"{config.get('paths', {}).get('output_dir')}/"

    def portable(value: Any) -> Any:
        return value.removeprefix(folder) if isinstance(value, str) else value

    options = options_in(config, (*UNRELATED_TO_RESULT, "data.fold", *ignored))
    return {key: json.dumps(portable(value)) for key, value in options.items()}


def _overridden(run: FinishedRun) -> frozenset[str]:
    return frozenset(line.partition("=")[0].lstrip("+~").replace("/", ".") for line in run.result.overrides)


def _differences(variants: Sequence[Settings]) -> list[dict[str, str]]:
    keys = variants[0].options
    varying = [name for name in GROUPS if len({variant.choices.get(name) for variant in variants}) > 1]
    groups = {name: GROUPS[name] for name in varying if any(is_within(key, [GROUPS[name]]) for key in keys)}
    differences = _describe(variants, groups)
    presets = [" ".join(choices[group] for group in PRESETS if group in choices) for choices, *_ in variants]
    names = [_join([_item(key, value) for key, value in items.items()]) for items in differences]
    if max(map(len, names)) <= MAX_NAME or len(set(presets)) == 1:
        return differences
    differences = [{} for _ in variants]
    # what a preset determines differs between presets, but not within one, unless the command line sets it
    for preset in dict.fromkeys(presets):
        places = [place for place, name in enumerate(presets) if name == preset]
        alike = [variants[place] for place in places]
        described = {
            name: key
            for name, key in groups.items()
            if len({variant.choices.get(name) for variant in alike}) > 1
            or any(key in variant.overridden for variant in alike)
        }
        for place, items in zip(places, _describe(alike, described), strict=True):
            differences[place] = {"experiment": preset, **items} if preset else items
    return differences


def _describe(variants: Sequence[Settings], groups: Mapping[str, str]) -> list[dict[str, str]]:
    """Return, for each variant, the choices in these groups and the options that the choices do not determine.

    Each group sets options below a dotted path, its value in `groups`.
    """
    undetermined = []
    for key in variants[0].options:
        owners = [name for name, prefix in groups.items() if is_within(key, [prefix])]
        values = {(tuple(choices.get(name) for name in owners), options[key]) for choices, options, _ in variants}
        if len(values) > len({selection for selection, _ in values}):
            undetermined.append(key)
    labels = {}  # dotted path → its shortest unique suffix
    for key in undetermined:
        parts = key.split(".")
        ends = (".".join(parts[-size:]) for size in range(1, len(parts) + 1))
        labels[key] = next(end for end in ends if sum(f".{other}".endswith(f".{end}") for other in undetermined) == 1)
    return [
        {name: str(choices[name]) for name in groups if name in choices}
        | {labels[key]: format_value(json.loads(text)) for key in undetermined if (text := options[key]) is not None}
        for choices, options, _ in variants
    ]


def _name(differs: Mapping[str, str], run: FinishedRun) -> str:
    """Return a name such as "bilstm · no position · hidden_dim=64".

    If nothing differs, the name is the name of the model, of the task, or of the run's folder. In a long name, numbers
    are rounded, paths are shortened to their ends, and then the names of options are cut.
    """
    items = [_item(key, value) for key, value in differs.items()]
    if len(_join(items)) > MAX_NAME:
        items = [(option, _shorten(value)) for option, value in items]
    while len(_join(items)) > MAX_NAME and (longest := max(len(option) for option, _ in items)) > MIN_OPTION:
        items = [(option if len(option) < longest else f"{option[: longest - 2]}…", value) for option, value in items]
    return _join(items) or run.result.architecture or run.result.task or run.folder.name


def _item(key: str, value: str) -> tuple[str, str]:
    """Return the option and its value, or "" and a choice."""
    if key not in GROUPS and key != "experiment":
        return key, value
    if value == "none" and key != "attention":
        return "", f"no {key}"
    return "", f"{value} branch" if key == "branch" else value


def _join(items: Sequence[tuple[str, str]]) -> str:
    return " · ".join(f"{option}={value}" if option else value for option, value in items)


def _shorten(value: str) -> str:
    try:
        return value if value.isdecimal() else f"{float(value):.4g}"
    except ValueError:
        return value.rstrip("/").rpartition("/")[2]


def _make_unique(names: Sequence[str]) -> list[str]:
    """Return the names, cut to MAX_NAME characters; a name that an earlier variant has gets a number."""
    unique: list[str] = []
    for name in names:
        numbered = (_cut(name, f" ({number})" if number > 1 else "") for number in count(1))
        unique.append(next(name for name in numbered if name not in unique))
    return unique


def _cut(name: str, end: str) -> str:
    length = MAX_NAME - len(end)
    return (name if len(name) <= length else f"{name[: length - 1].rstrip(' ·')}…") + end


def pool_folds(parts: Sequence[Predictions]) -> tuple[Predictions, np.ndarray | None]:
    """Return the predictions for all texts of a cross-validation, each from the run whose test split has the text.

    Args:
        parts: the predictions of all folds, in the order of the folds; without cross-validation, of the only run.

    Returns:
        The predictions for n texts, and the fold of each text, n; None instead of the folds without cross-validation.
    """
    if len(parts) == 1:
        return parts[0], None
    names = ("probabilities", "labels", "index")
    probabilities, labels, index = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    of_parts = [part.groups for part in parts if part.groups is not None]
    groups = np.concatenate(of_parts) if of_parts else None
    folds = np.repeat(np.arange(len(parts)), [len(part.labels) for part in parts])
    task = parts[0].task.pool([part.task for part in parts], [len(part.labels) for part in parts])
    pooled = parts[0]._replace(probabilities=probabilities, labels=labels, task=task, index=index, groups=groups)
    return pooled, folds


def _with_complete_folds(variants: Sequence[Variant]) -> tuple[list[Variant], list[ExcludedRun]]:
    """Remove the seeds that lack a run for a fold; return the variants that retain a seed, and the removed runs."""
    complete: list[Variant] = []
    excluded: list[ExcludedRun] = []
    for variant in variants:
        kept: tuple[FinishedRun, ...] = ()
        for seed, runs in variant.runs_by_seed.items():
            missing = sorted(set(range(runs[0].folds)) - {run.fold for run in runs})
            if missing:
                folds = f"data.fold={format_names(map(str, missing))} ({runs[0].folds} folds)"
                reason = f"seed {seed} lacks {folds}, so some texts have no prediction: run these folds too"
                excluded += [ExcludedRun(run.folder, "incomplete", reason) for run in runs]
            else:
                kept += runs
        complete += [replace(variant, runs=kept)] if kept else []
    if not complete:
        raise UserError(f"no cross-validation is complete: {excluded[0].error}")
    return complete, excluded
