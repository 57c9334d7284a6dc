"""A linear branch beside the neural model: logistic regression on the n-grams of a text."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from src.data.padded_batches import BatchBuilder, by_length
from src.models.component import Component, Size
from src.models.embedding.ngrams import MAX_ORDER, first_occurrences, ngram_rows

BATCH = 256  # texts whose n-grams are computed together
CANDIDATES = (3.0, 10.0, 30.0, 100.0)  # for c
SMOOTHING = 1.0  # is added to the number of texts of a class that contain an n-gram


class Features(NamedTuple):
    """The distinct n-grams of n texts: those of text i are `rows[offsets[i]:offsets[i + 1]]`."""

    rows: np.ndarray  # int32, rows of the table
    offsets: np.ndarray  # n+1 int64


class NgramBranch(Component):
    """Logistic regression on the n-grams that occur in a text; it is fitted before the other components are trained.

    The value of an n-gram is its scale if it occurs and 0 otherwise, divided by the Euclidean norm of the values of the
    text. In training, the branch is not used, so that the other components do not rely on it; in evaluation, the logits
    are the weighted mean of its logits and theirs.

    Args:
        num_logits: 1, or the number of classes C.
        max_order: longest n-gram, in tokens.
        buckets: number of rows that n-grams of two or more tokens share; None: 2²⁰ for up to four classes, else 2¹⁸.
        scale: `idf`, ln((1 + n) / (1 + d)) + 1 for an n-gram that occurs in d of n training texts; `nb`, for each class
            the log ratio of its frequencies in the texts of this class and in the others (Wang and Manning 2012); or
            `nb_idf`, the idf times the square root of the absolute log ratio.
        min_count: number of training texts that contain an n-gram; rarer n-grams are left out.
        head, tail: number of tokens at the beginning and at the end of a text whose n-grams are features of their own,
            in addition; a list of numbers for several ends.
        c: inverse strength of the L2 penalty; None: 3, 10, 30 or 100, with the lowest loss on the validation texts.
        weight: weight of the logits of the branch in the mean, 0 to 1; None: before each validation, the multiple of
            0.05 with the lowest loss on the validation texts.
    """

    table: Tensor
    bias: Tensor
    weight: Tensor

    def __init__(
        self,
        vocabulary: Sequence[str],
        num_logits: int,
        *,
        max_order: Annotated[int, Field(ge=1, le=MAX_ORDER)] = 2,
        buckets: Size | None = None,
        scale: Literal["idf", "nb", "nb_idf"] = "idf",
        min_count: Size = 1,
        head: Annotated[int, Field(ge=0)] = 0,
        tail: Annotated[int, Field(ge=0)] | list[Annotated[int, Field(ge=0)]] = 0,
        c: Annotated[float, Field(gt=0)] | None = 10.0,
        weight: Annotated[float, Field(ge=0, le=1)] | None = 0.5,
    ) -> None:
        super().__init__()
        default = 2**20 if num_logits <= 4 else 2**18  # the table has a column for each class
        self.words, self.buckets = len(vocabulary), default if buckets is None else buckets
        self.max_order = max_order
        self.scale = scale
        self.min_count = min_count
        self.head, self.tails = head, [tail] if isinstance(tail, int) else tail
        self.c = c
        self.chooses_weight = weight is None
        self.register_buffer("weight", torch.tensor(1.0 if weight is None else weight))
        columns = 1 if num_logits <= 2 else num_logits  # two classes have one column, the log odds of class 1
        self.num_logits = num_logits
        norms = 1 if scale == "idf" else columns
        # columns: scale × weight for each class, then the squares of the scales
        self.register_buffer("table", torch.zeros(self.words + self.buckets, columns + norms))
        self.register_buffer("bias", torch.zeros(columns))

    def features(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows of the n-grams of texts, N×L ids → N×F, and whether each is there for the first time, N×F."""
        rows = ngram_rows(tokens, self.max_order, self.words, self.buckets)  # N×L×O
        parts, shown = [rows.flatten(1)], [mask.unsqueeze(-1).expand_as(rows).flatten(1)]
        length = mask.sum(1, keepdim=True)  # N×1
        starts = [(torch.zeros_like(length), self.head), *((length - tail, tail) for tail in self.tails)]
        for number, (start, size) in enumerate(starts, 1):
            if size:  # the same n-gram in a zone is another feature
                positions = start + torch.arange(size, device=tokens.device)  # N×S
                inside = ((positions >= 0) & (positions < length)).unsqueeze(-1).expand(-1, -1, self.max_order)
                found = rows.gather(1, positions.clamp(0, tokens.shape[1] - 1).unsqueeze(-1).expand_as(inside))
                parts.append(((found + number * 0x9E3779B1) * 0x85EBCA6B % self.buckets + self.words).flatten(1))
                shown.append(inside.flatten(1))
        every, is_shown = torch.cat(parts, 1), torch.cat(shown, 1)
        every = every.masked_fill(~is_shown, -1)
        return every.clamp(min=0), is_shown & first_occurrences(every)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return logits N×num_logits: N×L ids, N×L bool."""
        rows, present = self.features(tokens, mask)
        values = present.to(self.table.dtype)
        sums = functional.embedding_bag(rows, self.table, mode="sum", per_sample_weights=values)  # N×(columns + norms)
        columns = len(self.bias)
        scores = sums[:, :columns] / sums[:, columns:].clamp(min=1e-12).sqrt() + self.bias
        if self.num_logits == 2:
            scores = torch.cat([-scores / 2, scores / 2], 1)
        elif self.num_logits > 2:
            scores = functional.logsigmoid(scores)  # of one class against the rest
        return scores

    @torch.no_grad()
    def fit(self, texts: BatchBuilder, held_out: BatchBuilder, loss: Callable[[Tensor, Tensor], Tensor]) -> None:
        """Fit the weights to the training texts; the result does not depend on any random state."""
        features, labels = self._extract(texts), texts.labels.cpu().numpy()

        def held_out_loss(c: float) -> float:
            self._fit(features, labels, c)
            batches = map(held_out, by_length(held_out.lengths, BATCH, rank=0, world_size=1))
            return sum(len(batch.labels) * loss(self(*batch[:2]), batch.labels).item() for batch in batches)

        self._fit(features, labels, min(CANDIDATES, key=held_out_loss) if self.c is None else self.c)

    def _fit(self, features: Features, labels: np.ndarray, c: float) -> None:
        from scipy.sparse import csr_matrix
        from sklearn.linear_model import LogisticRegression  # the import takes half a second

        counts = np.bincount(features.rows, minlength=len(self.table))
        kept = counts >= self.min_count
        is_kept, used = kept[features.rows], np.flatnonzero(kept)  # the matrix has a column for each used row
        offsets = np.append(0, np.cumsum(is_kept))[features.offsets]
        features = Features((np.cumsum(kept, dtype=np.int32) - 1)[features.rows[is_kept]], offsets)
        counts, sizes = counts[used], np.diff(offsets)
        table, columns = np.zeros(self.table.shape, dtype=np.float32), len(self.bias)
        for column in range(columns):
            positive = labels == (1 if columns == 1 else column)
            if column < table.shape[1] - columns:  # otherwise, all classes have the scales of the first
                scales = self._scales(features, counts, positive)
                values = scales[features.rows]
                norms = np.sqrt(np.add.reduceat(np.append(values**2, 0.0), offsets[:-1]) * (sizes > 0))
                values /= np.repeat(np.maximum(norms, 1e-6), sizes)
                matrix = csr_matrix((values, features.rows, offsets), shape=(len(sizes), max(len(used), 1)))
                table[used, columns + column] = scales**2
            if positive.all() or not positive.any():  # nothing to fit: the log odds of the smoothed frequency
                share = (positive.sum() + SMOOTHING) / (len(positive) + 2 * SMOOTHING)
                self.bias[column] = float(np.log(share / (1 - share)))
                continue
            model = LogisticRegression(C=c, solver="liblinear", dual=True, random_state=0, max_iter=1000).fit(
                matrix, positive
            )
            table[used, column] = scales * model.coef_[0, : len(used)]
            self.bias[column] = float(model.intercept_[0])
        self.table.copy_(torch.from_numpy(table))

    def _extract(self, texts: BatchBuilder) -> Features:
        by_text: list[Any] = [None] * len(texts)
        for rows in by_length(texts.lengths, BATCH, rank=0, world_size=1):
            batch = texts(rows)
            found, present = (values.cpu().numpy() for values in self.features(batch.tokens, batch.mask))
            for i, row in enumerate(rows.tolist()):
                by_text[row] = found[i, present[i]].astype(np.int32)
        return Features(np.concatenate(by_text), np.cumsum([0, *map(len, by_text)]))

    def _scales(self, features: Features, counts: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """Return the scale of each used row of the table."""
        idf = np.log((1 + len(positive)) / (1 + counts)) + 1
        if self.scale == "idf":
            return idf
        of_class = np.repeat(positive, np.diff(features.offsets))
        inside = np.bincount(features.rows[of_class], minlength=len(counts)) + SMOOTHING
        outside = counts - inside + 2 * SMOOTHING
        unused = SMOOTHING * (len(self.table) - len(counts)) if self.scale == "nb" else 0.0  # nb smooths all rows
        ratio = np.log(inside / (inside.sum() + unused)) - np.log(outside / (outside.sum() + unused))
        return ratio if self.scale == "nb" else np.sqrt(np.abs(ratio)) * idf
