"""Building a job on tiny sizes: its own parts and options, and a few made-up texts in place of the data's."""

import json
from typing import Any

import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf

from src import build
from src.config.mistakes import Mistake
from src.data.datamodule import TextDataModule
from src.data.files import existing_file
from src.data.splits import divide
from src.data.tokenizer import PAD, UNKNOWN
from src.dry_build import quiet, refused
from src.errors import UserError
from src.models.embedding.glove import GloveEmbedding
from src.models.shapes import check_shapes

WORDS = ("the", "a", "film", "good", "bad")  # GloVe knows them
TEXTS, TOKENS, STEPS = 2, 5, 10
LONGEST = 100_000  # tokens of a text that is tried
ELSEWHERE = ("seed", "tags", "task_name", "logger", "extras", "paths", "train", "test")  # what building does not see


class Workshop:
    """Builds each different model once, and reads each different source of data once; nothing is tokenized."""

    def __init__(self) -> None:
        self._built: dict[str, list[Mistake]] = {}
        self._counts: dict[str, list[int]] = {}

    def mistakes(self, cfg: DictConfig) -> list[Mistake]:
        """Why a job cannot be built, or cannot take a step; none if it can."""
        plain: Any = OmegaConf.to_container(cfg, resolve=True)
        plain["data"].pop("seed", None)
        key = json.dumps({name: value for name, value in plain.items() if name not in ELSEWHERE}, default=str)
        if key not in self._built:
            self._built[key] = refused(cfg) or self._failure(cfg)
        return self._built[key]

    def _failure(self, cfg: DictConfig) -> list[Mistake]:
        try:
            with quiet():
                self._build(cfg)
        except Exception as error:  # whatever the parts raise, now or in the job
            known = isinstance(error, (UserError, ValueError))
            first = str(error).strip().split("\n")[0]
            return [Mistake("", str(error) if known else f"{type(error).__name__}: {first}")]
        return []

    def _build(self, cfg: DictConfig) -> None:
        loss = build.make(cfg, "loss", self._class_counts(build.make(cfg, "data")))
        vocabulary = (PAD, UNKNOWN, *WORDS)
        model = build.classifier(cfg, vocabulary, loss.num_logits)
        self._read_vectors(cfg, model.embedding)
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
        """Training texts of each class."""
        data.tokenizer.fingerprint()  # says if there is none
        splitting = (data.val_fraction, data.test_fraction, data.split_seed, data.limit)
        key = f"{data.fingerprint()} {splitting}"
        if key not in self._counts:
            corpus = data.read_valid_corpus()
            origin, rows = divide(corpus, *splitting)["train"]
            labels = getattr(corpus, origin).labels[rows]
            self._counts[key] = np.bincount(labels, minlength=len(corpus.class_names)).tolist()
        return self._counts[key]

    def _read_vectors(self, cfg: DictConfig, embedding: torch.nn.Module) -> None:
        """GloVe's bundled vectors are read; of a file, which may be large, only its name is looked up."""
        if isinstance(embedding, GloveEmbedding):
            if embedding.path is None:
                embedding.load_pretrained()
            else:
                existing_file(embedding.path, "model.embedding.path")
