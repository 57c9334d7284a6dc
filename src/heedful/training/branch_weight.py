"""The weight of a branch beside its network, which the validation texts of each epoch choose."""

import math
from typing import TYPE_CHECKING, Any

import torch
from pytorch_lightning.callbacks import EarlyStopping
from pytorch_lightning.utilities.combined_loader import CombinedLoader
from torch import Tensor

from heedful.base.errors import UserError
from heedful.data.padded_batches import Batch
from heedful.training.evaluator import require_batch

if TYPE_CHECKING:
    from heedful.training.lit import LitClassifier


class BranchWeight:
    """Chooses the weight with the lowest loss, and lets the training go on while it uses the branch alone.

    Args:
        keeps_logits: whether the validation that follows computes the same logits; a subclass may compute others.

    Attributes:
        network_loss: the lowest one of the validation texts without the branch.
    """

    def __init__(self, module: "LitClassifier", keeps_logits: bool) -> None:
        self.module: Any = module
        self._keeps_logits = keeps_logits
        self.network_loss = math.inf
        # of the last validation's batches: the index, and the logits of the network and of the branch, which are fixed
        self._separate: list[tuple[Tensor, tuple[Tensor, Tensor]]] = []

    @property
    def is_chosen(self) -> bool:
        """Whether the validation texts choose the weight, not the configuration."""
        branch = self.module.model.branch
        return branch is not None and branch.chooses_weight

    def start(self) -> None:
        """Forget an earlier training, and refuse one without validation texts."""
        self._separate = []
        if self.is_chosen and not self.module.trainer.enable_validation:
            raise UserError(
                "model.branch.weight: validation texts choose it, but the training validates none, so that the network "
                "would not be used: set model.branch.weight=0.5, or give the Trainer validation texts"
            )

    def choose(self) -> None:
        """Choose the weight with the lowest loss of the validation texts of all processes."""
        module, trainer = self.module, self.module.trainer
        weights, texts = torch.linspace(0, 1, 21, device=module.device), 0
        losses, before, self._separate = torch.zeros_like(weights), self._separate, []
        for number, batch in enumerate(CombinedLoader(trainer.val_dataloaders).flattened[0]):
            require_batch(batch)
            inputs, targets, index = trainer.strategy.batch_to_device(batch)
            is_known = number < len(before) and torch.equal(before[number][0], index)
            network, branch = module.model.separate_logits(inputs, before[number][1][1] if is_known else None)
            if self._keeps_logits and trainer.precision == "32-true":
                self._separate.append((index, (network, branch)))
            scaled, mixtures = module.task.scaled(targets), (torch.lerp(network, branch, weight) for weight in weights)
            losses += len(targets) * torch.stack([module.loss(logits, scaled) for logits in mixtures])
            texts += len(targets)
        total = trainer.strategy.reduce(torch.cat([losses, losses.new_tensor([texts])]), reduce_op="sum")
        module.model.branch.weight.copy_(weights[total[:-1].argmin()])
        if texts:
            loss = total[0] / total[-1]
            module.log("val/network_loss", loss, batch_size=1)
            self._wait_for_network(float(loss))

    def known_logits(self, number: int, batch: Batch) -> Tensor | None:
        """Return the logits of a batch of the validation for which the weight was just chosen; None if not kept."""
        if number >= len(self._separate):
            return None
        index, parts = self._separate[number]
        weight = self.module.model.branch.weight.float()
        return torch.lerp(*parts, weight) if torch.equal(index, batch.index) else None

    def _wait_for_network(self, loss: float) -> None:
        """Let what counts validations without improvement count a lower loss of the network as one, until it is used.

        While its branch has all the weight, neither the predictions change nor what early stopping and a plateau
        monitor, although the network learns.
        """
        module = self.module
        if module.trainer.sanity_checking or loss >= self.network_loss:
            return
        self.network_loss = loss
        if module.model.branch.weight < 1:
            return
        for callback in module.monitoring():
            if isinstance(callback, EarlyStopping) and callback.monitor.startswith("val/"):
                callback.wait_count = -1  # the check that follows adds 1
        for config in module.plateaus():
            if str(config.monitor).startswith("val/"):
                config.scheduler.num_bad_epochs = -1
