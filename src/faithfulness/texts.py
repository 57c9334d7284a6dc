"""Compute the measures that do not train models, for the test texts of one model."""

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np

from src.console import row_progress
from src.errors import UserError
from src.faithfulness import agreement, limits, measures
from src.faithfulness.erasure import rank
from src.faithfulness.measures import Predicted
from src.faithfulness.plausibility import plausibility
from src.faithfulness.probe import Probe, Scores, pad
from src.faithfulness.rankings import rank_tokens
from src.faithfulness.threads import map_in_threads
from src.faithfulness.trained import Sample, TrainedRun
from src.records.faithfulness import Record
from src.records.faithfulness_names import ATTENTION, GRADIENT, LEAVE_ONE_OUT

# number of tokens that are measured together; 2,000 tokens at a time cost 6 to 10 % more CPU time than 8,000 at a time
CHUNK_TOKENS = 4_000
EXAMPLES = 3  # number of texts whose scores the record contains
EXAMPLE_TOKENS = 40  # the examples are the texts with lengths closest to this number of tokens


def measure_sample(trained: TrainedRun, sample: Sample, options: dict[str, Any], title: str) -> Record:
    """Measure a sample of test texts, and return the record.

    Args:
        options: the result of `options_of`, restricted to measures that do not train models.
        title: first words of the progress line.

    Raises:
        UserError: if the only measure is `plausibility`, and the data have no rationales.
    """
    start = time.perf_counter()
    rows, labels, texts, skipped = sample
    seed = options["seed"]
    marks = trained.marks(rows) if "plausibility" in options["measures"] else None
    if marks is None and options["measures"] == ["plausibility"]:
        raise UserError(
            f"{trained.run}: plausibility needs texts with human rationales, such as those of data=eraser_movies"
        )
    share = float(np.concatenate(marks).mean()) if marks else 0.0
    lengths = np.array([len(text) for text in texts])
    readable = np.sort(np.argsort(np.abs(lengths - EXAMPLE_TOKENS), kind="stable")[:EXAMPLES])

    def measure_chunk(probe: Probe, selection: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Scores]]:
        return measure_texts(
            probe,
            [texts[i] for i in selection],
            [[seed, int(rows[i])] for i in selection],
            options["measures"],
            None if marks is None else ([marks[i] for i in selection], share),
        )

    chunks = _chunks(lengths)
    arrays_of_chunks: list[dict[str, np.ndarray]] = []
    scores: dict[str, Scores] = {}  # by ranking
    measured = map_in_threads(trained.probe, measure_chunk, chunks)
    with closing(measured), row_progress(f"{title}: measured", len(texts), "texts") as advance:
        for selection, (arrays, by_ranking) in zip(chunks, measured, strict=True):
            arrays_of_chunks.append(arrays)
            for name, values in by_ranking.items():
                scores.setdefault(name, []).extend(values)
            advance(len(selection))
    arrays = {name: np.concatenate([chunk[name] for chunk in arrays_of_chunks]) for name in arrays_of_chunks[0]}
    predicted = arrays["probabilities"].argmax(1)
    weights = pad(scores[ATTENTION], np.arange(len(texts)), lengths.max())
    arrays |= {"rows": rows, "lengths": lengths, "correct": predicted == labels, "weights": weights}
    of_examples = [np.concatenate([values[i] for i in readable]) for values in scores.values()]
    arrays["scores"] = np.stack(of_examples).astype(np.float32)
    names = trained.codec.class_names
    results = {
        "rankings": list(scores),
        "skipped": skipped,
        "seconds": time.perf_counter() - start,
        "examples": [
            {"words": words, "label": names[labels[i]], "predicted": names[predicted[i]]}
            for i, words in zip(readable, trained.words(rows[readable]), strict=True)
        ],
    }
    return Record({**options, **results}, arrays)


def measure_texts(
    probe: Probe,
    texts: Sequence[np.ndarray],
    seeds: Sequence[Sequence[int]],
    names: Sequence[str],
    rationales: tuple[list[np.ndarray], float] | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, list[np.ndarray]]]:
    """Return the arrays of a record for some texts, and the scores of the tokens by ranking.

    Args:
        texts: n texts, each of one or more tokens, all of which the model knows.
        seeds: a seed for each text, so that a text's random numbers do not depend on the other texts.
        names: names in MEASURES.
        rationales: whether people marked each token of each text, and the share of marked tokens in all texts of the
            sample; None if plausibility is not measured.
    """
    rngs = [np.random.default_rng(text_seeds) for text_seeds in seeds]
    probabilities = probe.probabilities(texts)
    classes = probabilities.argmax(1)
    predicted = Predicted(texts, classes, probabilities.max(1))
    scores, errors = rank_tokens(probe, texts, classes, rngs)
    ranked = {
        name: [rank(text, rng) for text, rng in zip(values, rngs, strict=True)] for name, values in scores.items()
    }
    arrays = {"probabilities": probabilities, "integral_error": errors}
    by_ranking: dict[str, np.ndarray] = {}
    for by in ("removal", "unknown"):
        if by in names or (by == "removal" and "limits" in names):
            by_ranking[f"comprehensiveness_{by}"] = measures.comprehensiveness(probe, predicted, ranked, by)
            by_ranking[f"sufficiency_{by}"] = measures.sufficiency(probe, predicted, ranked, by)
    if "flip" in names:
        by_ranking["flip"] = measures.decision_flips(probe, predicted, ranked)
    if "polarity" in names:
        by_ranking["polarity"] = measures.polarity_violations(ranked, scores[LEAVE_ONE_OUT])
    if rationales is not None:
        by_ranking |= plausibility(ranked, *rationales)
    if "soft" in names:
        soft = measures.soft_erasure(probe, predicted, scores, seeds)
        by_ranking["soft_comprehensiveness"], by_ranking["soft_sufficiency"] = soft
    if "limits" in names:
        for name in ("comprehensiveness", "sufficiency"):
            of_rankings = by_ranking[f"{name}_removal"].mean(2)
            low_and_high = limits.search_limits(
                probe, predicted, scores, of_rankings, rngs, retain=name == "sufficiency"
            )
            arrays[f"{name}_low"], arrays[f"{name}_high"] = low_and_high
    if "agreement" in names:
        arrays["tau_gradient"] = agreement.kendall(scores[ATTENTION], scores[GRADIENT])
        arrays["tau_leave_one_out"] = agreement.kendall(scores[ATTENTION], scores[LEAVE_ONE_OUT])
        arrays["permuted"], arrays["uniform"] = agreement.replaced_weights(probe, predicted, rngs)
        arrays["adversarial"] = agreement.adversarial_weights(probe, predicted, rngs)
    return arrays | {name: np.moveaxis(values, 0, 1) for name, values in by_ranking.items()}, scores


def _chunks(lengths: np.ndarray) -> list[np.ndarray]:
    """Divide texts into successive chunks of about CHUNK_TOKENS tokens."""
    chunk = (np.cumsum(lengths) - 1) // CHUNK_TOKENS
    return np.split(np.arange(len(lengths)), np.flatnonzero(np.diff(chunk)) + 1)
