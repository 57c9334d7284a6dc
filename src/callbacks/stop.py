"""Ctrl-C, SIGTERM and a closed terminal: stop at a step from which training resumes exactly."""

import signal
from types import FrameType
from typing import Any

import pytorch_lightning as pl

from src.cli.startup import announce, stopping_signals


class Interrupted(Exception):
    """A signal asked the run to stop, and it has.

    Args:
        signum: the signal's number; a process that it stops exits with 128 + signum.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.signum = signum


class StopOnSignal(pl.Callback):
    """Turns SIGINT, SIGTERM and SIGHUP into `Interrupted`, between two steps, after saving `last.ckpt`.

    Outside training it stops at once, and so it does when the signal comes again. The last step of an epoch and the
    validation behind it are finished first: the middle and the end of an epoch are what training resumes from exactly.

    Args:
        checkpoint: where to save when training stops in the middle of an epoch.
    """

    def __init__(self, checkpoint: str) -> None:
        self.checkpoint = checkpoint
        self.signum: int | None = None
        self.fitting = False
        self._previous: dict[int, Any] = {}

    def install(self) -> None:
        """Take the signals over, until `restore`."""
        before: dict[int, Any] = {signum: signal.signal(signum, self._handle) for signum in stopping_signals()}
        self._previous = self._previous or before

    def restore(self) -> None:
        """Give the signals back."""
        for signum, handler in self._previous.items():
            signal.signal(signum, handler)
        self._previous = {}

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if self.signum == signum or not self.fitting:
            raise Interrupted(signum)
        self.signum = signum
        announce(f"\n{signal.Signals(signum).name}: stopping after this step; again to stop at once")

    def check(self) -> None:
        """Raise if a signal has come.

        Raises:
            Interrupted: if it has.
        """
        if self.signum is not None:
            raise Interrupted(self.signum)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.install()  # Lightning's own handler would end the process with exit code 0, in the midst of validation
        self.fitting = True

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.fitting = False

    def on_exception(self, trainer: pl.Trainer, *args: Any) -> None:
        self.fitting = False

    def on_train_batch_end(self, trainer: pl.Trainer, *args: Any) -> None:
        if self.signum is not None and not trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
            trainer.save_checkpoint(self.checkpoint)
            self.check()

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.check()  # the epoch before was saved when it ended
