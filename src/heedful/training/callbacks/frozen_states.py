"""A callback that encodes all texts once if the encoder is frozen, so that training reads the states of the tokens."""

import hashlib
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.lib.format import open_memmap
from pydantic import Field
from pytorch_lightning.strategies import Strategy

from heedful.base.errors import UserError
from heedful.base.progress import row_progress
from heedful.data.padded_batches import BatchBuilder, Inputs, by_length
from heedful.data.source import source_of
from heedful.data.store import code_version, load_or_build
from heedful.kernels.layers import Dropout
from heedful.models.classifier import Classifier
from heedful.models.component import Encoded

BATCH = 64  # texts that are encoded together
log = logging.getLogger(__name__)


class StoredStates:
    """The states of texts in half precision, mapped into memory, which are found by the ids of a text's tokens.

    Args:
        folder: contains keys (n digests, as `text_keys` returns them), offsets (n+1 int64; the states of text i are
            `states[offsets[i]:offsets[i + 1]]`), states (flat, float16, ×D) and summaries (n×D float32).
        dtype: of the states and summaries that are returned, which is that of the model's weights.
    """

    def __init__(self, folder: Path, dtype: torch.dtype) -> None:
        names = ("keys", "offsets", "states", "summaries")
        keys, self.offsets, self.states, self.summaries = (
            np.load(folder / f"{name}.npy", mmap_mode="r") for name in names
        )
        self.rows = {key: row for row, key in enumerate(keys.tolist())}
        self.dtype = dtype

    def __call__(self, inputs: Inputs) -> Encoded | None:
        """Return the states of texts, N×L×D; None if a text is not stored."""
        ids, mask, *_ = inputs
        lengths = mask.sum(1).tolist()
        rows = [self.rows.get(key, -1) for key in text_keys(inputs, lengths)]
        if -1 in rows:
            return None
        states = np.zeros((*ids.shape, self.states.shape[1]), dtype=np.float16)
        for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            start = self.offsets[row]
            states[i, :length] = self.states[start : start + length]
        summaries = torch.from_numpy(self.summaries[rows]).to(ids.device)
        return Encoded(torch.from_numpy(states).to(ids.device).to(self.dtype), mask, summaries.to(self.dtype))


class FrozenStates(pl.Callback):
    """Stores the states of all texts in the cache, if the encoder is pretrained and frozen, for all runs with both."""

    def __init__(self, *, max_gb: Annotated[float, Field(ge=0)] = 10.0) -> None:
        self.max_gb = max_gb

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        model: Any = pl_module.model
        if not is_frozen(model):
            return
        data = source_of(trainer)
        builders = list(map(data.builder, data.sizes))
        size = sum(int(builder.lengths.sum()) for builder in builders) * model.encoder.output_dim * 2 / 1e9
        if size > self.max_gb:
            log.warning(
                "The frozen states are not stored, because %.1f GB exceed frozen_states.max_gb=%g", size, self.max_gb
            )
            return
        parts = (model.embedding, model.position, model.encoder)
        key = (data.rows_key, data.truncation, code_version(*map(type, parts)))
        digest = hashlib.sha256(repr(key).encode())
        for part in parts:
            for name, value in part.state_dict().items():
                content = value.detach().cpu().reshape(-1).view(torch.uint8)  # numpy has no bfloat16
                digest.update(name.encode() + content.numpy().tobytes())
        path, strategy = data.cache_dir / f"states-{digest.hexdigest()}", trainer.strategy
        load = partial(StoredStates, dtype=next(model.parameters()).dtype)
        try:
            model.stored_states = load_or_build(path, load, lambda folder: _encode(model, builders, strategy, folder))
        except UserError as error:  # the cache cannot be written
            log.warning("The frozen states are not stored, and are computed in every epoch: %s", error)


def is_frozen(model: Classifier) -> bool:
    """Return whether a pretrained encoder returns the same states in every epoch."""
    parts = (model.embedding, model.position, model.encoder)
    is_trained: bool = any(parameter.requires_grad for part in parts for parameter in part.parameters())
    drops: bool = any(module.rate > 0 for module in model.embedding.modules() if isinstance(module, Dropout))
    return model.encoder.is_pretrained and not (is_trained or drops or model.embedding.word_dropout)


def text_keys(inputs: Inputs, lengths: Sequence[int]) -> list[bytes]:
    """Return a digest of the token ids of each text and of their segments, without padding: N digests of 16 bytes."""
    signed = inputs.ids if inputs.segments is None else inputs.ids * (1 - 2 * inputs.segments)
    rows = signed.int().cpu().numpy()
    return [
        hashlib.blake2b(row[:length].tobytes(), digest_size=16).digest()
        for row, length in zip(rows, lengths, strict=True)
    ]


@torch.no_grad()
def _encode(model: Classifier, builders: Sequence[BatchBuilder], strategy: Strategy, folder: Path) -> None:
    """Write the arrays of `StoredStates` for the texts of all splits into a folder."""
    lengths = np.concatenate([builder.lengths for builder in builders])
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    dim = model.encoder.output_dim
    states = open_memmap(folder / "states.npy", "w+", np.float16, (int(offsets[-1]), dim))
    summaries = np.empty((len(lengths), dim), dtype=np.float32)
    keys = np.empty(len(lengths), dtype="V16")
    first = 0
    with row_progress("Encoded", len(lengths), "texts") as advance:
        for builder in builders:
            for rows in by_length(builder.lengths, BATCH, rank=0, world_size=1):
                inputs = strategy.batch_to_device(builder(rows)).inputs
                encoded = model.encode(inputs)
                summaries[first + rows] = encoded.summary.float().cpu().numpy()
                keys[first + rows] = text_keys(inputs, builder.lengths[rows].tolist())
                for row, of_text in zip(first + rows, encoded.states.half().cpu().numpy(), strict=True):
                    states[offsets[row] : offsets[row + 1]] = of_text[: lengths[row]]
                advance(len(rows))
            first += len(builder.lengths)
    states.flush()
    for name, array in (("keys", keys), ("offsets", offsets), ("summaries", summaries)):
        np.save(folder / f"{name}.npy", array)
