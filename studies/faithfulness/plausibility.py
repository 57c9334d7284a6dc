"""Agreement of rankings with human rationales: `python -m studies.faithfulness.plausibility <runs>`.

Rationales are the words that people marked as evidence, as in data=eraser_movies (DeYoung et al. 2020).

Plausibility is not faithfulness: a ranking can convince readers and still misrepresent the model.
"""

import json
from collections.abc import Sequence
from unicodedata import normalize

import numpy as np

from heedful.base.errors import UserError
from heedful.faithfulness.measurement import rank_texts
from heedful.faithfulness.measures import Ranked
from heedful.faithfulness.trained import ProbedRun, SampledTexts
from studies.faithfulness.script import Arrays, by_ranking, compute_chunks, study

OVERLAP = 0.5  # smallest intersection over union of two spans that match (DeYoung et al. 2020, section 4.1)
HEADINGS = {
    "auprc": "average precision of human rationales (high)",
    "auprc_trapezoid": "AUPRC of human rationales (trapezoids) (high)",
    "token_f1": "token F1 of human rationales (high)",
    "iou_f1": "IOU F1 of human rationales (high)",
}


def mark_tokens(spans: np.ndarray, rationale: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return whether each token overlaps a span of the rationale: L bool.

    Args:
        spans: L×2, the start and stop of each token, in characters.
        rationale: the start and stop of each marked span, in characters.
    """
    marked = np.zeros(len(spans), dtype=bool)
    for start, stop in rationale:
        marked |= (spans[:, 0] < stop) & (spans[:, 1] > start)
    return marked


def plausibility(ranked: Ranked, marks: Sequence[np.ndarray], share: float) -> dict[str, np.ndarray]:
    """Return the agreement of each ranking with the marks, R×n for each measure; NaN for texts without a marked token.

    Args:
        marks: for each text, whether each token is marked.
        share: share of the tokens of each text that count as selected in the two F1 scores: the top-ranked tokens, at
            least one.
    """
    scores = np.full((len(HEADINGS), len(ranked), len(marks)), np.nan)
    for r, orders in enumerate(ranked.values()):
        for i, (order, marked) in enumerate(zip(orders, marks, strict=True)):
            if marked.any():
                selected = np.zeros(len(marked), dtype=bool)
                selected[order[: max(1, int(np.rint(share * len(marked))))]] = True
                token_f1 = 2 * (selected & marked).sum() / (selected.sum() + marked.sum())
                scores[:, r, i] = *areas_under_curve(order, marked), token_f1, iou_f1(selected, marked)
    return dict(zip(HEADINGS, scores, strict=True))


def areas_under_curve(order: np.ndarray, marked: np.ndarray) -> tuple[float, float]:
    """Return average precision, and ERASER's area under the precision-recall curve by the trapezoidal rule."""
    from sklearn.metrics import auc, average_precision_score, precision_recall_curve  # the import takes half a second

    scores = -np.argsort(order)
    precision, recall, _ = precision_recall_curve(marked, scores)
    return float(average_precision_score(marked, scores)), float(auc(recall, precision))


def iou_f1(selected: np.ndarray, marked: np.ndarray) -> float:
    """Return the F1 score of spans of selected tokens against spans of marked tokens, in one text.

    Two spans match if their intersection over union is at least 0.5. ERASER sums the matches over all texts instead.
    """
    spans, others = _spans(selected), _spans(marked)
    low = np.maximum(spans[:, None, 0], others[None, :, 0])
    high = np.minimum(spans[:, None, 1], others[None, :, 1])
    common = np.maximum(0, high - low)
    lengths, other_lengths = np.diff(spans)[:, 0], np.diff(others)[:, 0]
    match = common / (lengths[:, None] + other_lengths[None] - common) >= OVERLAP
    precision, recall = match.any(1).mean(), match.any(0).mean()
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def _spans(selected: np.ndarray) -> np.ndarray:
    """Return the start and stop of each span of consecutive selected tokens: spans×2."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], selected.astype(np.int8), [0]])))
    return edges.reshape(-1, 2)


def find_marks(trained: ProbedRun, rows: np.ndarray) -> list[np.ndarray]:
    """Return whether people marked each known token of these test texts."""
    data, marks = trained.data, []
    if (rationales := data.origins("test", rows.tolist()).get("rationale")) is None:
        raise UserError(f"{trained.run}: the texts have no human rationales, as those of data=eraser_movies have")
    texts = zip(data.texts("test", rows.tolist()), rationales, trained.tokens("test", rows), strict=True)
    for text, rationale, tokens in texts:
        text = normalize("NFC", text)  # as the tokenizer spells its tokens
        spans = find_words(text, trained.codec.tokenizer.read([text])[1])
        words = find_words(text, text.split())
        marked = [
            (words[own["start"], 0], words[own["end"] - 1, 1])
            for own in json.loads(rationale)
            if own["end"] > own["start"]
        ]
        start = 0 if data.truncation.keep == "first" else len(spans) - len(tokens)
        marks.append(mark_tokens(spans[start : start + len(tokens)], marked)[trained.probe.known(tokens)])
    return marks


def find_words(text: str, words: Sequence[str]) -> np.ndarray:
    """Return the start and stop of each of the words of a text, in characters: L×2."""
    spans, stop = np.zeros((len(words), 2), dtype=np.int64), 0
    for span, word in zip(spans, words, strict=True):
        start = text.index(word, stop)
        span[:] = start, (stop := start + len(word))
    return spans


def compute(trained: ProbedRun, sample: SampledTexts, seed: int) -> Arrays:
    marks = find_marks(trained, sample.rows)
    share = float(np.concatenate(marks).mean())

    def of_chunk(chunk: np.ndarray) -> Arrays:
        rngs = [np.random.default_rng([seed, row]) for row in sample.rows[chunk].tolist()]
        orders = rank_texts(trained.probe, [sample.texts[i] for i in chunk], rngs).orders
        values = plausibility(orders, [marks[i] for i in chunk], share)
        arrays: dict[tuple[str, str], np.ndarray] = {}
        for name in HEADINGS:
            arrays |= by_ranking(orders, name, values[name])
        return arrays

    return compute_chunks(trained, sample, of_chunk)


if __name__ == "__main__":
    study("plausibility", __doc__, compute, HEADINGS)
