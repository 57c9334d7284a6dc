"""Iterables of batches that a Trainer takes as dataloaders."""

from collections.abc import Callable, Iterator
from typing import Any

from src.data.batching import BatchBuilder
from src.data.order import Plan
from src.errors import UserError
from src.models.types import Batch


class Batches:
    """The batches of one plan, the same on every pass: for evaluation, and to overfit a few on purpose."""

    def __init__(self, builder: BatchBuilder, plan: Plan) -> None:
        self.builder = builder
        self.plan = plan

    def __len__(self) -> int:
        return len(self.plan)

    def __iter__(self) -> Iterator[Batch]:
        return map(self.builder, self.plan)


class ShuffledBatches:
    """Training batches: another plan every epoch, and resumable after any batch.

    A pass continues at `position`, the number of batches handed out in `epoch` so far; once all are, the next
    pass starts the next epoch. A Trainer saves `state_dict()` with its loops. It also sets the epoch, through
    `sampler`, and must: it restores no loader's state from a checkpoint written at an epoch's end.

    Args:
        builder: of the batches of one split.
        order: epoch → plan; every plan of the same length.
        seed: of the order; a state resumes only under the same one.
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
            self.position += 1  # before handing out: a state saved while this batch trains resumes after it
            yield self.builder(rows)

    @property
    def sampler(self) -> "ShuffledBatches":
        """Where Lightning looks for `set_epoch`."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of `epoch`, unless already in it."""
        if epoch != self.epoch:
            self.epoch, self.position = epoch, 0

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "position": self.position, "batches": len(self), "seed": self.seed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume where `state` was taken.

        Raises:
            UserError: it was taken in the middle of an epoch whose batches were others than these.
        """
        before, now = (state["batches"], state["seed"]), (len(self), self.seed)
        finished = state["position"] >= state["batches"]
        if state["position"] > 0 and not finished and before != now:
            raise UserError(
                f"the checkpoint was written within an epoch of {before[0]} batches (data.seed={before[1]}), "
                f"and this run has {now[0]} (data.seed={now[1]}): resume it with the same data, "
                "data.batch_size, seed and number of devices"
            )
        self.epoch, self.position = state["epoch"], len(self) if finished else state["position"]
