"""Ctrl-C, SIGTERM and SIGHUP inside and outside training. test_train.py and test_lit.py test resumed trainings."""

import os
import signal
from collections.abc import Iterator
from unittest.mock import Mock

import pytest
import torch

from heedful.base.process import Interrupted, handle_signals
from heedful.training.callbacks.stop import StopOnSignal

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
TRAINER = Mock(world_size=1, is_global_zero=True)


@pytest.fixture
def stop() -> Iterator[StopOnSignal]:
    stop = StopOnSignal("last.ckpt")
    with handle_signals(stop.handle):
        yield stop


@pytest.mark.parametrize("signum", SIGNALS)
def test_a_signal_outside_training_stops_at_once(stop: StopOnSignal, signum: int) -> None:
    with pytest.raises(Interrupted, match=signal.Signals(signum).name) as error:
        os.kill(os.getpid(), signum)
    assert error.value.signum == signum


def test_the_second_signal_stops_at_once(stop: StopOnSignal) -> None:
    stop.on_train_start(TRAINER, Mock())
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(Interrupted):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("hook", ["on_train_start", "on_test_batch_start"])
def test_a_signal_within_a_destructor_stops_at_the_next_hook(stop: StopOnSignal, hook: str) -> None:
    """Python ignores the exception that the handler raises in a destructor."""

    class Interrupting:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    Interrupting()  # is deleted at once
    with pytest.raises(Interrupted, match="SIGINT"):
        getattr(stop, hook)(TRAINER, Mock())


@pytest.mark.parametrize("hook", ["on_train_end", "on_exception"])
def test_a_signal_after_training_stops_at_once(stop: StopOnSignal, hook: str) -> None:
    stop.on_train_start(TRAINER, Mock())
    getattr(stop, hook)(TRAINER, Mock(), *([ValueError()] if hook == "on_exception" else []))
    with pytest.raises(Interrupted):
        os.kill(os.getpid(), signal.SIGTERM)


def process_of_two(number: int, received: int) -> Mock:
    """The Trainer of process `number` of two, one of which may have received the signal `received`."""
    trainer = Mock(world_size=2, is_global_zero=number == 0, accumulate_grad_batches=1)
    trainer.fit_loop.epoch_loop.batch_progress = Mock(is_last_batch=False)
    trainer.fit_loop.epoch_loop.batch_progress.current.ready = 3
    trainer.strategy.root_device = torch.device("cpu")
    trainer.strategy.reduce = lambda value, reduce_op: torch.tensor(max(int(value), received))
    return trainer


@pytest.mark.parametrize(("number", "error"), [(0, Interrupted), (1, SystemExit)])
@pytest.mark.parametrize("receives", [False, True])
def test_all_processes_stop_at_the_same_batch(stop, number, error, receives) -> None:
    """Both save the checkpoint, in which they wait for each other; the main process tells the reason."""
    trainer = process_of_two(number, 0)
    stop.setup(trainer, Mock(), "fit")
    if receives:
        os.kill(os.getpid(), signal.SIGTERM)
    else:
        trainer = process_of_two(number, signal.SIGTERM)
    with pytest.raises(error):
        stop.on_train_batch_end(trainer)
    trainer.save_checkpoint.assert_called_once_with("last.ckpt")


@pytest.mark.parametrize("fn", ["validate", "test"])
def test_no_process_of_several_stops_alone_in_an_evaluation(stop: StopOnSignal, fn: str) -> None:
    trainer = process_of_two(0, 0)
    trainer.state.fn = fn
    stop.setup(trainer, Mock(), fn)
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Interrupted):
        stop.on_validation_batch_start(trainer, Mock())
    trainer.state.fn = "fit"
    stop.on_validation_batch_start(trainer, Mock())  # the validation in an epoch is completed


def test_an_error_of_the_main_process_ends_the_others(stop: StopOnSignal) -> None:
    trainer = process_of_two(0, 0)
    stop.on_exception(trainer, Mock(), RuntimeError("gloo: connection closed by peer"))
    trainer.strategy.launcher.kill.assert_not_called()  # another process has failed and tells the reason
    stop.on_exception(trainer, Mock(), OSError("disk full"))
    trainer.strategy.launcher.kill.assert_called_once_with(signal.SIGKILL)


def test_the_previous_handlers_are_restored() -> None:
    previous = [signal.getsignal(signum) for signum in SIGNALS]
    with handle_signals(StopOnSignal("last.ckpt").handle):
        StopOnSignal("last.ckpt").on_train_start(TRAINER, Mock())
    assert [signal.getsignal(signum) for signum in SIGNALS] == previous
