"""Measure one run: restore its checkpoint, select test texts, and compute its record."""

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omegaconf import OmegaConf

from src import build
from src.checkpoint import Card
from src.data.batching import BatchBuilder
from src.data.datamodule import TextDataModule
from src.data.splits import sample
from src.errors import UserError
from src.eval import with_data
from src.faithfulness import agreement, limits, measures
from src.faithfulness.erasure import rank
from src.faithfulness.measures import Predicted
from src.faithfulness.names import ATTENTION, GRADIENT, LEAVE_ONE_OUT
from src.faithfulness.plausibility import mark_tokens, plausibility
from src.faithfulness.probe import Probe
from src.faithfulness.rankings import rank_tokens
from src.faithfulness.records import FORMAT, Record

CHUNK_TOKENS = 8_000  # tokens of texts that are measured together
EXAMPLES = 3  # texts whose scores the record contains
EXAMPLE_TOKENS = 40  # tokens in a text that is easy to read

Progress = Callable[[int, int], None]  # called with the number of measured texts and the number of all texts


def options_of(run: Path, texts: int, seed: int, names: Sequence[str]) -> dict[str, Any]:
    """The options that determine the record of a run.

    Raises:
        UserError: if the run has no checkpoint.
    """
    digest = hashlib.sha256(checkpoint_path(run).read_bytes()).hexdigest()
    return {"format": FORMAT, "texts": texts, "seed": seed, "measures": list(names), "checkpoint": digest}


def checkpoint_path(run: Path) -> Path:
    """The best checkpoint of a run, or its last one."""
    paths = [run / "checkpoints" / f"{name}.ckpt" for name in ("best", "last")]
    for path in paths:
        if path.is_file():
            return path
    raise UserError(f"{run}: has no {paths[0].relative_to(run)}: train again, with callbacks that write checkpoints")


def measure_run(
    run: Path, options: dict[str, Any], trusted_modules: Sequence[str], data_path: str | None, progress: Progress
) -> Record:
    """Compute the record of a run.

    Args:
        run: folder of the run.
        options: the result of `options_of`.
        trusted_modules: the user's packages whose classes the checkpoint may name.
        data_path: path that replaces `data.path` of the checkpoint; None retains it.
        progress: called after some texts.

    Raises:
        UserError: if the checkpoint or its data cannot be read.
    """
    start = time.perf_counter()
    extras = OmegaConf.create({"trusted_modules": list(trusted_modules)})
    card, (model, loss) = build.restore(str(checkpoint_path(run)), extras)
    overrides = {"progress": False} | ({} if data_path is None else {"path": data_path})
    data = build.datamodule(
        with_data(OmegaConf.create({"data": overrides, "extras": extras, "seed": 0}), card), card.codec
    )
    if torch.cuda.is_available():
        model, loss = model.cuda(), loss.cuda()
    probe = Probe(model, loss, card.codec.truncation, card.codec.tokenizer.unknown_id)
    labels, seed = data.tokenized("test").labels, options["seed"]
    rows = sample(labels, max(options["texts"], len(np.unique(labels))), [seed])
    texts = [text[probe.known(text)] for text in _texts(data, rows)]
    is_empty = np.array([len(text) == 0 for text in texts])
    rows, texts = rows[~is_empty], [text for text in texts if len(text)]
    if not texts:
        raise UserError(f"{run}: the model knows no token of the {len(is_empty):,} selected test texts")
    marks = _marks(card, data, probe, rows) if "plausibility" in options["measures"] else None
    share = float(np.concatenate(marks).mean()) if marks else 0.0
    lengths = np.array([len(text) for text in texts])
    readable = np.sort(np.argsort(np.abs(lengths - EXAMPLE_TOKENS), kind="stable")[:EXAMPLES])
    parts: list[dict[str, np.ndarray]] = []
    scores: dict[int, np.ndarray] = {}  # scores of the examples, R×L each
    rankings: list[str] = []
    for selection in _chunks(lengths):
        arrays, by_ranking = measure_texts(
            probe,
            [texts[i] for i in selection],
            [[seed, int(rows[i])] for i in selection],
            options["measures"],
            None if marks is None else ([marks[i] for i in selection], share),
        )
        parts.append(arrays)
        rankings = list(by_ranking)
        scores |= {
            i: np.stack([values[number] for values in by_ranking.values()])
            for number, i in enumerate(selection)
            if i in readable
        }
        progress(selection[-1] + 1, len(texts))
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    predicted = arrays.pop("predicted")
    arrays |= {"rows": rows, "lengths": lengths, "correct": predicted == labels[rows]}
    arrays["scores"] = np.concatenate([scores[i] for i in readable], axis=1).astype(np.float32)
    names = card.codec.class_names
    words = _words(card, data, probe, rows[readable])
    results = {
        "rankings": rankings,
        "skipped": int(is_empty.sum()),
        "seconds": time.perf_counter() - start,
        "examples": [
            {"words": text_words, "label": names[labels[rows[i]]], "predicted": names[predicted[i]]}
            for i, text_words in zip(readable, words, strict=True)
        ],
    }
    return Record({**options, **results}, arrays)


def measure_texts(
    probe: Probe,
    texts: Sequence[np.ndarray],
    seeds: Sequence[Sequence[int]],
    names: Sequence[str],
    human: tuple[list[np.ndarray], float] | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, list[np.ndarray]]]:
    """The arrays of a record for some texts, and the scores of the rankings.

    Args:
        probe: the model.
        texts: n texts of tokens that the model knows, at least one each.
        seeds: a seed of the random numbers for each text, so that they do not depend on the other texts.
        names: names in MEASURES.
        human: whether people marked each token, by text, and the share of marked tokens in all texts; None if unknown.
    """
    rngs = [np.random.default_rng(text_seeds) for text_seeds in seeds]
    probabilities = probe.probabilities(texts)
    classes = probabilities.argmax(1)
    predicted = Predicted(texts, classes, probabilities.max(1))
    scores, errors = rank_tokens(probe, texts, classes, rngs)
    ranked = {
        name: [rank(text, rng) for text, rng in zip(values, rngs, strict=True)] for name, values in scores.items()
    }
    arrays = {"predicted": classes, "probability": predicted.probabilities, "integral_error": errors}
    by_ranking: dict[str, np.ndarray] = {}
    for by in ("removal", "unknown"):
        if by in names or (by == "removal" and "limits" in names):
            by_ranking[f"comprehensiveness_{by}"] = measures.comprehensiveness(probe, predicted, ranked, by)
            by_ranking[f"sufficiency_{by}"] = measures.sufficiency(probe, predicted, ranked, by)
    if "flip" in names:
        by_ranking["flip"] = measures.decision_flips(probe, predicted, ranked)
    if "polarity" in names:
        by_ranking["polarity"] = measures.polarity_violations(ranked, scores[LEAVE_ONE_OUT])
    if human is not None:
        by_ranking |= plausibility(ranked, *human)
    if "soft" in names:
        soft = measures.soft_erasure(probe, predicted, scores, seeds)
        by_ranking["soft_comprehensiveness"], by_ranking["soft_sufficiency"] = soft
    if "limits" in names:
        of_rankings = by_ranking["comprehensiveness_removal"].mean(2)
        arrays["low"], arrays["high"] = limits.comprehensiveness_limits(
            probe, predicted, scores[LEAVE_ONE_OUT], of_rankings, rngs
        )
    if "agreement" in names:
        arrays["tau_gradient"] = agreement.kendall(scores[ATTENTION], scores[GRADIENT])
        arrays["tau_leave_one_out"] = agreement.kendall(scores[ATTENTION], scores[LEAVE_ONE_OUT])
        arrays["permuted"], arrays["uniform"] = agreement.replaced_weights(probe, predicted, rngs)
        arrays["adversarial"] = agreement.adversarial_weights(probe, predicted, rngs)
    return arrays | {name: np.moveaxis(values, 0, 1) for name, values in by_ranking.items()}, scores


def _texts(data: TextDataModule, rows: np.ndarray) -> list[np.ndarray]:
    """The truncated tokens of these test texts."""
    split = data.tokenized("test")
    builder = BatchBuilder(split.tokens, split.offsets, split.labels, data.truncation)
    spans = zip(builder.starts(rows), builder.lengths[rows], strict=True)
    return [np.asarray(split.tokens[start : start + length], dtype=np.int64) for start, length in spans]


def _marks(card: Card, data: TextDataModule, probe: Probe, rows: np.ndarray) -> list[np.ndarray] | None:
    """Whether people marked each known token of these test texts; None if the data have no rationales."""
    rationales = data.rationales("test", rows.tolist())
    if rationales is None:
        return None
    marks = []
    for text, rationale, tokens in zip(data.texts("test", rows.tolist()), rationales, _texts(data, rows), strict=True):
        spans = card.codec.tokenizer.spans(text)
        start = 0 if data.truncation.keep == "first" else len(spans) - len(tokens)
        marks.append(mark_tokens(spans[start : start + len(tokens)], rationale)[probe.known(tokens)])
    return marks


def _words(card: Card, data: TextDataModule, probe: Probe, rows: np.ndarray) -> list[list[str]]:
    """The words of the known tokens of these test texts."""
    _, words = card.codec.read(data.texts("test", rows.tolist()))
    return [
        [text_words[i] for i in np.flatnonzero(probe.known(tokens))]
        for tokens, text_words in zip(_texts(data, rows), words, strict=True)
    ]


def _chunks(lengths: np.ndarray) -> list[np.ndarray]:
    """Divide texts into successive chunks of about CHUNK_TOKENS tokens."""
    chunk = (np.cumsum(lengths) - 1) // CHUNK_TOKENS
    return np.split(np.arange(len(lengths)), np.flatnonzero(np.diff(chunk)) + 1)
