"""Short reviews and small data, so that each benchmark takes only seconds."""

import logging
from collections.abc import Iterator

import pytest

from benchmarks import command, measure, reviews, speed


@pytest.fixture(autouse=True)
def reduce_sizes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(reviews, "LOG_MEAN", 2.0)  # a median of 7 words
    monkeypatch.setattr(reviews, "WORDS", 500)
    monkeypatch.setattr(measure, "MIN_REVIEWS", 5)
    monkeypatch.setattr(speed, "TRAIN", 83)
    monkeypatch.setattr(speed, "TEST", 11)
    monkeypatch.setattr(command, "machine", lambda device="cpu": {"device": device, "threads": 1, "torch": "0"})
    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning_fabric")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
