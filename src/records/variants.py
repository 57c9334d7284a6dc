"""Group runs that differ only in seed and fold into variants, and name each variant by its differences from others."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from src.config.keys import MODEL, UNRELATED_TO_RESULT, is_within, options_in, paths_in
from src.config.mistakes import no_such
from src.errors import UserError
from src.formatting import format_names, format_value
from src.records.files import Predictions
from src.records.runs import ExcludedRun, FinishedRun, find_runs

GROUPS = {  # config groups and their keys, in the order in which a variant's name lists them
    key.rpartition(".")[2]: key
    for key in (
        *("data", "data.tokenizer", *MODEL, "model.branch"),
        *("loss", "optimizer", "scheduler", "trainer", "callbacks"),
    )
}
# if a variant's name has more items, and every run has a preset, the presets replace the items that they determine
MAX_NAME_ITEMS = 4
REPEATED = "a later run has the same configuration{} and seed, and is used instead"


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


def find_variants(
    folders: Sequence[Path], ignored: Sequence[str] = ()
) -> tuple[list[Variant], tuple[ExcludedRun, ...]]:
    """Return the variants of all runs below the folders, which must have the same data, and the runs not in them.

    Args:
        ignored: keys of options that make no other variant, in addition to UNRELATED_TO_RESULT.
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
    """Check that all runs have the same data."""
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
        Settings(run.choices, dict(zip(varying, key, strict=True))) for run, key in zip(first_runs, groups, strict=True)
    ]
    differences = _differences(settings)
    names = [_name(differs, run) for differs, run in zip(differences, first_runs, strict=True)]
    variants = []
    for place, repetitions in enumerate(groups.values()):
        number = f" ({names[: place + 1].count(names[place])})" if names.count(names[place]) > 1 else ""
        in_order = tuple(run for _, run in sorted(repetitions.items()))
        variants.append(Variant(names[place] + number, differences[place], in_order))
    return variants


def _options(config: dict[str, Any], ignored: Sequence[str]) -> dict[str, str]:
    """Return the options that affect the result as JSON by dotted path; paths in the run's folder become relative."""
    folder = f"{config.get('paths', {}).get('output_dir')}/"

    def portable(value: Any) -> Any:
        return value.removeprefix(folder) if isinstance(value, str) else value

    options = options_in(config, (*UNRELATED_TO_RESULT, "data.fold", *ignored))
    return {key: json.dumps(portable(value)) for key, value in options.items() if value != {}}


def _differences(variants: Sequence[Settings]) -> list[dict[str, str]]:
    """Return `Variant.differs` of each variant."""
    keys = variants[0].options
    varying = [name for name in GROUPS if len({variant.choices.get(name) for variant in variants}) > 1]
    groups = {name: GROUPS[name] for name in varying if any(is_within(key, [GROUPS[name]]) for key in keys)}
    differences = _describe(variants, groups)
    # experiment=… or model=linear
    presets = [[choices[group] for group in ("experiment", "model") if group in choices] for choices, _ in variants]
    if max(map(len, differences)) > MAX_NAME_ITEMS and all(presets):
        named = zip(variants, presets, strict=True)
        with_presets = [Settings({"experiment": " ".join(preset)}, variant.options) for variant, preset in named]
        return _describe(with_presets, {"experiment": ""})
    return differences


def _describe(variants: Sequence[Settings], groups: Mapping[str, str]) -> list[dict[str, str]]:
    """Return, for each variant, the choices in these groups and the options that the choices do not determine.

    Args:
        groups: group → dotted path below which the group sets options; "" for all options.
    """
    undetermined = []
    for key in variants[0].options:
        owners = [name for name, prefix in groups.items() if not prefix or is_within(key, [prefix])]
        values = {(tuple(choices.get(name) for name in owners), options[key]) for choices, options in variants}
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
        for choices, options in variants
    ]


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
    folds = np.repeat(np.arange(len(parts)), [len(part.labels) for part in parts])
    return Predictions(parts[0].split, probabilities, labels, parts[0].class_names, index), folds


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
