"""A callback that stops a run after Ctrl-C, SIGTERM or a closed terminal, so that training can resume exactly."""

import signal
from pathlib import Path
from types import FrameType
from typing import Any

import pytorch_lightning as pl

from src.process import announce, stopping_signals


class Interrupted(BaseException):  # like KeyboardInterrupt, so that `except Exception` does not catch it
    """A signal stopped the run.

    Args:
        signum: the signal's number; the process exits with 128 + signum.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.signum = signum


class StopOnSignal(pl.Callback):
    """After SIGINT, SIGTERM or SIGHUP, saves `last.ckpt` after the optimizer's step and raises `Interrupted`.

    Outside training, or if the same signal arrives again, the signal handler raises `Interrupted` immediately. If it
    arrives a third time, the operating system ends the process, even if Python cannot run a handler because torch waits
    for another process. After the last step of an epoch, the validation is completed first, because training cannot
    resume exactly from a checkpoint saved between this step and the end of the validation. Python ignores an exception
    that a signal handler raises within a `__del__` method, so the signal is checked again before training, before each
    epoch and before each test batch.

    Args:
        checkpoint: the file to save when training stops within an epoch.
    """

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self.signum: int | None = None
        self.is_training = False

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """Raise `Interrupted` now, or in training after the present step: a signal handler."""
        is_repeated = self.signum == signum
        self.signum = signum
        if is_repeated:
            signal.signal(signum, signal.SIG_DFL)
        if is_repeated or not self.is_training:
            raise Interrupted(signum)
        announce(f"\n{signal.Signals(signum).name}: stopping after this step; repeat to stop immediately")

    def check(self) -> None:
        """Raise `Interrupted` if a signal was received."""
        if self.signum is not None:
            raise Interrupted(self.signum)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        for signum in stopping_signals():
            signal.signal(signum, self.handle)  # Lightning's handler would exit with code 0, even during validation
        self.check()
        self.is_training = True

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.is_training = False

    def on_exception(self, trainer: pl.Trainer, *args: Any) -> None:
        self.is_training = False

    def on_train_batch_end(self, trainer: pl.Trainer, *args: Any) -> None:
        progress = trainer.fit_loop.epoch_loop.batch_progress
        is_step = progress.current.ready % trainer.accumulate_grad_batches == 0  # no checkpoint contains gradients
        if self.signum is not None and is_step and not progress.is_last_batch:
            trainer.save_checkpoint(self.checkpoint)
            self.check()

    def on_test_batch_start(self, *args: Any, **options: Any) -> None:
        self.check()

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.check()  # a checkpoint was saved at the end of the previous epoch
