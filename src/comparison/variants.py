"""Runs that differ in their seed alone are one variant, named by what sets it apart from the others."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from src.comparison.runs import FinishedRun
from src.config.mistakes import format_value

GROUPS = {  # of the configuration, by the name of the choice, in the order in which a variant's name has them
    "data": "data",
    "tokenizer": "data.tokenizer",
    "embedding": "model.embedding",
    "position": "model.position",
    "encoder": "model.encoder",
    "attention": "model.attention",
    "pooling": "model.pooling",
    "head": "model.head",
    "loss": "loss",
    "optimizer": "optimizer",
    "scheduler": "scheduler",
    "trainer": "trainer",
    "callbacks": "callbacks",
}
BESIDE = (  # what decides nothing that a model learns; the data's content is compared by its fingerprint
    *("seed", "data.seed", "task_name", "tags", "train", "test", "ckpt_path", "paths", "logger", "extras", "sweep"),
    *("data.path", "data.train_path", "data.val_path", "data.test_path", "data.cache_dir"),
    *("data.progress", "data.on_device", "trainer.default_root_dir", "trainer.log_every_n_steps"),
    *("callbacks.attention", "callbacks.lexicon", "callbacks.gradient_norms", "callbacks.finite_loss"),
    *("callbacks.progress", "callbacks.parts_summary", "callbacks.last_checkpoint", "callbacks.pruning"),
)
LONGEST = 4  # parts of a name; where more differ, and each run had a preset, the preset's name stands for all


@dataclass(frozen=True)
class Variant:
    """One model, trained once for each seed."""

    name: str  # such as "bilstm · bahdanau"; unique in a comparison
    differs: dict[str, str]  # such as {"encoder": "bilstm", "attention": "bahdanau"}
    runs: tuple[FinishedRun, ...]  # by seed, each seed once

    @property
    def choices(self) -> dict[str, str]:
        """The option chosen in each config group; the same in all of its runs."""
        return self.runs[0].choices


def group(runs: Sequence[FinishedRun]) -> list[Variant]:
    """The variants, in the order in which they were started. Of runs that repeat a seed, the last started stays."""
    options = [_options(run.config) for run in runs]
    varying = [key for key in dict.fromkeys(key for held in options for key in held) if _vary(options, key)]
    alike: dict[tuple[str | None, ...], dict[int, FinishedRun]] = {}
    for run, held in sorted(zip(runs, options, strict=True), key=lambda pair: pair[0].result["started"]):
        alike.setdefault(tuple(held.get(key) for key in varying), {})[run.seed] = run
    firsts = [next(iter(seeds.values())) for seeds in alike.values()]
    values = [dict(zip(varying, key, strict=True)) for key in alike]
    differs = _differences(firsts, values)
    names = _unique([_name(said, first) for said, first in zip(differs, firsts, strict=True)])
    return [
        Variant(name, said, tuple(seeds[seed] for seed in sorted(seeds)))
        for name, said, seeds in zip(names, differs, alike.values(), strict=True)
    ]


def _options(config: dict[str, Any]) -> dict[str, str]:
    """What decides the outcome of a run, as JSON by dotted path."""
    return {key: json.dumps(_portable(value)) for key, value in _flat(config, "") if not _within(key, BESIDE)}


def _flat(node: Any, path: str) -> Iterable[tuple[str, Any]]:
    if not isinstance(node, dict):
        yield path, node
        return
    for key, value in node.items():
        yield from _flat(value, f"{path}.{key}" if path else str(key))


def _portable(value: Any) -> Any:
    """A file counts by its name: sweeps are copied from one machine to another."""
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _within(key: str, prefixes: Iterable[str]) -> bool:
    return any(key == prefix or key.startswith(f"{prefix}.") for prefix in prefixes)


def _vary(held: Sequence[dict[str, Any]], key: str) -> bool:
    return len({one.get(key) for one in held}) > 1


def _differences(runs: Sequence[FinishedRun], values: Sequence[dict[str, str | None]]) -> list[dict[str, str]]:
    """What sets each variant apart: chosen groups, and options that these do not account for."""
    varying = list(values[0])
    choices = [run.choices for run in runs]
    groups = {
        name: prefix
        for name, prefix in GROUPS.items()
        if _vary(choices, name) and any(_within(key, [prefix]) for key in varying)
    }
    said = _said(choices, values, groups)
    if max(map(len, said)) > LONGEST and all(held.get("experiment") not in (None, "None") for held in choices):
        return _said(choices, values, {"experiment": ""})
    return said


def _said(
    choices: Sequence[dict[str, str]], values: Sequence[dict[str, str | None]], groups: dict[str, str]
) -> list[dict[str, str]]:
    def accounted_for(key: str) -> bool:
        owners = [name for name, prefix in groups.items() if not prefix or _within(key, [prefix])]
        by_choice: dict[tuple[str | None, ...], set[str | None]] = {}
        for chosen, held in zip(choices, values, strict=True):
            by_choice.setdefault(tuple(chosen.get(name) for name in owners), set()).add(held[key])
        return all(len(found) == 1 for found in by_choice.values())

    rest = [key for key in values[0] if not accounted_for(key)]
    labels = _short(rest)
    return [
        {name: str(chosen[name]) for name in groups if name in chosen}
        | {labels[key]: format_value(json.loads(text)) for key in rest if (text := held[key]) is not None}
        for chosen, held in zip(choices, values, strict=True)
    ]


def _short(keys: Sequence[str]) -> dict[str, str]:
    """The end of each dotted path, as much of it as tells it from the others."""
    labels: dict[str, str] = {}
    for key in keys:
        parts = key.split(".")
        ends = (".".join(parts[-size:]) for size in range(1, len(parts) + 1))
        labels[key] = next(end for end in ends if sum(f".{other}".endswith(f".{end}") for other in keys) == 1)
    return labels


def _name(differs: dict[str, str], run: FinishedRun) -> str:
    if not differs:
        named = [run.choices[group] for group in ("encoder", "attention") if group in run.choices]
        return " · ".join(named) or str(run.result.get("task", run.folder.name))

    def part(key: str, value: str) -> str:
        if key not in GROUPS and key != "experiment":
            return f"{key}={value}"
        return f"no {key}" if value == "none" and key != "attention" else value

    return " · ".join(part(key, value) for key, value in differs.items())


def _unique(names: list[str]) -> list[str]:
    count, seen = Counter(names), Counter[str]()
    for at, name in enumerate(names):
        if count[name] > 1:
            seen[name] += 1
            names[at] = f"{name} ({seen[name]})"
    return names
