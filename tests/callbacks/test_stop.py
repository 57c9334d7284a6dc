"""Ctrl-C, SIGTERM and SIGHUP inside and outside training. test_train.py tests resumed trainings."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from unittest.mock import Mock

import pytest

from src.callbacks.stop import Interrupted, StopOnSignal
from src.process import handle_signals

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


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
    stop.on_train_start(Mock(), Mock())
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(Interrupted):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("is_training", [False, True])
def test_the_third_signal_has_the_default_action(stop: StopOnSignal, is_training: bool) -> None:
    stop.is_training = is_training
    for _ in range(2):
        with suppress(Interrupted):
            os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) == stop.handle


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("hook", ["on_train_start", "on_test_batch_start"])
def test_a_signal_within_a_destructor_stops_at_the_next_hook(stop: StopOnSignal, hook: str) -> None:
    """Python ignores the exception that the handler raises in a destructor."""

    class Interrupting:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    Interrupting()  # is deleted at once
    with pytest.raises(Interrupted, match="SIGINT"):
        getattr(stop, hook)(Mock(), Mock())


@pytest.mark.parametrize("hook", ["on_train_end", "on_exception"])
def test_a_signal_after_training_stops_at_once(stop: StopOnSignal, hook: str) -> None:
    training = Mock()
    stop.on_train_start(training, Mock())
    getattr(stop, hook)(training, Mock())
    with pytest.raises(Interrupted):
        os.kill(os.getpid(), signal.SIGTERM)


def test_the_previous_handlers_are_restored() -> None:
    previous = [signal.getsignal(signum) for signum in SIGNALS]
    with handle_signals(StopOnSignal("last.ckpt").handle):
        StopOnSignal("last.ckpt").on_train_start(Mock(), Mock())
    assert [signal.getsignal(signum) for signum in SIGNALS] == previous
