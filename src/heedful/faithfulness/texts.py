"""Compute the measures of one model for its texts, on a CPU with one thread for each core."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from heedful.faithfulness.limits import search_limits
from heedful.faithfulness.measures import Predicted, erase_shares, rank, retain
from heedful.faithfulness.probe import Probe, Scores, TokenIds
from heedful.faithfulness.rankings import rank_tokens

# number of tokens that are measured together; 2,000 tokens at a time cost 6 to 10 % more CPU time than 8,000 at a time
CHUNK_TOKENS = 4_000
Result = TypeVar("Result")
Generators = Sequence[np.random.Generator]  # one for each text, so that its numbers do not depend on other texts


class RankedTexts(NamedTuple):
    """n texts with their predictions, and by ranking the scores and the order of their tokens."""

    predicted: Predicted
    scores: dict[str, Scores]
    orders: dict[str, list[np.ndarray]]  # the most important token first
    probabilities: np.ndarray  # n×C
    integral_errors: np.ndarray  # n


def rank_texts(probe: Probe, texts: TokenIds, rngs: Generators) -> RankedTexts:
    """Predict the class of n texts, and rank the tokens of each text by every ranking."""
    probabilities = probe.probabilities(texts)
    predicted = Predicted(texts, probabilities.argmax(1), probabilities.max(1))
    scores, errors = rank_tokens(probe, texts, predicted.classes, rngs)
    orders = {
        name: [rank(each, rng) for each, rng in zip(values, rngs, strict=True)] for name, values in scores.items()
    }
    return RankedTexts(predicted, scores, orders, probabilities, errors)


def measure_texts(probe: Probe, texts: TokenIds, rngs: Generators) -> tuple[dict[str, np.ndarray], dict[str, Scores]]:
    """Return the arrays of a record for n texts, and the scores of the tokens by ranking."""
    predicted, scores, orders, probabilities, errors = rank_texts(probe, texts, rngs)
    arrays = {"probabilities": probabilities, "integral_error": errors}
    for name, erase in (("comprehensiveness", np.delete), ("sufficiency", retain)):
        drops = erase_shares(probe, predicted, orders, erase)  # R×n×5
        arrays[f"{name}_removal"] = np.moveaxis(drops, 0, 1)
        bounds = search_limits(probe, predicted, scores, drops.mean(2), rngs, retain=erase is retain)
        arrays[f"{name}_low"], arrays[f"{name}_high"] = bounds
    return arrays, scores


def map_chunks(
    device: torch.device, texts: TokenIds, function: Callable[[np.ndarray], Result]
) -> Generator[tuple[np.ndarray, Result], None, None]:
    """Yield the positions of successive chunks of texts, and the result of a function of each chunk.

    A small recurrent layer gains little from several cores. On a CPU, the chunks are therefore distributed over as many
    threads as torch uses, and each thread uses one core.
    """
    chunk = (np.cumsum([len(text) for text in texts]) - 1) // CHUNK_TOKENS
    chunks = np.split(np.arange(len(texts)), np.flatnonzero(np.diff(chunk)) + 1)
    cores = torch.get_num_threads()
    if device.type != "cpu" or min(cores, len(chunks)) < 2:
        yield from ((rows, function(rows)) for rows in chunks)
        return
    pool = ThreadPoolExecutor(min(cores, len(chunks)), initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from zip(chunks, pool.map(function, chunks), strict=True)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)  # MKL has one number of threads for the whole process
