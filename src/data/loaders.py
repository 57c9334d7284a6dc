"""Iterables of batches, which a Trainer accepts as dataloaders."""

from collections.abc import Callable, Iterator
from typing import Any

from src.data.batch_order import Plan
from src.data.padded_batches import Batch, BatchBuilder
from src.errors import UserError


class Batches:
    """The batches of a fixed plan, for evaluation and for `overfit_batches`."""

    def __init__(self, builder: BatchBuilder, plan: Plan) -> None:
        self.builder = builder
        self.plan = plan

    def __len__(self) -> int:
        return len(self.plan)

    def __iter__(self) -> Iterator[Batch]:
        return map(self.builder, self.plan)


class ShuffledBatches:
    """Training batches with a new plan in every epoch, resumable after any batch.

    A pass continues at `position`, the number of batches already yielded in `epoch`. After the last batch, the next
    pass starts the next epoch. A Trainer stores `state_dict()` in its checkpoints, but it does not load the state from
    a checkpoint that was saved at the end of an epoch; therefore, it must also set the epoch through `sampler`.

    Args:
        order: function from epoch to plan; all plans have the same length.
        seed: seed of the order, which `load_state_dict` compares with the saved seed.
    """

    def __init__(self, builder: BatchBuilder, order: Callable[[int], Plan], seed: int) -> None:
        self.builder = builder
        self.order = order
        self.seed = seed
        self.epoch = 0
        self.position = 0
        self._length = len(order(0))

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Batch]:
        if self.position >= len(self):
            self.set_epoch(self.epoch + 1)
        for rows in self.order(self.epoch)[self.position :]:
            self.position += 1  # before the yield: a run resumed from a state saved in this step gets the next batch
            yield self.builder(rows)

    @property
    def sampler(self) -> "ShuffledBatches":
        """The object on which Lightning calls `set_epoch`."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Move to the start of `epoch`, unless it is the current epoch."""
        if epoch != self.epoch:
            self.epoch, self.position = epoch, 0

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "position": self.position, "batches": len(self), "seed": self.seed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at the position of `state`.

        Raises:
            UserError: if the state was saved within an epoch, and the number of batches or the seed has changed.
        """
        saved, current = (state["batches"], state["seed"]), (len(self), self.seed)
        is_finished = state["position"] >= state["batches"]
        if state["position"] > 0 and not is_finished and saved != current:
            raise UserError(
                f"the checkpoint was written within an epoch of {saved[0]} batches (data.seed={saved[1]}), "
                f"but an epoch of this run has {current[0]} batches (data.seed={current[1]}): resume with the "
                "same data, data.batch_size, seed and number of devices"
            )
        self.epoch, self.position = state["epoch"], len(self) if is_finished else state["position"]
