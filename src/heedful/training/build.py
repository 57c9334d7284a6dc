"""Create the objects that a configuration describes; no other module creates them."""

import logging
import math
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.overrides import TorchFunctionMode

from heedful.base.errors import UserError, is_size_error, name_file
from heedful.base.optional_packages import MissingExtra
from heedful.config.keys import default_metrics, plain_value
from heedful.config.mistakes import no_such
from heedful.config.places import PLACES, find_class
from heedful.config.schema import class_at, of_class, trusted_modules
from heedful.data.padded_batches import limited
from heedful.kernels.recurrence import has_lstm
from heedful.models.check import check_loss, is_foreign, require_output_dim
from heedful.models.classifier import Classifier
from heedful.models.columns import ColumnEmbedding
from heedful.models.embedding.segments import SegmentEmbedding
from heedful.models.loss import Loss
from heedful.runs.checkpoint import Card, read_checkpoint
from heedful.runs.folder import BEST, checkpoint_in
from heedful.tasks.labels import canonical
from heedful.tasks.task import Task
from heedful.training.optim.parameter_groups import parameter_groups, require_sparse_support

if TYPE_CHECKING:  # importing Lightning takes seconds; only training and evaluation need it
    import datasets
    import pytorch_lightning as pl
    from torchmetrics import Metric

    from heedful.data.source import Source

log = logging.getLogger(__name__)

# Single objects


def make(cfg: DictConfig, key: str, *args: Any, **kwargs: Any) -> Any:
    """Create the object that the node `cfg.<key>` describes, with `args` and `kwargs` as further arguments."""
    node = plain_value(cfg, key)
    if not isinstance(node, dict) or "_target_" not in node:
        raise UserError(f"{key}: is required: choose one with {key.replace('.', '/')}=…")
    if node.get("mode", "") is None:  # of a callback: `LitClassifier.setup` sets the direction of what it monitors
        del node["mode"]
    return _create(node, key, trusted_modules(cfg), args, kwargs)


def make_all(cfg: DictConfig, group: str) -> list[Any]:
    """Create the objects that the nodes of a group describe; nodes that are null are skipped."""
    nodes = cfg[group] or {}
    return [make(cfg, f"{group}.{name}") for name in nodes if nodes[name] is not None]


def _create(
    node: Any, path: str, trusted: Collection[str], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Create the object that a node describes, after the objects in its options; another value is returned unchanged.

    The configuration was validated before: it names only classes that are accepted at their places.
    """
    if isinstance(node, list):
        return [_create(item, f"{path}[{i}]", trusted) for i, item in enumerate(node)]
    if not isinstance(node, dict):
        return node
    options = {name: _create(value, f"{path}.{name}", trusted) for name, value in node.items() if name != "_target_"}
    if "_target_" not in node:
        return options
    with prefix_errors(path):
        return find_class(node["_target_"], trusted)(*args, **{**options, **(kwargs or {})})


@contextmanager
def prefix_errors(key: str) -> Iterator[None]:
    """Convert errors about options to a `UserError` whose message starts with the dotted path of a component."""
    try:
        yield
    except ValueError as error:
        raise UserError(f"{key}: {error}") from error
    except ImportError as error:
        remedy = "" if isinstance(error, MissingExtra) else "; install this package, or choose another option"
        raise UserError(f"{key}: {error}{remedy}") from error
    except Exception as error:
        if is_size_error(error):
            raise UserError(f"{key}: needs more memory than this machine has: choose smaller sizes") from error
        # Lightning's TypeError about devices of the CPU, and its RuntimeError about two equal callbacks
        is_trainer = key == "trainer" and type(error) in (TypeError, RuntimeError)
        is_refused = key.startswith("logger.") and type(error).__module__ != "builtins"  # by a server or a database
        is_wrong = type(error).__name__ == "MisconfigurationException"  # Lightning's, whose import takes seconds
        if not (is_wrong or is_trainer or is_refused):
            raise
        raise UserError(f"{key}: {error}") from error


# Model


def classifier(
    cfg: DictConfig, vocabulary: Sequence[str], num_logits: int, pairs: bool = False, features: int = 0
) -> Classifier:
    """Create the classifier of texts or pairs, with features of columns; components receive the size before them."""
    embedding = _component(cfg, "embedding", vocabulary)
    position = _component(cfg, "position", embedding.output_dim)
    encoder = _component(cfg, "encoder", position.output_dim)
    with prefix_errors("model.encoder"):
        encoder.bind(embedding)
    attention = _component(cfg, "attention", encoder.output_dim)
    attention.bind(vocabulary, num_logits)
    if OmegaConf.select(cfg, "model.sublayer._target_") is not None:
        attention = _component(cfg, "sublayer", encoder.output_dim, attention)
    with prefix_errors("model.position"):
        position.attach(encoder, attention)
    if OmegaConf.select(cfg, "model.normalizer._target_") is not None:
        normalizer = make(cfg, "model.normalizer")
        with prefix_errors("model.normalizer"):
            normalizer.attach(encoder, attention)
    pooling = _component(cfg, "pooling", attention.output_dim)
    head = _component(cfg, "head", pooling.output_dim, num_logits)
    has_branch = OmegaConf.select(cfg, "model.branch._target_") is not None
    branch = make(cfg, "model.branch", vocabulary, num_logits) if has_branch else None
    segments = SegmentEmbedding(embedding.output_dim) if pairs and not encoder.reads_segments else None
    columns = ColumnEmbedding(pooling.output_dim, features) if features else None
    return Classifier(embedding, position, encoder, attention, pooling, head, branch, segments, columns)


def _component(cfg: DictConfig, kind: str, *args: Any) -> Any:
    component = make(cfg, f"model.{kind}", *args)
    with name_file(f"model.{kind}"):
        require_output_dim(component)
    return component


def untrained_model(cfg: DictConfig, card: Card) -> tuple[Classifier, Loss]:
    """Create an untrained model for the vocabulary and classes of a card, and its loss."""
    created, codec = loss(cfg, card), card.codec
    model = classifier(cfg, codec.tokenizer.vocabulary, created.num_logits, codec.pairs, codec.features)
    if model.branch is not None:
        model.branch.bind(codec.task)
    return model, created


def loss(cfg: DictConfig, data: "Card | Source") -> Loss:
    """Create the loss for the classes of a card or of data."""
    created: Loss = make(cfg, "loss", data.class_counts, **_class_weights(cfg, data))
    return created


def rehearse(cfg: DictConfig, data: "Source") -> None:
    """Find mistakes that concern the classes or the vocabulary of data: create the loss, the metrics and the model.

    The model is created on the meta device, where it needs no memory.
    """
    from heedful.models.metrics import require_scores

    if is_foreign(trained := loss(cfg, data)):
        check_loss(trained, data.task)
    created = metrics(cfg, data.task)
    monitored = {str(node["monitor"]) for node in monitors(cfg).values()}
    if "val" in data.sizes:
        require_scores(monitored, created, np.asarray(data.tokenized("val").labels), data.task)
    require_directions(cfg, created, data.task)
    with on_meta_device():
        classifier(cfg, data.vocabulary, trained.num_logits, data.roles.are_pairs, data.codec.features)


def monitors(cfg: DictConfig) -> dict[str, dict[str, Any]]:
    """Return the nodes that monitor a logged value, by key: callbacks, and a scheduler that follows val/loss."""
    nodes = {f"callbacks.{name}": node for name, node in (plain_value(cfg, "callbacks") or {}).items() if node}
    if class_at(cfg, "scheduler") is ReduceLROnPlateau:
        nodes["scheduler"] = {"mode": "min", **plain_value(cfg, "scheduler"), "monitor": "val/loss"}
    return {key: node for key, node in nodes.items() if isinstance(node.get("monitor"), str)}


def require_directions(cfg: DictConfig, metrics: "Mapping[str, Metric]", task: Task) -> None:
    """Refuse a configured `mode` that selects the worst value, and its absence if no metric says what is better."""
    from heedful.models.metrics import direction, require_direction

    for key, node in monitors(cfg).items():
        monitor, mode, cls = node["monitor"], node.get("mode"), class_at(cfg, key)
        needs_mode = mode is None and cls is not None and "mode" in of_class(cls).options
        if needs_mode and direction(monitor, metrics, task) is None:
            reason = f"nothing says whether low or high values of {monitor} are better"
            raise UserError(f"{key}.mode: is required, because {reason}: write {key}.mode=min or {key}.mode=max")
        require_direction(key, mode, monitor, metrics, task)


def _class_weights(cfg: DictConfig, data: "Card | Source") -> dict[str, list[float]]:
    """Return options of the loss as lists that have the labels of classes as keys, or depend on the number of texts.

    Classes that are not named weigh 1.
    """
    names, options = data.codec.class_names, dict[str, list[float]]()
    for option in ("class_weights", "pos_weight"):
        weights = plain_value(cfg, f"loss.{option}")
        if isinstance(weights, dict):
            by_label = {canonical(str(label)): weight for label, weight in weights.items()}
            for label in by_label:
                if label not in names:
                    raise UserError(f"loss.{option}.{label}: {no_such('class', label, names)}")
            options[option] = [by_label.get(name, 1.0) for name in names]
        elif option == "pos_weight" and weights == "balanced":
            texts = data.texts if isinstance(data, Card) else data.sizes["train"]
            options[option] = [(texts - count) / max(count, 1) for count in data.class_counts]
    return options


# Metrics


def metrics(cfg: DictConfig, task: Task) -> "dict[str, Metric]":
    """Create the metrics of the group `cfg.metrics` but for those of other tasks, and those of a task of the user's."""
    from heedful.models.metrics import LoggedScore

    nodes, known = cfg.metrics or {}, default_metrics().keys()
    names = [str(name) for name, node in nodes.items() if node and name not in known - task.scores.keys()]
    own = [name for name in task.scores if name not in known and name not in names]
    return {name: metric(cfg, name, task) for name in names} | {name: LoggedScore(name, task) for name in own}


def metric(cfg: DictConfig, name: str, task: Task) -> "Metric":
    """Create the metric `cfg.metrics.<name>`: probabilities N×C and targets → a single number."""
    from torchmetrics.wrappers import LambdaInputTransformer

    key, num_classes, columns = f"metrics.{name}", len(task.classes), len(task.outputs)
    cls = class_at(cfg, key)
    accepted = of_class(cls).options if cls is not None else {}
    passed = {**task.metric_options(), "of": task}
    created: Metric = make(cfg, key, **{option: value for option, value in passed.items() if option in accepted})
    if num_classes == 2 and any("Binary" in base.__name__ for base in type(created).__mro__):
        created = LambdaInputTransformer(created, itemgetter((slice(None), 1)))  # N×2 → N, class 1
    if columns == 1 and "of" not in accepted:
        created = LambdaInputTransformer(created, itemgetter((slice(None), 0)))  # N×1 → N
    probabilities = torch.from_numpy(task.trial(max(columns, 2)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = created(probabilities, task.predicted(probabilities))
        created.reset()
    except (ValueError, RuntimeError, TypeError, IndexError, AttributeError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{key}: cannot score probabilities N×{columns} and labels N: {first}") from error
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        raise UserError(f"{key}: must return a single number: set an average, such as average=macro")
    return created


# Data, optimizer and Trainer


def datamodule(
    cfg: DictConfig,
    card: Card | None = None,
    whole: str | None = None,
    unknown_classes: str = "error",
    sets: "Mapping[str, datasets.Dataset] | None" = None,
    resumed: Card | None = None,
) -> "Source":
    """Create the data module, and tokenize and split its texts, so that vocabulary, classes and sizes are known.

    Args:
        card: of a trained model, whose tokenizer is used; None uses the one that `data` configures.
        whole, unknown_classes: as for `Source.score_whole`; without `whole`, the data are divided.
        sets: the data of each split, instead of those that `cfg.data` names.
        resumed: card of the training that resumes, which has the tokenizer of `init_from`.
    """
    data: Source = make(cfg, "data")
    if OmegaConf.select(cfg, "task._target_") is not None:
        data.task = make(cfg, "task")
    if sets is not None:
        data.opener.sets, data.opener.title = sets, "data"
    if card is None and cfg.get("init_from") is not None:
        codec = (resumed or read_checkpoint(checkpoint_in(cfg.init_from, BEST))[0]).codec
        codec.check(data.roles.are_pairs, f"init_from={cfg.init_from}")
        data.tokenizer = codec.tokenizer
    if card is not None:
        data.use_codec(card.codec)
        if whole is not None:
            data.score_whole(whole, card.class_counts, unknown_classes)
    data.setup("fit")
    return data


def optimizer(
    cfg: DictConfig, model: Classifier, precision: str = "32-true", clips_gradients: bool = False
) -> Optimizer:
    """Create the optimizer of all trained parameters; `cfg.param_groups` changes its options for components."""
    param_groups = {name: options or {} for name, options in (cfg.param_groups or {}).items()}  # null: no options
    with prefix_errors("param_groups"):
        groups = parameter_groups(model, param_groups)
    unfused = {}
    if cfg.optimizer.get("fused") and clips_gradients and "mixed" in precision:
        unfused = {"fused": False}  # Lightning cannot clip gradients in mixed precision for a fused optimizer
    created: Optimizer = make(cfg, "optimizer", groups, **unfused)
    epsilon = created.defaults.get("eps")
    if precision == "16-true" and epsilon and torch.tensor(epsilon).half() == 0:
        raise UserError(
            f"trainer.precision=16-true: optimizer.eps={epsilon} is 0 in half precision, so training would diverge: "
            "use 16-mixed or bf16-mixed, or a larger optimizer.eps"
        )
    require_sparse_support(model, created, clips_gradients)
    return created


def optimizers(cfg: DictConfig, model: Classifier, trainer: "pl.Trainer") -> dict[str, Any]:
    """Return Lightning's config of the optimizer and, if one is configured, of the scheduler."""
    created = optimizer(cfg, model, str(trainer.precision), bool(trainer.gradient_clip_val))
    if "_target_" not in cfg.scheduler:
        return {"optimizer": created}
    return {"optimizer": created, "lr_scheduler": scheduler(cfg, created, total_steps(trainer))}


def total_steps(trainer: "pl.Trainer") -> int:
    """Return the number of optimizer steps of the whole training; -1 if it is unlimited."""
    data: Any = trainer.datamodule  # type: ignore[attr-defined]
    if trainer.max_epochs == -1:  # Lightning's value if only max_steps is set
        return trainer.max_steps
    if data is None:  # with one, it would create the loaders before their position is restored from the checkpoint
        return int(trainer.estimated_stepping_batches)
    batches = limited(len(data.train_dataloader()), trainer.limit_train_batches)
    steps = math.ceil(batches / trainer.accumulate_grad_batches) * (trainer.max_epochs or 1)
    return min(steps, trainer.max_steps) if trainer.max_steps > 0 else steps


def scheduler(cfg: DictConfig, optimizer: Optimizer, steps: int) -> dict[str, Any]:
    """Return Lightning's config of the scheduler for this number of optimizer steps in the whole training."""
    names = PLACES["scheduler"].passed_to(class_at(cfg, "scheduler") or object)
    if names and steps < 0:
        raise UserError("scheduler: needs the number of steps: set trainer.max_epochs or trainer.max_steps")
    rates = [group["lr"] for group in optimizer.param_groups]
    values = {"max_lr": rates, "total_steps": steps, "total_iters": steps}
    created = make(cfg, "scheduler", optimizer, **{name: values[name] for name in names})
    if names:  # the others advance after every epoch
        return {"scheduler": created, "interval": "step"}
    # LitClassifier, not Lightning, steps a plateau scheduler
    return {"scheduler": created, "interval": "epoch", "reduce_on_plateau": False, "monitor": "val/loss"}


def trainer(cfg: DictConfig, watchers: "Sequence[pl.Callback]" = ()) -> "pl.Trainer":
    """Create the Trainer with the watchers, then the configured callbacks, and none that Lightning adds by default."""
    from pytorch_lightning.callbacks import Checkpoint, ModelSummary, ProgressBar
    from pytorch_lightning.plugins import TorchCheckpointIO

    from heedful.training.plugins import CheckpointWriter, NoProfiler

    if cfg.trainer.get("accelerator") in ("gpu", "cuda") and not torch.accelerator.is_available():
        raise UserError(
            f"trainer.accelerator={cfg.trainer.accelerator}: torch finds no GPU on this machine; choose trainer=cpu"
        )
    loggers, callbacks = make_all(cfg, "logger"), make_all(cfg, "callbacks")
    kinds = {"checkpointing": Checkpoint, "progress_bar": ProgressBar, "model_summary": ModelSummary}
    enabled = {f"enable_{name}": any(isinstance(of, kind) for of in callbacks) for name, kind in kinds.items()}
    options: dict[str, Any] = {"callbacks": [*watchers, *callbacks], "logger": loggers or False, **enabled}
    if cfg.trainer.get("precision") is None:
        options["precision"] = fast_precision(cfg)
    if cfg.trainer.get("profiler") is None:
        options["profiler"] = NoProfiler()
    created: pl.Trainer = make(cfg, "trainer", **options)
    if type(created.strategy.checkpoint_io) is TorchCheckpointIO:  # no other one is configured
        created.strategy.checkpoint_io = CheckpointWriter()
    return created


def train_without_validation(trainer: "pl.Trainer") -> None:
    """Let a Trainer train all epochs and keep the last one, because no texts are held out for validation."""
    from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint

    callbacks: list[Any] = trainer.callbacks  # type: ignore[attr-defined]
    trainer.callbacks = [callback for callback in callbacks if not isinstance(callback, EarlyStopping)]  # type: ignore[attr-defined]
    trainer.limit_val_batches = 0
    for callback in callbacks:
        if isinstance(callback, ModelCheckpoint) and callback.monitor is not None:
            callback.monitor, callback.mode = "epoch", "max"
    log.info("No texts are held out for validation, so all epochs are trained, and the last one is kept")


def fast_precision(cfg: DictConfig) -> str:
    """Return the mixed precision that makes training faster on this GPU, or an LSTM on this CPU; otherwise 32-true."""
    if cfg.trainer.accelerator in ("gpu", "cuda", "auto") and torch.cuda.is_available():
        return "bf16-mixed" if torch.cuda.is_bf16_supported(including_emulation=False) else "16-mixed"
    is_lstm = OmegaConf.select(cfg, "model.encoder.cell") == "lstm"
    return "bf16-mixed" if is_lstm and cfg.trainer.accelerator == "cpu" and has_lstm(torch.bfloat16) else "32-true"


# The meta device


class _NoDraws(TorchFunctionMode):
    """Leaves initial values undrawn: on the meta device, to draw from a normal distribution imports torch._dynamo."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        if func in (Tensor.normal_, nn.init.normal_):
            return args[0] if args else options["tensor"]
        return func(*args, **options)


@contextmanager
def on_meta_device() -> Iterator[None]:
    """Create tensors without memory in the block; an error of a component that needs real values ends it silently."""
    try:
        with torch.device("meta"), _NoDraws(), torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns that nothing is copied to the meta device
            yield
    except Exception as error:
        if isinstance(error, UserError) or is_size_error(error):
            raise
        log.debug("A component cannot be created on the meta device: %s", error)
