"""The LightningModule that trains a classifier."""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint, WeightAveraging
from torch import Tensor, nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torchmetrics import Metric

from heedful.base.errors import UserError, name_file
from heedful.config.keys import default_metrics, make_paths_absolute
from heedful.config.mistakes import nearest, no_such
from heedful.config.places import TRUSTED_OPTIMIZERS
from heedful.config.schema import validate_config
from heedful.data.padded_batches import Batch, Inputs
from heedful.data.source import Source
from heedful.kernels.device import HostCopy
from heedful.models.check import check_loss, check_model, is_foreign
from heedful.models.classifier import Classifier
from heedful.models.ensemble import Ensemble, Member
from heedful.models.loss import Loss
from heedful.models.metrics import LoggedScore, require_defined, require_direction, require_scores
from heedful.runs.checkpoint import Card
from heedful.runs.environment import Launch
from heedful.runs.folder import BEST, checkpoint_in
from heedful.runs.training_state import restore_training_state, training_state
from heedful.tasks.task import Task
from heedful.terms.confidence import learn_from_validation
from heedful.training import build, restoring
from heedful.training.branch_weight import BranchWeight
from heedful.training.callbacks.stop import end_together
from heedful.training.evaluator import Evaluator, require_batch
from heedful.training.loggers.options import log_options

CHECK_INTERVAL = 25  # batches between two checks of the loss, because each check waits for the device
log = logging.getLogger(__name__)
# The nodes of a configuration that a module and its optimizer have; a script has a Trainer of its own.
OPTIMIZATION = ("optimizer", "scheduler", "param_groups", "extras")
OWN = [*("seed", "data", "model", "task", "loss", "metrics", "calibrate", "init_from"), *OPTIMIZATION]


class Step(NamedTuple):
    """What a training step computes from the texts of a batch: scalar tensors on the device."""

    loss: Tensor  # mean over the texts, and the terms of the components, from which the gradients are computed
    sums: dict[str, Tensor]  # over the texts: of the loss, of the hits and of each term


class RunningMean(Metric):
    """The mean over texts of a quantity whose sum each step computes."""

    higher_is_better = None
    total: Tensor
    texts: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name in ("total", "texts"):
            self.add_state(name, torch.zeros(()), dist_reduce_fx="sum")

    def update(self, total: Tensor, texts: int) -> None:
        self.total += total
        self.texts += texts

    def compute(self) -> Tensor:
        return self.total / self.texts


class LitClassifier(Evaluator):
    """Trains and evaluates a `Classifier`.

    The card is the metadata of checkpoints; `hparams` is the configuration in it, and determines the optimizer.
    """

    def __init__(self, model: Classifier, loss: Loss, metrics: Mapping[str, Metric], card: Card) -> None:
        super().__init__(metrics)
        self.model = model
        self.loss = loss
        self.card = card
        self.save_hyperparameters(card.config, logger=False)  # `on_fit_start` logs them
        # of a training epoch, whose states are saved if a checkpoint is written within it
        self.means: Any = nn.ModuleDict(
            {name: RunningMean() for name in ("loss", *self.task.trained, *model.auxiliary_names)}
        )
        # a validation overwrites them in place, so that steps that are recorded as CUDA graphs remain right
        self.thresholds: Tensor
        self.register_buffer("thresholds", torch.tensor(self.task.applied_thresholds), persistent=False)
        self.run_step: Callable[[Inputs, Tensor], Step] | None = None  # a faster equivalent of `compute_step`
        self._losses_to_check: list[tuple[int, HostCopy]] = []  # with the numbers of their batches
        self._logged_epoch: int | None = None  # the last epoch whose training metrics Lightning knows
        self.is_validated = False  # whether a validation ran since the last training epoch ended
        self._validated_step: int | None = None  # the step after which the texts in `evaluated` were validated
        self.branch_weight = BranchWeight(self, keeps_logits=type(self) is LitClassifier)

    @classmethod
    def untrained(cls, cfg: DictConfig, card: Card, **options: Any) -> Self:
        """Create a module with random weights, before `initialize` or the weights of a checkpoint."""
        model, loss = build.untrained_model(cfg, card)
        card = card.with_options(model.description_options())
        return cls(model, loss, build.metrics(cfg, card.codec.task), card, **options)

    @classmethod
    def from_config(cls, cfg: DictConfig, data: Source, **options: Any) -> Self:
        """Create a module for training on a source, such as `datamodule(cfg)`, with the options of a subclass."""
        data.setup()
        config = make_paths_absolute(OmegaConf.to_container(OmegaConf.masked_copy(cfg, OWN), resolve=True))
        config["choices"] = Launch(by_group=cfg.get("choices") or {}).choices(config)
        module = cls.untrained(cfg, Card.of(config, data), **options)
        module.initialize(data)
        return module

    @classmethod
    def load_from_checkpoint(  # type: ignore[override]
        cls,
        checkpoint_path: str | Path,
        map_location: torch.device | str | None = "cpu",
        *,
        strict: bool | None = True,
        weights_only: bool | None = True,
        trusted_modules: Sequence[str] = (),
        **options: Any,
    ) -> Self:
        """Load a trained module, which predicts, and can be trained further: `lr` and the other options are its own.

        The file may come from anyone: only weights and the card are read. The metrics are the default ones.

        Args:
            checkpoint_path: such as best.ckpt or last.ckpt; or the folder of a run, whose best checkpoint is loaded.
            strict, weights_only: for Lightning's users; without effect, because the checkpoint describes the model, and
                only weights are read.
            trusted_modules: names of your own packages whose classes the checkpoint may name.
            options: further arguments of the constructor of a subclass, which the checkpoint does not contain.
        """
        if not isinstance(map_location, torch.device | str | None):
            raise UserError(f"load_from_checkpoint: map_location={map_location!r}: name a device, such as 'cpu'")
        try:
            signature(cls).bind("model", "loss", "metrics", "card", **options)
        except TypeError as error:
            raise UserError(
                f"load_from_checkpoint: {error}: the checkpoint contains the model and its configuration, and only "
                "further arguments of a subclass's constructor are passed on; change the module that is loaded, as in "
                "module.lr = 0.01"
            ) from None
        extras = {"trusted_modules": list(trusted_modules)}
        path, card, model, loss = restoring.restore(str(checkpoint_in(checkpoint_path, BEST)), OmegaConf.create(extras))
        card.config["extras"] = extras  # a checkpoint must not declare modules as trusted
        training = card.cfg(*OPTIMIZATION)
        with name_file(path):
            validate_config(training, trusted=TRUSTED_OPTIMIZERS)
        metrics = build.metrics(OmegaConf.create({"metrics": default_metrics()}), card.codec.task)
        return cls(model, loss, metrics, card, **options).to(map_location)

    def initialize(self, data: Source, device: torch.device | str = "cpu") -> None:
        """Load pretrained weights, check the user's own components on `device`, and fit the branch to the texts."""
        codec, size = self.card.codec, len(self.card.codec.tokenizer.vocabulary)
        self.model.load_pretrained()
        if (path := self.card.config.get("init_from")) is not None:
            self.start = restoring.take_weights(self.model, self.card, path)
        check_model(self.model, size, self.loss.num_logits, codec.max_length, torch.device(device))
        if is_foreign(self.loss):
            check_loss(self.loss, self.task)
        if self.model.branch is not None:
            held_out = data.builder("val") if "val" in data.sizes else None
            self.model.branch.fit(data.builder("train"), held_out, self.loss)

    @property
    def task(self) -> Task:
        return self.card.codec.task

    @task.setter
    def task(self, task: Task) -> None:
        codec = self.card.codec.model_copy(update={"task": task})
        self.card = self.card.model_copy(update={"codec": codec})
        for metric in self.metrics.values():
            if isinstance(metric, LoggedScore):
                metric.task = task
        self.thresholds.copy_(torch.tensor(task.applied_thresholds))

    @property
    def lr(self) -> float:
        """The learning rate of the next training, `optimizer.lr` in `hparams`."""
        rate: float = self.hparams["optimizer"]["lr"]
        return rate

    @lr.setter
    def lr(self, rate: float) -> None:
        self.hparams["optimizer"]["lr"] = rate  # also in the configuration of the card

    @property
    def backbone(self) -> nn.Module:
        """The components before the attention, for Lightning's `BackboneFinetuning`."""
        return nn.ModuleList([self.model.embedding, self.model.position, self.model.encoder])

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers that can be averaged, as Lightning's `WeightAveraging` does; codes and flags cannot."""
        return (part for part in super().buffers(recurse) if part.is_floating_point() and part is not self.thresholds)

    def forward(self, inputs: Inputs, *further: Tensor) -> Tensor:
        """Return the logits of texts, N×num_logits.

        `card.codec.builder(texts)` encodes texts, and `task.probabilities` converts logits to probabilities N×C. As
        Lightning passes a tuple of `example_input_array`, the parts of the inputs may be arguments.
        """
        logits: Tensor = self.model(Inputs(inputs, *further) if further else inputs)  # type: ignore[arg-type]
        return logits

    @property
    def example_input_array(self) -> Any:
        """A batch or its inputs, with which Lightning summarizes the model and loggers draw it."""
        return self._example_input_array

    @example_input_array.setter
    def example_input_array(self, example: Any) -> None:
        inputs = example.inputs if isinstance(example, Batch) else example
        while isinstance(inputs, tuple) and inputs[-1] is None:  # a graph has tensors alone
            inputs = tuple(inputs[:-1])
        self._example_input_array = inputs

    def predict_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> dict[str, Tensor]:
        """Return `probabilities` N×C, `predicted` N, `labels` N (-1: unknown) and `index` N, the place in the split."""
        require_batch(batch)
        probabilities = self.task.probabilities(self.logits(batch)).float()
        predicted = self.task.predicted(probabilities)
        return {"probabilities": probabilities, "predicted": predicted, "labels": batch.targets, "index": batch.index}

    def ensemble(self) -> Ensemble:
        return Ensemble([Member("", self.card, self.model, self.loss)])

    def compute_step(self, inputs: Inputs, targets: Tensor) -> Step:
        """Return the loss of a batch without its gradients."""
        logits = self(inputs)
        loss = self.loss(logits, self.task.scaled(targets))
        terms = self.model.take_auxiliary_losses()
        sums = {name: term.detach().repeat(len(targets)).sum() for name, term in {"loss": loss, **terms}.items()}
        return Step(
            sum(terms.values(), loss), {**sums, **self.task.training_sums(logits.detach(), targets, self.thresholds)}
        )

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        require_batch(batch)
        self._texts = len(batch.targets)
        loss, sums = (self.run_step or self.compute_step)(batch.inputs, batch.targets)
        if self._logged_epoch != self.current_epoch:  # once an epoch, because log() takes a millisecond
            self._logged_epoch = self.current_epoch
            for name, mean in self.means.items():
                self.log(f"train/{name}", mean, on_step=False, on_epoch=True, prog_bar=True, logger=False)
        for name, total in sums.items():
            self.means[name].update(total, len(batch.targets))
        # Lightning divides the loss by the size of a group of batches, also in the last, smaller group of an epoch
        group, batches = self.trainer.accumulate_grad_batches, int(self.trainer.num_training_batches)
        number, remainder = self.trainer.fit_loop.epoch_loop.batch_progress.current.ready, batches % group
        return loss * group / remainder if number > batches - remainder else loss

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Stop the training if a loss of this epoch was NaN or infinite.

        So that a GPU and the host do not wait for each other, a copy of the loss is read at the check after it.
        """
        is_last = self.trainer.fit_loop.epoch_loop.batch_progress.is_last_batch
        is_last = is_last or self.trainer.global_step == self.trainer.max_steps
        if not is_last and batch_idx % CHECK_INTERVAL:
            return
        total = self.trainer.strategy.reduce(self.means["loss"].total.clone())  # of all processes
        self._losses_to_check.append((batch_idx, HostCopy(total)))
        while len(self._losses_to_check) > (total.is_cuda and not is_last):
            number, copy = self._losses_to_check.pop(0)
            if not math.isfinite(loss := copy.value()):
                reason = f"the loss became {loss} by batch {number + 1} of epoch {self.current_epoch + 1}"
                remedy = "try a smaller optimizer.lr or trainer.gradient_clip_val=1.0"
                end_together(self.trainer, UserError(f"{reason}, so training stopped; {remedy}"))

    def known_logits(self, number: int, loader: int, batch: Batch) -> Tensor | None:
        is_known = self.trainer.state.fn == "fit" and not loader
        return self.branch_weight.known_logits(number, batch) if is_known else None

    def on_validation_epoch_start(self) -> None:
        if self.branch_weight.is_chosen and self.trainer.state.fn == "fit":
            self.branch_weight.choose()  # of averaged weights, which Lightning's callbacks have set by now
        super().on_validation_epoch_start()

    def learn(self) -> None:
        if self.trainer.state.fn == "fit":
            self.task = self.task.fit(self.evaluated["probabilities"], self.evaluated["labels"])

    def on_validation_epoch_end(self) -> None:
        super().on_validation_epoch_end()
        is_fit = self.trainer.state.fn == "fit"
        if is_fit and not self.trainer.sanity_checking:
            undefined = {name for name, value in self.scores.items() if math.isnan(value)}
            monitored = undefined.intersection(watcher.monitor for watcher in self.monitoring())
            require_defined(monitored, self.evaluated["labels"], self.task)
        self.is_validated = True
        self._validated_step = self.trainer.global_step if is_fit else None

    def on_fit_start(self) -> None:
        """Log the hyperparameters, and refuse a training that would monitor a score without a value."""
        self._logged_epoch, self._losses_to_check = None, []
        self.branch_weight.start()
        log_options(self.trainer.loggers, dict(self.hparams))
        data = self.trainer.datamodule  # type: ignore[attr-defined]
        if isinstance(data, Source) and "val" in data.sizes:
            labels = np.asarray(data.tokenized("val").labels)
            require_scores({watcher.monitor for watcher in self.monitoring()}, self.metrics, labels, self.task)
        for config in self.trainer.lr_scheduler_configs:
            if isinstance(scheduler := config.scheduler, ReduceLROnPlateau) and config.monitor is not None:
                self._require_direction(scheduler, config.monitor)

    def setup(self, stage: str) -> None:
        """Let callbacks follow the direction of what they monitor, before their states are restored.

        Lightning's default `mode` is min, and nothing tells whether it was chosen; max was.
        """
        self.branch_weight.network_loss = math.inf
        names = ["val/loss", *(f"val/{name}" for name in self.metrics), *(f"train/{name}" for name in self.means)]
        for callback in self.monitoring() if stage == "fit" else ():
            monitor = callback.monitor
            if type(self) is LitClassifier and monitor not in names and nearest(monitor, names):
                raise UserError(f"{type(callback).__name__}: monitor={monitor}: {no_such('metric', monitor, names)}")
            is_known = isinstance(callback, EarlyStopping | ModelCheckpoint)
            if is_known and callback.mode == "min" and self.direction(monitor) == "max":
                callback.mode = "max"
                for name in {"best_score", "kth_value", "min_delta"} & vars(callback).keys():
                    setattr(callback, name, -getattr(callback, name))
            self._require_direction(callback, monitor)

    def _require_direction(self, owner: Any, monitor: str) -> None:
        require_direction(type(owner).__name__, getattr(owner, "mode", None), monitor, self.metrics, self.task)

    def configure_optimizers(self) -> Any:
        return build.optimizers(self.card.cfg(*OPTIMIZATION), self.model, self.trainer)

    def on_train_epoch_end(self) -> None:
        for config in self.plateaus():
            value = self.trainer.callback_metrics.get(str(config.monitor))
            is_new = self.is_validated or not str(config.monitor).startswith("val/")
            if value is not None and is_new and (self.current_epoch + 1) % config.frequency == 0:
                config.scheduler.step(value)
        self.is_validated = False
        # Lightning would log them after it has saved the checkpoint from which the next epoch resumes
        metrics = {
            key: float(value) for key, value in self.trainer.callback_metrics.items() if key.startswith("train/")
        }
        for logger in self.trainer.loggers:
            logger.log_metrics({"epoch": self.current_epoch, **metrics}, self.trainer.global_step - 1)
            logger.save()

    def lr_scheduler_step(self, scheduler: Any, metric: Any | None) -> None:
        if scheduler not in [config.scheduler for config in self.plateaus()]:
            super().lr_scheduler_step(scheduler, metric)

    def plateaus(self) -> list[Any]:
        """Return the schedulers that `on_train_epoch_end` steps; Lightning would do so after it has saved last.ckpt."""
        configs: list[Any] = self.trainer.lr_scheduler_configs
        return [of for of in configs if isinstance(of.scheduler, ReduceLROnPlateau) and of.interval == "epoch"]

    def on_train_end(self) -> None:
        self.task = self._task_of_validation()
        if self.card.config.get("calibrate") and self._validated_step != self.trainer.global_step:
            log.warning("calibrate=true: the last weights were not validated, so they have no temperature")

    def _task_of_validation(self) -> Task:
        """Return the task with what the validation of the present weights says about single predictions."""
        if self._validated_step != self.trainer.global_step:
            return self.task
        data = self.trainer.datamodule  # type: ignore[attr-defined]
        groups = data.groups("val") if isinstance(data, Source) else None
        probabilities, targets, rows = (self.evaluated[name] for name in ("probabilities", "labels", "index"))
        of_rows, calibrates = None if groups is None else groups[rows], bool(self.card.config.get("calibrate"))
        return learn_from_validation(self.task, probabilities, targets, of_rows, calibrates)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        for key in (self.CHECKPOINT_HYPER_PARAMS_KEY, self.CHECKPOINT_HYPER_PARAMS_NAME):
            checkpoint.pop(key, None)  # the card has them
        applied, self.task = self.task, self._task_of_validation()
        checkpoint |= self.card.content()
        self.task = applied
        if "optimizer_states" not in checkpoint:  # only the model is saved
            callbacks: list[Any] = self.trainer.callbacks  # type: ignore[attr-defined]
            averagings = [callback for callback in callbacks if isinstance(callback, WeightAveraging)]
            for callback in averagings:  # Lightning saves the average in other checkpoints only
                callback.on_save_checkpoint(self.trainer, self, checkpoint)
                for key in ("current_model_state", "averaging_state"):
                    checkpoint.pop(key, None)
            return
        checkpoint |= training_state(self.trainer, self.means)
        checkpoint["network_loss"] = self.branch_weight.network_loss

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        if self.trainer.state.fn == "fit" and "processes" in checkpoint:  # Lightning reports that it is absent
            restore_training_state(checkpoint, self.trainer, self.means)
            self.branch_weight.network_loss = checkpoint.get("network_loss", math.inf)
