"""Dry build of jobs: build their components, and run one optimizer step on synthetic texts instead of their data."""

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf

from src import build
from src.config.keys import UNRELATED_TO_BUILD, options_in
from src.config.mistakes import Mistake
from src.data.datamodule import TextDataModule
from src.data.splits import divide
from src.data.trained_tokenizer import PAD, UNKNOWN
from src.errors import UserError
from src.models.shape_check import check_shapes

WORDS = ("the", "a", "film", "good", "bad")
TEXTS, TOKENS, STEPS = 2, 5, 10
LONGEST = 100_000  # maximum number of tokens in the longest synthetic text


@contextmanager
def hide_warnings() -> Iterator[None]:
    """Hide warnings and Lightning's messages in the block; the run shows them later, when it builds its components."""
    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning_fabric")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


class TrialBuilder:
    """Builds each distinct model once, and reads each distinct data source once, without tokenizing it."""

    def __init__(self) -> None:
        self._built: dict[str, list[Mistake]] = {}
        self._counts: dict[str, list[int]] = {}

    def find_mistakes(self, cfg: DictConfig) -> list[Mistake]:
        """Return the reasons why a job cannot be built or an optimizer step fails; an empty list for a valid job."""
        plain: Any = OmegaConf.to_container(cfg, resolve=True)
        key = json.dumps(options_in(plain, UNRELATED_TO_BUILD), default=str)
        if key not in self._built:
            self._built[key] = self._failure(cfg)
        return self._built[key]

    def _failure(self, cfg: DictConfig) -> list[Mistake]:
        try:
            with hide_warnings():
                self._build(cfg)
        except Exception as error:  # components may raise anything
            is_user_mistake = isinstance(error, (UserError, ValueError))
            first_line = str(error).strip().split("\n")[0]
            return [Mistake("", str(error) if is_user_mistake else f"{type(error).__name__}: {first_line}")]
        return []

    def _build(self, cfg: DictConfig) -> None:
        loss = build.make(cfg, "loss", self._class_counts(build.make(cfg, "data")))
        vocabulary = (PAD, UNKNOWN, *WORDS)
        model = build.classifier(cfg, vocabulary, loss.num_logits)
        mask = torch.ones(TEXTS, TOKENS, dtype=torch.bool)
        mask[1:, -1] = False  # a shorter text
        tokens = torch.arange(TEXTS * TOKENS).reshape(TEXTS, TOKENS) % len(WORDS) + 2
        labels = torch.arange(TEXTS) % 2
        check_shapes(model, loss.num_logits)
        optimizer = build.optimizer(cfg, model)
        build.scheduler(cfg, optimizer, STEPS)

        def step() -> float:
            value = loss(model(tokens * mask, mask), labels)
            value.backward()
            return value.item()

        optimizer.step(step)
        longest = torch.ones(1, min(cfg.data.max_length, LONGEST), dtype=torch.int64)
        model.position(model.embedding(longest, longest.bool()), longest.bool())
        build.trainer(cfg)

    def _class_counts(self, data: TextDataModule) -> list[int]:
        """Return the number of training texts of each class."""
        data.tokenizer.fingerprint()  # raises an error if the tokenizer's file is missing
        key = f"{data.fingerprint()} {data.splitting}"
        if key not in self._counts:
            corpus = data.read()
            origin, rows = divide(corpus, data.splitting)["train"]
            labels = getattr(corpus, origin).labels[rows]
            self._counts[key] = np.bincount(labels, minlength=len(corpus.class_names)).tolist()
        return self._counts[key]
