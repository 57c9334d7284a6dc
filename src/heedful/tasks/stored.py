"""A task in the files of runs and models: its name and its state, as JSON."""

from collections.abc import Container, Mapping
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from heedful.tasks.multiclass import Multiclass
from heedful.tasks.multilabel import Multilabel
from heedful.tasks.regression import Regression
from heedful.tasks.scores import ScoreType
from heedful.tasks.task import Task

DEFAULT = "multiclass"  # the task of files without a name of it, as of those of earlier versions
LATER = {"temperature": 1.0, "limits": ()}  # what files without them have
TASKS: dict[str, type[Task]] = {DEFAULT: Multiclass, "multilabel": Multilabel, "regression": Regression}


def read_task(value: Task | Mapping[str, Any]) -> Task:
    """Return the task that `write_task` has written."""
    if isinstance(value, Task):
        return value
    name = value.get("name", DEFAULT) if isinstance(value, Mapping) else None
    if not isinstance(name, str) or (cls := TASKS.get(name)) is None:
        raise ValueError(f"there is no task {name!r} in this version of Heedful")
    task: Task = TypeAdapter(cls).validate_python({key: own for key, own in value.items() if key != "name"})
    return task


def write_task(task: Task) -> dict[str, Any]:
    """Return the classes and the other state of a task and, unless it is `multiclass`, its name."""
    name = next(name for name, cls in TASKS.items() if type(task) is cls)
    state = {} if name == DEFAULT else {"name": name}
    return state | {key: value for key, value in asdict(task).items() if key not in LATER or value != LATER[key]}


# by name, which has the same meaning in all tasks
EVERY_SCORE: dict[str, ScoreType] = {name: score for cls in TASKS.values() for name, score in cls().scores.items()}
MAIN_SCORES = tuple(dict.fromkeys(cls().main_score for cls in TASKS.values()))


def find_main_score(metrics: Container[str], split: str) -> str:
    """Return the main score of the task whose metrics have these names, such as test/acc; acc if there are none."""
    return next((name for name in MAIN_SCORES if f"{split}/{name}" in metrics), MAIN_SCORES[0])


StoredTask = Annotated[Task, PlainValidator(read_task), PlainSerializer(write_task)]
