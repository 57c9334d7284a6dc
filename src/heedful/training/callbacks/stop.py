"""A callback that stops a run after Ctrl-C, SIGTERM or a closed terminal, so that training can resume exactly."""

import signal
from pathlib import Path
from types import FrameType
from typing import Any

import pytorch_lightning as pl
import torch

from heedful.base.lightning import is_main_process
from heedful.base.process import Interrupted, announce, stopping_signals
from heedful.runs.folder import require_kept, run_folder_of


def end_together(trainer: pl.Trainer, error: BaseException) -> None:
    """Raise an error in the main process and end the other processes, all of which call this function, in silence."""
    raise error if trainer.is_global_zero else SystemExit


class StopOnSignal(pl.Callback):
    """After SIGINT, SIGTERM or SIGHUP, saves `last.ckpt` after the optimizer's step and raises `Interrupted`.

    Outside training, or if the same signal arrives again, the signal handler raises `Interrupted` immediately. After
    the last step of an epoch, the validation is completed first, because training cannot resume exactly from a
    checkpoint saved between this step and the end of the validation. Python ignores an exception that a signal handler
    raises within a `__del__` method, so the signal is checked again at the start and the end of training and
    evaluation, before each epoch and before each batch of an evaluation.

    If several processes train, one that stopped alone would leave the others waiting. So the handler only records the
    signal, and at each of these moments, all processes stop if one of them received a signal.

    A training whose folder was deleted ends before its next epoch.
    """

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self.signum: int | None = None
        self.is_deferred = not is_main_process()  # whether a signal takes effect at the next check

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """Raise `Interrupted` now or at the next check: a signal handler."""
        is_repeated = self.signum == signum
        self.signum = signum
        if is_repeated or not self.is_deferred:
            raise Interrupted(signum)
        announce(f"\n{signal.Signals(signum).name}: stopping after this step; repeat to stop immediately")

    def received(self, trainer: pl.Trainer) -> int:
        """Return the number of a signal that one of the processes received; 0 if there was none."""
        signum = self.signum or 0
        if trainer.world_size == 1:
            return signum
        numbers = torch.tensor(signum, device=trainer.strategy.root_device)
        return int(trainer.strategy.reduce(numbers, reduce_op="max"))

    def check(self, trainer: pl.Trainer) -> None:
        """Raise `Interrupted` if one of the processes received a signal."""
        if signum := self.received(trainer):
            end_together(trainer, Interrupted(signum))

    def handle_signals(self) -> None:
        """Replace the handler that Lightning has just set, which exits with code 0, and waits for other processes."""
        for signum in stopping_signals():
            signal.signal(signum, self.handle)

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        self.is_deferred = trainer.world_size > 1
        self.check(trainer)

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        self.check(trainer)
        self.is_deferred = trainer.world_size > 1 and stage != "test"  # after a test, no process waits for another

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.handle_signals()
        self.check(trainer)
        self.is_deferred = True

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.is_deferred = trainer.world_size > 1

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        self.is_deferred = False
        launcher = trainer.strategy.launcher
        if launcher is not None and not isinstance(exception, RuntimeError):  # such as the end of another process
            launcher.kill(signal.SIGKILL)  # the other processes would wait for this one

    def on_train_batch_end(self, trainer: pl.Trainer, *args: Any) -> None:
        progress = trainer.fit_loop.epoch_loop.batch_progress
        is_step = progress.current.ready % trainer.accumulate_grad_batches == 0  # no checkpoint contains gradients
        if is_step and not progress.is_last_batch and (signum := self.received(trainer)):
            trainer.save_checkpoint(self.checkpoint)
            end_together(trainer, Interrupted(signum))

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.check(trainer)  # a checkpoint was saved at the end of the previous epoch
        if trainer.is_global_zero:
            require_kept(run_folder_of(str(self.checkpoint)))

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.handle_signals()

    on_test_start = on_validation_start

    def on_test_batch_start(self, trainer: pl.Trainer, *args: Any, **options: Any) -> None:
        if trainer.state.fn != "fit":
            self.check(trainer)

    on_validation_batch_start = on_test_batch_start
