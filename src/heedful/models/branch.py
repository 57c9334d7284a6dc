"""A linear branch beside the neural model: logistic or ridge regression on the n-grams of a text."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from heedful.base.errors import UserError
from heedful.data.padded_batches import BatchBuilder, Inputs, by_length
from heedful.models.component import Component, Size
from heedful.models.loss import Loss
from heedful.models.ngram_codes import (
    ABSENT,
    MAX_ORDER,
    Features,
    Ngrams,
    character_codes,
    first_occurrences,
    is_new,
    join_codes,
    of_tokens,
    shift_right,
    word_ngrams,
)
from heedful.tasks.multiclass import Multiclass
from heedful.tasks.task import Task, converging, logistic_regression

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

BATCH = 256  # texts whose n-grams are computed together
CHUNK = 2**20  # n-grams whose rows are found together
CANDIDATES = (3.0, 10.0, 30.0, 100.0)  # for c
STEPS = 12  # codes that are compared; so many would begin with the same bits in one of ten million tables
NODES = 64  # of the Gauss-Legendre quadrature of gradients
SMOOTHING = 1.0  # is added to the number of texts of a class that contain an n-gram
INNER, INNER_C = 3, 10.0  # folds of the training texts that choose n-grams of characters, and their c if it is null


End = Annotated[int, Field(ge=0, le=10_000)]  # a number of tokens; the time grows with it


def mean_gradients(scores: Tensor, bias: Tensor, classes: Tensor) -> Tensor:
    """Return the mean gradient of the log odds of a class against all others, on the way to the scores of the classes.

    The probabilities are proportional to σ(z), with z from `bias` (C or N×C) to `bias + scores` (N×C) in a straight
    line. The sum of scores × gradients, both N×C, is therefore the change of the log odds.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    steps = scores.new_tensor((nodes + 1) / 2)
    z = bias + steps[:, None, None] * scores  # S×N×C
    is_class = functional.one_hot(classes, scores.shape[1]).bool()  # N×C
    others = functional.logsigmoid(z).masked_fill(is_class, -torch.inf).softmax(-1)
    gradients = torch.sigmoid(-z) * torch.where(is_class, 1.0, -others)
    return (scores.new_tensor(weights / 2)[:, None, None] * gradients).sum(0)


class NgramBranch(Component):
    """Logistic regression on the n-grams that occur in a text, or ridge regression if texts have numbers.

    It is fitted before the other components are trained.

    The value of an n-gram is its scale if it occurs and 0 otherwise, divided by the Euclidean norm of the values of the
    text. In training, the branch is not used, so that the other components do not rely on it; in evaluation, the logits
    are the weighted mean of its logits and theirs.

    With d of n training texts, the scale of an n-gram is ln((1 + n) / (1 + d)) + 1 for `idf`; for `nb`, it is for each
    class the log ratio of its frequencies in the texts of this class and in the others (Wang and Manning 2012), where
    numbers above their mean are a class; for `nb_idf`, it is the idf times the square root of the absolute log ratio.

    N-grams of characters have a norm of their own. With `characters` null, they are features if folds of the training
    texts have a lower loss with them, by more than a standard error. A null `c` has the lowest loss on the validation
    texts, and a null `weight`, before each validation, is the multiple of 0.05 that has it.
    """

    targets: ClassVar[tuple[str, ...]] = ("one class", "many labels", "a number")  # as in the class of the task
    codes: Tensor
    starts: Tensor
    table: Tensor
    bias: Tensor
    weight: Tensor
    of_columns: Tensor | None
    pieces: Tensor | None
    rows_of_pieces: Tensor | None

    def __init__(
        self,
        vocabulary: Sequence[str],
        num_logits: int,
        *,
        max_order: Annotated[int, Field(ge=1, le=MAX_ORDER)] = 2,
        max_gap: Annotated[int, Field(ge=0, le=MAX_ORDER)] = 0,
        scale: Literal["idf", "nb", "nb_idf"] = "idf",
        min_count: Size = 1,
        head: End = 0,
        tail: End | list[End] = 0,
        characters: bool | None = False,
        c: Annotated[float, Field(gt=0)] | None = 10.0,
        weight: Annotated[float, Field(ge=0, le=1)] | None = 0.5,
    ) -> None:
        super().__init__()
        tails = [tail] if isinstance(tail, int) else tail
        self.ngrams = partial(word_ngrams, max_order=max_order, max_gap=max_gap, head=head, tails=tails)
        self.scale = scale
        self.min_count = min_count
        self.c = c
        self.chooses_weight = weight is None
        self.register_buffer("weight", torch.tensor(1.0 if weight is None else weight))
        columns = 1 if num_logits <= 2 else num_logits  # two classes have one column, the log odds of class 1
        self.num_logits = num_logits
        self.task: Task = Multiclass()
        # the n-grams of the training texts, sorted by code, and a last row that stands for all others
        self.register_buffer("codes", torch.full((1,), ABSENT, dtype=torch.int32))
        self.register_buffer("starts", None, persistent=False)
        self._set_columns(columns)
        self.characters = characters
        pieces = None if characters is False else character_codes(vocabulary)
        self.register_buffer("pieces", pieces, persistent=False)  # V×P, codes of the n-grams of characters of a token
        self.register_buffer("rows_of_pieces", None, persistent=False)  # their rows in the table
        self.register_buffer("of_columns", None)  # K×columns, the weights of the further features of a text
        self._index()

    def _set_columns(self, columns: int) -> None:
        # columns: scale × weight for each class, then the squares of the scales
        self.register_buffer("table", torch.zeros(1, columns + (1 if self.scale == "idf" else columns)))
        self.register_buffer("bias", torch.zeros(columns))

    def bind(self, task: Task) -> None:
        """Give each class a column of its own, against all texts without it, if the task separates the classes."""
        self.task = task
        if task.separates:
            self._set_columns(self.num_logits)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        """Load the n-grams of a checkpoint, whose number only the training texts determine."""
        if (stored := state_dict.get(f"{prefix}codes")) is not None:
            self._resize(max(stored.numel(), 1))
        if (of_columns := state_dict.get(f"{prefix}of_columns")) is not None:
            self.of_columns = torch.zeros_like(of_columns, device=self.bias.device)
        super()._load_from_state_dict(state_dict, prefix, *args)
        self._index()

    def _resize(self, rows: int) -> None:
        self.codes = self.codes.new_full((rows,), ABSENT)
        self.table = self.table.new_zeros(rows, self.table.shape[1])

    def _index(self) -> None:
        """Find the first code with each sequence of leading bits."""
        self.codes[-1] = ABSENT
        bits = len(self.codes).bit_length() + 1  # at most half a code for each sequence, so that STEPS are enough
        prefixes = np.arange(2**bits) * 2 ** (32 - bits) - 2**31
        places = torch.from_numpy(prefixes.astype(np.int32)).to(self.codes.device)
        # on the meta device, torch's own arange and searchsorted would import torch._dynamo and sympy
        self.starts = places if places.is_meta else torch.searchsorted(self.codes, places, out_int32=True)
        self.rows_of_pieces = None
        if self.pieces is not None and not places.is_meta:
            rows, found = self.find(self.pieces)
            if found.any():  # otherwise, the folds have chosen none
                self.rows_of_pieces = rows.int().masked_fill(~found, len(self.codes) - 1)

    def find(self, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Return the row of each code in the table, and whether the code has one, both of the shape of the codes."""
        wanted, bits = codes.flatten(), len(self.starts).bit_length() - 1
        rows = self.starts.index_select(0, shift_right(wanted, 32 - bits) + 2 ** (bits - 1))
        for _ in range(STEPS):
            rows = rows + (self.codes.index_select(0, rows) < wanted)
        found = (self.codes.index_select(0, rows) == wanted) & (wanted != ABSENT)
        return rows.view_as(codes), found.view_as(codes)

    def forward(self, inputs: Inputs) -> Tensor:
        """Return logits N×num_logits."""
        codes = join_codes(self.ngrams(inputs)).sort(1).values
        rows, found = self.find(codes)
        sums, norms = self._sum(rows, found & is_new(codes))
        scores = sums / norms + self._offsets(inputs)
        if self.rows_of_pieces is not None:
            absent = len(self.codes) - 1
            rows = of_tokens(inputs, self.rows_of_pieces, absent).sort(1).values
            sums, norms = self._sum(rows, is_new(rows) & (rows != absent))
            scores = scores + sums / norms
        if self.task.separates:
            return scores
        if self.num_logits == 2:
            scores = torch.cat([-scores / 2, scores / 2], 1)
        elif self.num_logits > 2:
            scores = functional.logsigmoid(scores)  # of one class against the rest
        return scores

    def _offsets(self, inputs: Inputs) -> Tensor:
        """Return the scores of texts without n-grams, columns or N×columns."""
        if self.of_columns is None or inputs.columns is None:
            return self.bias
        return self.bias + inputs.columns.to(self.bias.dtype) @ self.of_columns

    def _sum(self, rows: Tensor, present: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sums N×columns over the n-grams N×F that are present, and the norms by which they are divided."""
        values = present.to(self.table.dtype)
        sums = functional.embedding_bag(rows.long(), self.table, mode="sum", per_sample_weights=values)
        columns = len(self.bias)
        return sums[:, :columns], sums[:, columns:].clamp(min=1e-12).sqrt()

    def contributions(self, inputs: Inputs, classes: Tensor) -> Tensor:
        """Return the share of each token in the log odds of a class of each text, N×L; `classes` has the shape N.

        The log odds, of the class against all others together, are the sum of the shares and the log odds of a text
        without n-grams. The share of an n-gram is divided equally among its tokens, where it first occurs; the first
        token also has the part of the beginning of the text.

        The shares in a number are in its unit. With more than two classes of which a text has one, the log odds are no
        sum over n-grams. The share of an n-gram is then the integral of its part in their change while the scores of
        all classes grow in proportion from those of a text without n-grams (integrated gradients, Sundararajan et al.
        2017).
        """
        words = self.ngrams(inputs)
        codes = join_codes(words)
        rows, found = self.find(codes)
        blocks = [(words, rows, found & first_occurrences(codes.long()))]
        if self.rows_of_pieces is not None:
            size, absent = self.rows_of_pieces.shape[1], len(self.codes) - 1
            rows = of_tokens(inputs, self.rows_of_pieces, absent)
            ends = torch.arange(inputs.ids.shape[1], device=rows.device).repeat_interleave(size).expand_as(rows)
            known = rows != absent
            blocks.append(([Ngrams(rows, known, ends, (0,))], rows, known & first_occurrences(rows)))
        parts = [self._sum(rows, present) for _, rows, present in blocks]
        scores = torch.stack([sums / norms for sums, norms in parts]).sum(0)
        if not self.task.has_classes:
            unit = self.task.scaled(torch.tensor([0.0, 1.0], dtype=torch.float64)).diff().item()
            factors = torch.full_like(scores, 1 / unit)  # N×1
        elif len(self.bias) == 1:
            factors = (2 * classes.unsqueeze(1) - 1).to(scores.dtype)  # N×1
        elif self.task.separates:
            factors = functional.one_hot(classes, len(self.bias)).to(scores.dtype)  # N×C
        else:
            factors = mean_gradients(scores.float(), self._offsets(inputs).float(), classes).to(scores.dtype)  # N×C
        total = torch.zeros_like(inputs.ids, dtype=scores.dtype)
        for (kinds, rows, present), (_, norms) in zip(blocks, parts, strict=True):
            by_text = zip(rows, factors / norms, strict=True)
            shares = torch.stack([self.table[row, : len(self.bias)] @ factor for row, factor in by_text]) * present
            for kind, share in zip(kinds, shares.split([kind.codes.shape[1] for kind in kinds], 1), strict=True):
                for distance in kind.distances:
                    total.scatter_add_(1, (kind.ends - distance).clamp(min=0), share / len(kind.distances))
        return total

    @torch.no_grad()
    def fit(self, texts: BatchBuilder, held_out: BatchBuilder | None, loss: Loss) -> None:
        """Fit the weights to the training texts, which have the class weights of the loss divided by their mean.

        With many labels, the texts that have a class have the `pos_weight` of the loss. The weights of the texts,
        divided by their mean, are further factors, and count in the scales of the n-grams.

        The result does not depend on any random state.
        """
        if held_out is None and (self.c is None or self.chooses_weight):
            raise UserError(
                "model.branch: validation texts choose c=null and weight=null, but data.val_fraction=0 leaves none: "
                "set both, for example to the numbers of an earlier training"
            )
        scaled = self.task.scaled
        labels = scaled(texts.targets).cpu().numpy()
        of_text = np.ones(len(labels))
        if loss.class_weights is not None:
            of_text = loss.class_weights.cpu().double().numpy()[labels]
            of_text /= of_text.mean() or 1.0
        if self.task.separates:
            positive = 1.0 if loss.pos_weight is None else loss.pos_weight.cpu().double().numpy()
            of_text = np.where(labels, positive, 1.0)  # N×C
        features = [self._distinct(texts, lambda inputs: join_codes(self.ngrams(inputs)))]
        if (pieces := self.pieces) is not None:
            features.append(self._distinct(texts, lambda inputs: of_tokens(inputs, pieces, ABSENT)))
        if (weights := features[0].weights) is not None:
            of_text = (of_text.T * weights).T
        if texts.columns is not None:
            self.of_columns = self.bias.new_zeros(texts.columns.shape[1], len(self.bias))
        found = self._find_ngrams(features)
        if self.characters is None:
            of_folds = [self._fold_losses(texts, part, labels, of_text, loss) for part in (found[:1], found)]
            gains = of_folds[0] - of_folds[1]  # n
            if gains.mean() <= gains.std() / len(gains) ** 0.5:
                found = self._find_ngrams(features[:1])

        def held_out_loss() -> float:
            assert held_out is not None
            batches = map(held_out, by_length(held_out.lengths, BATCH, rank=0, world_size=1))
            return sum(len(targets) * loss(self(inputs), scaled(targets)).item() for inputs, targets, _ in batches)

        best, kept = np.inf, list[Tensor]()
        with converging("model.branch.c"):
            for c in CANDIDATES if self.c is None else [self.c]:
                self._fit(found, texts.columns, labels, of_text, c)
                fitted = [part for part in (self.table, self.bias, self.of_columns) if part is not None]
                if self.c is None and ((value := held_out_loss()) < best or not kept):
                    best, kept = value, [part.clone() for part in fitted]
        for part, values in zip(fitted, kept or fitted, strict=True):
            part.copy_(values)

    def _fold_losses(
        self, texts: BatchBuilder, features: Sequence[Features], labels: np.ndarray, weights: np.ndarray, loss: Loss
    ) -> np.ndarray:
        """Return the loss of each training text by a model that other training texts have, n."""
        folds, losses = np.arange(len(texts)) % INNER, np.zeros(len(texts))
        for fold in range(INNER):
            rows = np.flatnonzero(folds != fold)
            beside = None if texts.columns is None else texts.columns[rows]
            with converging("model.branch.c"):
                self._fit([part.of(rows) for part in features], beside, labels[rows], weights[rows], self.c or INNER_C)
            held_out = np.flatnonzero(folds == fold)
            for part in by_length(texts.lengths[held_out], BATCH, rank=0, world_size=1):
                batch = texts(held_out[part])
                logits, targets = self(batch.inputs), self.task.scaled(batch.targets)
                found = [loss(logits[row : row + 1], targets[row : row + 1]).item() for row in range(len(targets))]
                losses[held_out[part]] = found
        return losses

    def _find_ngrams(self, features: Sequence[Features]) -> list[Features]:
        """Keep the n-grams of at least `min_count` texts, and return their rows in place of the codes."""
        codes, counts = np.unique(np.concatenate([part.ngrams for part in features]), return_counts=True)
        self._resize(int((counts >= self.min_count).sum()) + 1)
        self.codes[:-1] = torch.from_numpy(codes[counts >= self.min_count])
        self._index()
        kept = []
        for texts in features:
            parts = [self.find(part) for part in torch.from_numpy(texts.ngrams).to(self.codes.device).split(CHUNK)]
            rows, found = (torch.cat(values).cpu().numpy() for values in zip(*parts, strict=True))
            kept.append(Features(rows[found], np.append(0, np.cumsum(found))[texts.offsets], texts.weights))
        return kept

    def _fit(
        self,
        features: Sequence[Features],
        beside: "csr_matrix | None",
        labels: np.ndarray,
        weights: np.ndarray,
        c: float,
    ) -> None:
        """Fit each column; the weights of the texts are N, or N×C for many labels."""
        from scipy.sparse import csr_matrix, hstack

        used = len(self.table) - 1  # the last row belongs to no n-gram
        table, columns = np.zeros(self.table.shape, dtype=np.float32), len(self.bias)
        for column in range(columns):
            positive = labels[:, column] if self.task.separates else labels == (1 if columns == 1 else column)
            positive = positive if self.task.has_classes else labels > 0  # above the mean
            of_text = weights[:, column] if self.task.separates else weights
            if column < table.shape[1] - columns:  # otherwise, all classes have the scales of the first
                scales, matrices = np.zeros(used), []
                for part in features:
                    counts, sizes = part.counts(used), np.diff(part.offsets)
                    of_part = self._scales(part, counts, positive)
                    of_part = of_part if len(features) == 1 else np.where(counts > 0, of_part, 0.0)
                    values = of_part[part.ngrams]
                    norms = np.sqrt(np.add.reduceat(np.append(values**2, 0.0), part.offsets[:-1]) * (sizes > 0))
                    values /= np.repeat(np.maximum(norms, 1e-6), sizes)
                    scales = scales + of_part
                    shape = len(labels), max(used, 1)
                    matrices.append(csr_matrix((values, part.ngrams, part.offsets), shape=shape))
                matrix = sum(matrices[1:], matrices[0])
                table[:used, columns + column] = scales**2
                matrix = matrix if beside is None else hstack([matrix, beside], format="csr")
            counted = positive[of_text > 0]
            if counted.all() or not counted.any():  # nothing to fit: the log odds of the smoothed frequency
                share = (of_text[positive].sum() + SMOOTHING) / (of_text.sum() + 2 * SMOOTHING)
                self.bias[column] = float(np.log(share / (1 - share))) if self.task.has_classes else 0.0
                continue
            if self.task.has_classes:
                model = logistic_regression(c).fit(matrix, positive, of_text)
            else:
                model = self.task.linear_model(labels, c)[0].fit(matrix, labels, features[0].weights)  # type: ignore[index]
            coefficients = np.ravel(model.coef_)
            table[:used, column] = scales * coefficients[:used]
            self.bias[column] = float(np.ravel(model.intercept_)[0])
            if self.of_columns is not None:
                self.of_columns[:, column] = torch.from_numpy(coefficients[max(used, 1) :])
        self.table.copy_(torch.from_numpy(table))

    def _distinct(self, texts: BatchBuilder, codes_of: Callable[[Inputs], Tensor]) -> Features:
        """Return the distinct codes of the n-grams of texts, with the weights of the texts."""
        by_text: list[Any] = [None] * len(texts)
        for rows in by_length(texts.lengths, BATCH, rank=0, world_size=1):
            codes = np.sort(codes_of(texts(rows).inputs).cpu().numpy(), axis=1)
            present = (np.diff(codes, axis=1, prepend=ABSENT) != 0) & (codes != ABSENT)
            for i, row in enumerate(rows.tolist()):
                by_text[row] = codes[i, present[i]]
        weights = None if texts.weights is None else texts.weights / texts.weights.mean()
        return Features(np.concatenate(by_text), np.cumsum([0, *map(len, by_text)]), weights)

    def _scales(self, features: Features, counts: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """Return the scale of each n-gram."""
        idf = np.log((1 + len(positive)) / (1 + counts)) + 1
        if self.scale == "idf":
            return idf
        inside = features.counts(len(counts), positive) + SMOOTHING
        outside = counts - inside + 2 * SMOOTHING
        ratio = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
        return ratio if self.scale == "nb" else np.sqrt(np.abs(ratio)) * idf
