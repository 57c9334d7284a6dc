"""The LightningModule of a classifier (training, evaluation, metrics)."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torchmetrics import MeanMetric, Metric
from torchmetrics.classification import MulticlassAccuracy

from heedful.base.errors import UserError
from heedful.base.formatting import format_names
from heedful.data.padded_batches import Batch, limited
from heedful.models.classifier import Classifier
from heedful.models.ensemble import Ensemble, Member
from heedful.models.loss import Loss
from heedful.models.metrics import LoggedScore
from heedful.runs.checkpoint import Card
from heedful.runs.training_state import require_same_parameters, restore_callbacks
from heedful.training.callbacks.stop import end_together

CHECK_INTERVAL = 25  # batches between two checks of the loss, because each check waits for the device
RUNNING = ("train_acc", "train_loss")  # metrics whose states are saved if a checkpoint is written within an epoch

MakeOptimizers = Callable[[Classifier, int], dict[str, Any]]


class LitClassifier(pl.LightningModule):
    """Trains and evaluates a `Classifier`.

    Args:
        loss: the training loss, which also converts logits to probabilities.
        metrics: metrics of validation and test by name, each of which is computed once from all texts.
        card: metadata for checkpoints.
        make_optimizers: creates Lightning's config of the optimizer and the scheduler from the model and the total
            number of optimizer steps; None for a model that is only evaluated.
    """

    def __init__(
        self,
        model: Classifier,
        loss: Loss,
        metrics: Mapping[str, Metric],
        card: Card,
        make_optimizers: MakeOptimizers | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.loss = loss
        self.card = card
        self.make_optimizers = make_optimizers
        self.train_acc = MulticlassAccuracy(len(card.class_counts), average="micro", validate_args=False)
        self.train_loss = MeanMetric(nan_strategy="disable")  # a check for NaN would wait for the device
        self.metrics = dict(metrics)  # a plain dict, because they stay on the CPU
        self.scores: dict[str, float] = {}  # the last value of each metric, by names such as val/acc; NaN if undefined
        # the texts of the last evaluation, in the order of the split: n×C probabilities, n labels, n index
        self.evaluated: dict[str, np.ndarray] = {}
        self._batches: list[dict[str, Tensor]] = []  # of the present evaluation in this process
        self._losses: list[Tensor] = []  # of these batches, summed over the texts
        self._optimizer_states: list[dict[str, Any]] = []  # of the checkpoint from which training resumes
        self._logged_epoch: int | None = None  # the last epoch whose training metrics Lightning knows
        self.is_validated = False  # whether a validation ran since the last training epoch ended

    def logits(self, batch: Batch) -> Tensor:
        """Return the logits of a batch for validation or test, N×num_logits."""
        return self.model(batch.tokens, batch.mask)

    def ensemble(self) -> Ensemble:
        """Return the model with its tokenizer, which classifies texts and shows the attention weight of each word."""
        return Ensemble([Member("", self.card, self.model, self.loss)])

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        logits = self.model(batch.tokens, batch.mask)
        loss = self.loss(logits, batch.labels)
        if self._logged_epoch != self.current_epoch:  # once an epoch, because log() takes a millisecond
            self._logged_epoch = self.current_epoch
            for name, metric in (("loss", self.train_loss), ("acc", self.train_acc)):
                self.log(f"train/{name}", metric, on_step=False, on_epoch=True, prog_bar=True, logger=False)
        self.train_acc.update(self.loss.probabilities(logits.detach()), batch.labels)
        self.train_loss.update(loss.detach().expand(len(batch.labels)))  # "disable" ignores the argument `weight`
        # Lightning divides the loss by the size of a group of batches, also in the last, smaller group of an epoch
        group, batches = self.trainer.accumulate_grad_batches, int(self.trainer.num_training_batches)
        number, remainder = self.trainer.fit_loop.epoch_loop.batch_progress.current.ready, batches % group
        return loss * group / remainder if number > batches - remainder else loss

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Stop the training if a loss of this epoch was NaN or infinite."""
        is_last = self.trainer.fit_loop.epoch_loop.batch_progress.is_last_batch
        is_last = is_last or self.trainer.global_step == self.trainer.max_steps
        if not is_last and batch_idx % CHECK_INTERVAL:
            return
        loss = float(self.trainer.strategy.reduce(self.train_loss.mean_value.clone()))  # of all processes
        if not math.isfinite(loss):
            reason = f"the loss became {loss} by batch {batch_idx + 1} of epoch {self.current_epoch + 1}"
            remedy = "try a smaller optimizer.lr or trainer.gradient_clip_val=1.0"
            end_together(self.trainer, UserError(f"{reason}, so training stopped; {remedy}"))

    def on_validation_start(self) -> None:
        """In training, choose the weight of the branch with the lowest loss, unless the configuration sets it."""
        branch = self.model.branch
        if branch is None or not branch.chooses_weight or self.trainer.state.fn != "fit":
            return
        weights = torch.linspace(0, 1, 21, device=self.device)
        losses = torch.zeros_like(weights)
        for batch in self.trainer.datamodule.val_dataloader():  # type: ignore[attr-defined]
            _, _, labels, _ = batch = self.trainer.strategy.batch_to_device(batch)
            parts = self.model.separate_logits(batch.tokens, batch.mask)
            losses += len(labels) * torch.stack([self.loss(torch.lerp(*parts, weight), labels) for weight in weights])
        branch.weight.copy_(weights[self.trainer.strategy.reduce(losses, reduce_op="sum").argmin()])

    def on_validation_epoch_start(self) -> None:
        self._batches, self._losses = [], []  # an evaluation that was interrupted leaves batches

    on_test_epoch_start = on_validation_epoch_start

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        logits = self.logits(batch)
        probabilities = self.loss.probabilities(logits).float()
        self._batches.append({"probabilities": probabilities, "labels": batch.labels, "index": batch.index})
        self._losses.append(self.loss(logits, batch.labels) * len(batch.labels))

    test_step = validation_step

    def on_validation_epoch_end(self) -> None:
        self._log_metrics("val")
        self.is_validated = True

    def on_test_epoch_end(self) -> None:
        self._log_metrics("test")

    def _log_metrics(self, stage: str) -> None:
        texts = sum(len(batch["index"]) for batch in self._batches)
        total = torch.stack([sum(self._losses, torch.zeros((), device=self.device)), self._losses[0].new_tensor(texts)])
        loss, count = self.trainer.strategy.reduce(total, reduce_op="sum")
        self.log(f"{stage}/loss", loss / count, prog_bar=True, logger=self._uses_loggers)
        self.evaluated = self._collect()
        probabilities, labels = (torch.from_numpy(self.evaluated[name]) for name in ("probabilities", "labels"))
        values = {}
        for name, metric in self.metrics.items():
            values[f"{stage}/{name}"] = float(metric(probabilities, labels))  # of these texts, in this process alone
            metric.reset()
        self.scores |= values
        undefined = [name for name, value in values.items() if math.isnan(value)]
        if self.trainer.state.fn == "fit" and not self.trainer.sanity_checking:
            self._require_defined(undefined, self.evaluated["labels"])
        defined = {name: value for name, value in values.items() if name not in undefined}
        self.log_dict(defined, logger=self._uses_loggers)

    def _collect(self) -> dict[str, np.ndarray]:
        """Return the texts that all processes evaluated, each once, in the order of the split."""
        columns = {name: torch.cat([batch[name] for batch in self._batches]).cpu().numpy() for name in self._batches[0]}
        self._batches = []
        if self.trainer.world_size > 1:
            shards: list[Any] = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(shards, columns)
            columns = {name: np.concatenate([shard[name] for shard in shards]) for name in columns}
        rows = np.unique(columns["index"], return_index=True)[1]
        return {name: values[rows] for name, values in columns.items()}

    def on_fit_start(self) -> None:
        """Prepare for another training, and refuse one that would monitor a score without a value."""
        self._logged_epoch = None
        scores = {f"val/{name}": each.score for name, each in self.metrics.items() if isinstance(each, LoggedScore)}
        if monitored := self._monitors() & scores.keys():
            labels = np.asarray(self.trainer.datamodule.tokenized("val").labels)  # type: ignore[attr-defined]
            uniform = np.full((len(labels), len(self.card.class_counts)), 1 / len(self.card.class_counts))
            self._require_defined([name for name in monitored if scores[name].terms(uniform, labels) is None], labels)

    def _monitors(self) -> set[str]:
        callbacks: list[Any] = self.trainer.callbacks  # type: ignore[attr-defined]
        return {callback.monitor for callback in callbacks if isinstance(getattr(callback, "monitor", None), str)}

    def _require_defined(self, undefined: Iterable[str], labels: np.ndarray) -> None:
        """Refuse callbacks that monitor a metric that has no value on these validation labels."""
        absent = [name for c, name in enumerate(self.card.codec.class_names) if c not in labels]
        reason = f", because no validation text has the class {format_names(absent)}" if absent else ""
        for name in self._monitors().intersection(undefined):
            raise UserError(
                f"{name} is monitored, but it is undefined{reason}: monitor another metric, such as val/loss "
                "(callbacks.best_checkpoint.monitor, callbacks.early_stopping.monitor)"
            )

    def lower_is_better(self) -> tuple[str, ...]:
        """Return the names of the metrics of which lower values are better; a wrapper is what the metric in it is."""
        parts = {
            name: [part for part in each.modules() if isinstance(part, Metric)] for name, each in self.metrics.items()
        }
        return tuple(name for name, metrics in parts.items() if metrics[-1].higher_is_better is False)

    @property
    def _uses_loggers(self) -> bool | None:
        """False in the validation of the best checkpoint after training, which is no point of the curves."""
        is_repeated = self.trainer.state.fn == "validate" and self.trainer.global_step > 0
        return False if is_repeated else None  # None: if there are loggers

    def configure_optimizers(self) -> Any:
        assert self.make_optimizers is not None
        config = self.make_optimizers(self.model, _total_steps(self.trainer))
        for state in self._optimizer_states:
            require_same_parameters(config["optimizer"], state)
        return config

    def on_train_epoch_end(self) -> None:
        for config in self.trainer.lr_scheduler_configs:
            if isinstance(config.scheduler, ReduceLROnPlateau) and self.is_validated:
                config.scheduler.step(self.trainer.callback_metrics["val/loss"])
        self.is_validated = False
        # Lightning would log them after it has saved the checkpoint from which the next epoch resumes
        metrics = {
            key: float(value) for key, value in self.trainer.callback_metrics.items() if key.startswith("train/")
        }
        for logger in self.trainer.loggers:
            logger.log_metrics({"epoch": self.current_epoch, **metrics}, self.trainer.global_step - 1)
            logger.save()

    def lr_scheduler_step(self, scheduler: Any, metric: Any | None) -> None:
        """Step any scheduler except ReduceLROnPlateau, which `on_train_epoch_end` steps."""
        if not isinstance(scheduler, ReduceLROnPlateau):
            scheduler.step()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint |= self.card.content()
        if "optimizer_states" not in checkpoint:  # only the model is saved
            return
        checkpoint["should_stop"] = self.trainer.should_stop
        state: dict[str, Any] = {"cpu": torch.get_rng_state(), "running": {}}
        if (device := self.trainer.strategy.root_device).type == "cuda":
            state["cuda"] = torch.cuda.get_rng_state(device)
        if not self.trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:  # within an epoch
            metrics = {name: getattr(self, name).metric_state for name in RUNNING}
            state["running"] = {
                name: {key: value.cpu() for key, value in values.items()} for name, values in metrics.items()
            }
        checkpoint["processes"] = [state]
        if self.trainer.world_size > 1:
            checkpoint["processes"] = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(checkpoint["processes"], state)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the state of this process: the random state and the metrics of the texts that it has trained on.

        Each process draws other random numbers and trains on other texts. If the number of processes has changed, which
        is allowed between two epochs, no metrics are stored, and further processes repeat the random states.
        """
        restore_callbacks(checkpoint, self.trainer)
        self._optimizer_states = checkpoint["optimizer_states"]
        states = checkpoint["processes"]
        state = states[self.trainer.global_rank % len(states)]
        torch.set_rng_state(state["cpu"].cpu())
        if (device := self.trainer.strategy.root_device).type == "cuda" and "cuda" in state:
            torch.cuda.set_rng_state(state["cuda"].cpu(), device)
        for name, values in state["running"].items():
            for key, value in getattr(self, name).metric_state.items():
                value.copy_(values[key])


def _total_steps(trainer: pl.Trainer) -> int:
    """Return the number of optimizer steps of the whole training.

    Lightning's `estimated_stepping_batches` is not used, because it would create the data loaders before their position
    is restored from the checkpoint.
    """
    batches = len(trainer.datamodule.train_dataloader())  # type: ignore[attr-defined]
    batches = limited(batches, trainer.limit_train_batches)
    if trainer.max_epochs == -1:  # Lightning's value if only max_steps is set
        return trainer.max_steps
    steps = math.ceil(batches / trainer.accumulate_grad_batches) * (trainer.max_epochs or 1)
    return min(steps, trainer.max_steps) if trainer.max_steps > 0 else steps
