"""A configuration may create objects of one kind at each listed place, from trusted modules, and nowhere else."""

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import reduce
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import pytest
import pytorch_lightning as pl
import torch
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.profilers import Profiler
from pytorch_lightning.strategies import Strategy
from torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler import SubprocessHandler

from heedful.base.errors import UserError
from heedful.config.places import (
    PLACES,
    TRUSTED,
    TRUSTED_IN_CHECKPOINTS,
    Place,
    accepted_classes,
    find_class,
    object_class,
    place_at,
)
from heedful.config.schema import config_mistakes, validate_config
from heedful.data.tokenizer import TokenizerBuilder
from heedful.inference.api import with_data
from heedful.runs.checkpoint import read_checkpoint
from heedful.training import restoring
from tests.helpers import small_config

SHELL = f"{SubprocessHandler.__module__}.SubprocessHandler"


def shell_node(marker: Path) -> dict[str, Any]:
    """The node of an object that runs a shell command when it is created."""
    plain = {**dict.fromkeys(signature(SubprocessHandler).parameters), "env": {}, "local_rank_id": 0}
    return {"_target_": SHELL, **plain, "entrypoint": "/bin/sh", "args": ["-c", f"touch {marker}"]}


def test_the_shell_node_runs_its_command_if_it_is_created(tmp_path: Path) -> None:
    node = shell_node(tmp_path / "marker")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, _, name = str(node.pop("_target_")).rpartition(".")
        handler = getattr(import_module(module), name)(**node)
    handler.proc.wait()
    assert (tmp_path / "marker").exists()


@pytest.mark.parametrize(
    ("place", "target"),
    [
        ("optimizer", "torch.optim.Adam"),
        ("optimizer", "transformers.optimization.Adafactor"),
        ("scheduler", "torch.optim.lr_scheduler.OneCycleLR"),
        ("scheduler", "torch.optim.lr_scheduler.ReduceLROnPlateau"),
        ("metrics.any", "torchmetrics.classification.MulticlassAccuracy"),
        ("logger.any", "pytorch_lightning.loggers.CSVLogger"),
    ],
)
def test_each_place_accepts_only_classes_of_its_kind(place: str, target: str) -> None:
    kind = place_at(place).base_class  # type: ignore[union-attr]
    assert issubclass(object_class(target, place, TRUSTED, ()), kind)
    for other in {*PLACES} - {place.replace("any", "*")}:
        with pytest.raises(ValueError, match="is not a subclass of"):
            object_class(target, other.replace("*", "any"), TRUSTED, ())
    with pytest.raises(ValueError, match="is not a subclass of"):
        object_class(SHELL, place, TRUSTED, ())
    with pytest.raises(ValueError, match=r"not a trusted module|outside the modules"):
        object_class(target, place, TRUSTED_IN_CHECKPOINTS, ())


class Mode(Enum):
    A = 1


@pytest.mark.parametrize(
    ("hint", "kinds"),
    [
        (TokenizerBuilder, (TokenizerBuilder,)),
        (Optional[Profiler], (Profiler,)),  # noqa: UP045  # the notation of Lightning
        (str | Strategy, (Strategy,)),
        (list[Profiler | Strategy] | None, (Profiler, Strategy)),
        (Mapping[str, Profiler], (Profiler,)),
        (Annotated[Profiler, "x"], (Profiler,)),
        *((hint, ()) for hint in (int, float | None, str, bool, dict[str, int], Any, Path, Mode, Literal["a"], object)),
        *((hint, ()) for hint in (Callable[[Profiler], Profiler], type[Profiler], torch.Tensor, Sequence[Any], None)),
    ],
)
def test_the_annotation_of_an_option_determines_the_accepted_classes(hint: Any, kinds: tuple[type, ...]) -> None:
    assert accepted_classes(hint) == kinds


def find_mistakes(**config: Any) -> dict[str, str]:
    return dict(config_mistakes(OmegaConf.create(config), "train"))


def test_a_nested_object_is_accepted_if_the_option_requires_its_class() -> None:
    profiler = {"_target_": "pytorch_lightning.profilers.SimpleProfiler"}
    trainer = {"_target_": "pytorch_lightning.Trainer", "profiler": profiler}
    assert find_mistakes(trainer=trainer) == {}
    callback = {"_target_": "pytorch_lightning.callbacks.EarlyStopping", "monitor": "val/loss"}
    (message,) = find_mistakes(trainer={**trainer, "profiler": callback}).values()
    assert message == "is not a subclass of pytorch_lightning.profilers.profiler.Profiler, which is required here"
    plugins = [{"_target_": "pytorch_lightning.plugins.TorchCheckpointIO"}]
    assert find_mistakes(trainer={**trainer, "plugins": plugins}) == {}


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"data": {"_target_": "heedful.data.source.Source", "limit": {"_target_": SHELL}}}, "data.limit"),
        ({"tags": [{"_target_": SHELL}]}, "tags.0"),
        ({"extras": {"_target_": SHELL}}, "extras"),
        ({"a": {"_target_": SHELL}, "tags": "${a}"}, "tags"),
        ({"optimizer": {"_target_": "torch.optim.Adam", "betas": [{"_target_": SHELL}, 0]}}, "optimizer.betas.0"),
        ({"callbacks": {"_target_": SHELL}}, "callbacks"),
        ({"callbacks": {"x": {"y": {"_target_": SHELL}}}}, "callbacks.x.y"),
        ({"model": {"_target_": SHELL}}, "model"),
    ],
)
def test_an_object_at_another_place_is_refused(config: dict[str, Any], path: str) -> None:
    message = find_mistakes(**config)[f"{path}._target_={SHELL[:59]}…"]
    assert message == "cannot be an object: write a plain value"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("heedful.models.component.Attention", "is abstract: implement mix, weights"),
        ("heedful.models.attention.query.QueryAttention", "is abstract: implement score"),
        ("torch.nn.MultiheadAttention", "is not a subclass of heedful.models.component.Attention"),
    ],
)
def test_a_component_of_another_kind_is_refused(target: str, reason: str) -> None:
    assert find_mistakes(model={"attention": {"_target_": target}})[f"model.attention._target_={target}"].startswith(
        reason
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("StochasticWeightAveraging", "averages weights after the training"),
        ("ModelPruning", "renames the weights"),
        ("BackboneFinetuning", "freezes all of the backbone again when a training resumes"),
    ],
)
def test_a_callback_that_does_not_suit_a_run_is_refused(name: str, reason: str) -> None:
    path, target = "callbacks.mine", f"pytorch_lightning.callbacks.{name}"
    mistakes = find_mistakes(callbacks={"mine": {"_target_": target}})
    assert mistakes[f"{path}._target_={target}"].startswith(reason)


# The shell node at each leaf of a whole configuration or of a whole checkpoint is never created.


def leaves(node: Any, path: str = "") -> Iterator[str]:
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from leaves(value, f"{path}.{key}" if path else str(key))
    else:
        yield path


def with_node(config: dict[str, Any], path: str, node: Any) -> dict[str, Any]:
    """A copy of `config` with `node` at a dotted path."""
    key, _, rest = path.partition(".")
    return {**config, key: with_node(config[key], rest, node) if rest else node}


@pytest.fixture(scope="module")
def composed_config(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    cfg = small_config(tmp_path_factory.mktemp("composed_config") / "run")
    return OmegaConf.to_container(cfg, resolve=True)  # type: ignore[return-value]


def test_a_node_at_any_leaf_of_a_configuration_is_refused(composed_config: dict[str, Any], tmp_path: Path) -> None:
    node, marker = shell_node(tmp_path / "marker"), tmp_path / "marker"
    rounds: dict[int, list[str]] = {}  # a class that is refused hides those of the nodes in its own node
    for path in leaves(composed_config):
        rounds.setdefault(path.count(".") if path.endswith("_target_") else -1, []).append(path)
    assert sum(map(len, rounds.values())) > 120
    for paths in rounds.values():
        hostile = OmegaConf.create(reduce(lambda config, path: with_node(config, path, node), paths, composed_config))
        entries = [mistake.entry.partition("=")[0] for mistake in config_mistakes(hostile, "train")]
        assert {path if path.endswith("_target_") else f"{path}._target_" for path in paths} <= {*entries}
        with pytest.raises(UserError, match="_target_"):
            validate_config(hostile, "train")
    assert not marker.exists()


def test_a_node_at_any_leaf_of_a_card_is_never_created(checkpoint, tmp_path, monkeypatch) -> None:
    extras = small_config(tmp_path).extras
    cfg = OmegaConf.create({"extras": extras, "seed": 0, "data": {}, "ckpt_path": "hostile.ckpt"})
    card, content = read_checkpoint(checkpoint)
    node, marker = shell_node(tmp_path / "marker"), tmp_path / "marker"
    paths = [path for path in leaves(card.config) if path.split(".")[0] in ("model", "loss", "data")]
    paths.remove("data.cache_dir")  # not read from a checkpoint
    assert len(paths) > 40
    for path in paths:
        hostile = card.model_copy(update={"config": with_node(card.config, path, node)})
        monkeypatch.setattr("heedful.training.restoring.read_checkpoint", lambda _, card=hostile: (card, content))
        with pytest.raises(UserError, match="_target_"):
            if path.startswith("data."):
                with_data(cfg, hostile)
            else:
                restoring.restore("hostile.ckpt", extras)
    assert not marker.exists()


def test_the_shipped_classes_are_of_the_kinds_of_their_places(composed_config: dict[str, Any]) -> None:
    cfg: DictConfig = OmegaConf.create(composed_config)
    assert list(config_mistakes(cfg, "train")) == []
    assert place_at("callbacks.best_checkpoint").base_class is pl.Callback  # type: ignore[union-attr]
    assert place_at("callbacks.best_checkpoint.mode") is None


def test_the_error_of_a_module_that_cannot_be_imported_is_not_hidden(tmp_path, monkeypatch) -> None:
    (tmp_path / "kind_of_place").mkdir()
    (tmp_path / "kind_of_place" / "part.py").write_text("from os import Regex\nclass Part: ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="cannot import name 'Regex' from 'os'"):
        _ = Place("kind_of_place.part.Part").base_class


# The class that a `_target_` names.

TESTS = TRUSTED | {"tests"}


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("os.system", "os is not a trusted module; if you trust it, write extras.trusted_modules=[os]"),
        ("test.config.parts.Encoder", "test is not a trusted module (did you mean tests?)"),
        ("torch.os.system", "cannot be imported: No module named 'torch.os'"),
        ("torch.hub.load", "is not a class"),
        ("tests.config.parts.Sequence", "collections is not a trusted module"),
        ("tests.config.parts.Encodr", "tests.config.parts has no Encodr (did you mean Encoder?)"),
        ("tests.config.parts.Encoder.Inner", "cannot be imported: No module named 'tests.config.parts.Encoder'"),
        ("tests", "must be the dotted path of a class"),
        ("torch..nn", "must be the dotted path of a class"),
        (3, "must be the dotted path of a class"),
    ],
)
def test_other_targets_are_refused(target: object, message: str) -> None:
    with pytest.raises(ValueError) as error:
        find_class(target, TESTS)
    assert str(error.value).startswith(message)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a user's package, whose module `lame` imports a module that does not exist."""
    (tmp_path / "mine_of_tests").mkdir()
    (tmp_path / "mine_of_tests" / "__init__.py").write_text("class Mine: ...\n")
    (tmp_path / "mine_of_tests" / "lame.py").write_text("import nowhere_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "mine_of_tests"
    for name in [name for name in sys.modules if name.startswith("mine_of_tests")]:
        del sys.modules[name]


def test_a_package_of_the_user_is_imported_only_if_it_is_trusted(package: str) -> None:
    with pytest.raises(ValueError, match="not a trusted module"):
        find_class(f"{package}.Mine", TRUSTED)
    assert package not in sys.modules
    assert find_class(f"{package}.Mine", TRUSTED | {package}).__name__ == "Mine"
    with pytest.raises(ValueError, match="No module named 'nowhere_at_all'"):
        find_class(f"{package}.lame.Thing", TRUSTED | {package})
