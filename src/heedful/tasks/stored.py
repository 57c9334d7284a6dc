"""A task in the files of runs and models: its name and its state, as JSON."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from inspect import isabstract
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from heedful.base.errors import UserError
from heedful.config.places import find_class
from heedful.tasks.multiclass import Multiclass
from heedful.tasks.multilabel import Multilabel
from heedful.tasks.regression import Regression
from heedful.tasks.scores import ScoreType
from heedful.tasks.task import Task

DEFAULT = "multiclass"  # the task of files without a name of it, as of those of earlier versions
LATER = {"temperature": 1.0, "limits": (), "offset": 0.0}  # what files without them have
TASKS: dict[str, type[Task]] = {DEFAULT: Multiclass, "multilabel": Multilabel, "regression": Regression}
_trusted: ContextVar[Collection[str]] = ContextVar("trusted", default=())  # modules of the user's


@contextmanager
def trusting(modules: Collection[str]) -> Iterator[None]:
    """Let files name tasks of these modules of the user's within the block."""
    token = _trusted.set(modules)
    try:
        yield
    finally:
        _trusted.reset(token)


def read_task(value: Task | Mapping[str, Any]) -> Task:
    """Return the task that `write_task` has written."""
    if isinstance(value, Task):
        return value
    state = dict(value) if isinstance(value, Mapping) else {}
    path, name = state.pop("class", None), state.pop("name", DEFAULT)
    cls = TASKS.get(name) if isinstance(name, str) and path is None else _find_own(path)
    if cls is None:
        raise ValueError(f"there is no task {name!r} in this version of Heedful")
    task: Task = TypeAdapter(cls).validate_python(state)
    if len(set(task.classes)) < len(task.classes):
        raise ValueError("classes: two have the same name")
    return task


def _classes() -> list[Any]:
    """Return the tasks that this process has imported."""
    classes: list[Any] = [Task]
    for cls in classes:
        classes += cls.__subclasses__()
    return classes


def _find_own(path: Any) -> type[Task]:
    """Return a class of the user's: one that this process has imported already, or one in a trusted module.

    Raises:
        UserError: if no such class is trusted.
    """
    try:
        found: Any = next((cls for cls in _classes() if path == path_of(cls)), None) or find_class(path, _trusted.get())
    except ValueError as error:
        top = str(path).partition(".")[0]
        raise UserError(f"task {path}: {error} (compare and faithfulness: --trusted-modules {top})") from None
    if not issubclass(found, Task) or isabstract(found):
        raise ValueError(f"{path} is not a task that can be created")
    task: type[Task] = found
    return task


def path_of(cls: type) -> str:
    """Return the dotted path of a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


def write_task(task: Task) -> dict[str, Any]:
    """Return the classes and the other state of a task and, unless it is `multiclass`, its name or its class."""
    name = next((name for name, cls in TASKS.items() if type(task) is cls), None)
    state = {} if name == DEFAULT else {"class": path_of(type(task))} if name is None else {"name": name}
    return state | {key: value for key, value in asdict(task).items() if key not in LATER or value != LATER[key]}


def _scores() -> list[Mapping[str, ScoreType]]:
    """Return the scores of each task that this process has imported, those of Heedful first."""
    own = [cls for cls in _classes() if cls not in TASKS.values() and not isabstract(cls)]
    classes: list[Any] = [*TASKS.values(), *own]
    return [cls.scores if isinstance(cls.scores, Mapping) else cls().scores for cls in classes]  # or a property


def score_names() -> list[str]:
    return list(dict.fromkeys(name for scores in _scores() for name in scores))


def find_score(name: str) -> ScoreType | None:
    """Return the score of a name, which has the same meaning in all tasks; None if no task has it."""
    return next((scores[name] for scores in _scores() if name in scores), None)


def scores_of(names: Collection[str]) -> Mapping[str, ScoreType]:
    """Return the scores of the task that has most of the scores with these names."""
    return max(_scores(), key=lambda scores: len(scores.keys() & set(names)))


def find_main_score(metrics: Collection[str], split: str) -> str:
    """Return the main score of the task whose metrics have these names, such as test/acc; acc if there are none."""
    names = [name.partition("/")[2] for name in metrics if name.startswith(f"{split}/")]
    scores = scores_of(names)
    return next((name for name in scores if name in names), next(iter(scores)))


StoredTask = Annotated[Task, PlainValidator(read_task), PlainSerializer(write_task)]
