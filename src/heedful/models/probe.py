"""A trained classifier as a function of tokens, embeddings or attention weights, for many texts at a time."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from heedful.data.padded_batches import Inputs, Truncation
from heedful.models.attention.none import NoAttention
from heedful.models.classifier import Classifier, mean_weights
from heedful.tasks.task import Task

# maximum number of tokens, including padding, in a batch of two or more texts; batches of 32,000 tokens cost a quarter
# more CPU time than batches of 16,000 or 8,000
BATCH_TOKENS = 16_000
QUADRATIC_TOKENS = 4_000  # maximum number of tokens in a batch whose token × token weights are computed

# The tokens of each text: their ids, L int64; or records, as `Probe.tokens` returns them, if the model reads more
TokenIds = Sequence[np.ndarray]
Scores = list[np.ndarray]  # a score for each token of each text
# maps the probability N of a class as a function of embeddings, and the embeddings N×L×D, to attributions and errors N
Attribute = Callable[[Callable[[Tensor], Tensor], Tensor], tuple[Tensor, Tensor]]


class Probe:
    """A model's class probabilities and their derivatives; the result for a text does not depend on other texts."""

    def __init__(self, model: Classifier, task: Task, truncation: Truncation) -> None:
        self.model = model.eval()
        self.task = task
        self.truncation = truncation
        self.device = next(model.parameters()).device
        self.columns: list[np.ndarray] = []  # K features of each text beside its tokens, by the `row` of these

    def tokens(self, inputs: Inputs) -> np.ndarray:
        """Return the tokens of one text: of pairs, records with their segments; beside columns, with their text."""
        length = int(inputs.mask.sum())
        fields = {"id": inputs.ids[0, :length].cpu().numpy()}
        if inputs.segments is not None:
            fields["segment"] = inputs.segments[0, :length].cpu().numpy()
        if inputs.columns is not None:
            fields["row"] = np.full(length, len(self.columns))
            self.columns.append(inputs.columns[0].cpu().numpy())
        if len(fields) == 1:
            return fields["id"]
        records = np.empty(length, [(name, np.int64) for name in fields])
        for name, values in fields.items():
            records[name] = values
        return records

    def known(self, tokens: np.ndarray) -> np.ndarray:
        """Return for each token of a text whether the model uses it: L bool."""
        ids = torch.from_numpy(tokens["id"] if tokens.dtype.names else tokens).to(self.device)[None]
        return self.model.embedding.known(Inputs(ids, torch.ones_like(ids, dtype=torch.bool)))[0].cpu().numpy()

    def batches(self, texts: TokenIds, budget: int = BATCH_TOKENS) -> Iterator[tuple[np.ndarray, Inputs]]:
        """Yield the rows and inputs of batches of at most `budget` tokens, with padding, or of a single longer text."""
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        rows = np.argsort(-lengths, kind="stable")
        start = 0
        while start < len(rows):
            padded = max(1, self.truncation.padded_length(int(lengths[rows[start]])))
            selected = rows[start : start + max(1, budget // padded)]
            start += len(selected)
            yield selected, self.batch([texts[row] for row in selected])

    def batch(self, texts: TokenIds) -> Inputs:
        """Return the inputs of texts; those without tokens have features of 0."""
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        mask = np.arange(max(1, self.truncation.padded_length(int(lengths.max())))) < lengths[:, None]
        tokens, segments, columns = np.concatenate(texts), None, None
        names = tokens.dtype.names or ()
        if "segment" in names:
            segments = self._fill(mask, tokens["segment"])
        if "row" in names:
            values = np.zeros((len(texts), len(self.columns[0])), dtype=np.float32)
            for line, text in zip(values, texts, strict=True):
                line[:] = self.columns[text["row"][0]] if len(text) else 0
            columns = self._tensor(values)
        ids = self._fill(mask, tokens["id"] if names else tokens)
        return Inputs(ids, self._tensor(mask), segments, columns)

    def _fill(self, mask: np.ndarray, values: np.ndarray) -> Tensor:
        """Return the values of the tokens at their places, N×L int64, and 0 on padding."""
        filled = np.zeros(mask.shape, dtype=np.int64)
        filled[mask] = values
        return self._tensor(filled)

    @torch.inference_mode()
    def probabilities(self, texts: TokenIds) -> np.ndarray:
        """Return the probability of each class for each text: n×C float64."""
        result: np.ndarray | None = None
        for rows, inputs in self.batches(texts):
            values = self.task.probabilities(self.model(inputs)).double().cpu().numpy()
            result = np.empty((len(texts), values.shape[1])) if result is None else result
            result[rows] = values
        return np.empty((0, 0)) if result is None else result

    def probability(self, texts: TokenIds, classes: np.ndarray) -> np.ndarray:
        """Return the probability of class `classes[i]` for each text i: n."""
        return self.probabilities(texts)[np.arange(len(texts)), classes] if len(texts) else np.empty(0)

    def without_each(self, texts: TokenIds, classes: np.ndarray) -> Scores:
        """Return p(c|x without the token) for each token of each text x."""
        shorter = [np.delete(text, i) for text in texts for i in range(len(text))]
        lengths = [len(text) for text in texts]
        return np.split(self.probability(shorter, np.repeat(classes, lengths)), np.cumsum(lengths)[:-1])

    def class_probability(self, embeddings: Tensor, inputs: Inputs, classes: Tensor) -> Tensor:
        """Return the probability of class `classes[i]` for each text i, with embeddings N×L×D of its tokens: N."""
        return self._of_class(self.model.classify(self.model.encode(inputs, embeddings), inputs.columns), classes)

    @torch.inference_mode()
    def attention(self, texts: TokenIds) -> Scores:
        """Return the attention weight of each token, averaged over heads and rows.

        If the encoder has self-attention layers, the weight is traced back through them: it becomes the sum, over all
        paths from the attention to the token, of the product of the weights along the path. The weights of each layer
        are first averaged with the identity matrix (attention rollout, Abnar & Zuidema 2020, section 3).
        """
        scores = [np.empty(0)] * len(texts)
        for rows, inputs in self.batches(texts, QUADRATIC_TOKENS):
            weights = mean_weights(self.model.weights(inputs).float())  # N×L
            for layer in reversed(self.model.layer_weights(inputs).values()):
                identity = torch.eye(inputs.ids.shape[1], device=self.device)
                weights = ((layer.float().mean(1) + identity) / 2 * weights.unsqueeze(2)).sum(1)
            _store(scores, rows, texts, weights)
        return scores

    def attention_gradient(self, texts: TokenIds, classes: np.ndarray) -> Scores | None:
        """Return Σ a ∂p/∂a over the weights a of each token, with p = p(class `classes[i]`); None without attention."""
        if isinstance(self.model.attention, NoAttention):
            return None
        scores = [np.empty(0)] * len(texts)
        for rows, inputs in self.batches(texts, QUADRATIC_TOKENS):
            with torch.no_grad():
                encoded = self.model.encode(inputs)
                weights = self.model.attention.weights(encoded)
            weights.requires_grad_()
            logits = self.model.classify(encoded, inputs.columns, weights)
            (gradient,) = torch.autograd.grad(self._of_class(logits, self._tensor(classes[rows])).sum(), weights)
            _store(scores, rows, texts, (weights * gradient).detach().float().sum((1, 2)) * inputs.mask)
        return scores

    def gradient_times_input(self, texts: TokenIds, classes: np.ndarray) -> Scores:
        """Return Σ_d x_d ∂p/∂x_d for each token, where x is its embedding and p the probability of the class."""

        def method(probability: Callable[[Tensor], Tensor], embeddings: Tensor) -> tuple[Tensor, Tensor]:
            embeddings.requires_grad_()
            (gradient,) = torch.autograd.grad(probability(embeddings).sum(), embeddings)
            return embeddings * gradient, torch.zeros(len(embeddings))

        return self.attribute(texts, classes, method)[0]

    def attribute(self, texts: TokenIds, classes: np.ndarray, method: Attribute) -> tuple[Scores, np.ndarray]:
        """Return the token scores of an attribution method, and its error for each text, n; NaN if it overflows."""
        scores, errors = [np.empty(0)] * len(texts), np.zeros(len(texts))
        with torch.backends.cudnn.flags(enabled=False):  # cuDNN's RNNs compute no gradients in evaluation mode
            for rows, inputs in self.batches(texts, BATCH_TOKENS // 4):
                embeddings = self.model.embedding(inputs).detach()
                probability = partial(self.class_probability, inputs=inputs, classes=self._tensor(classes[rows]))
                attributions, deltas = method(probability, embeddings)
                _store(scores, rows, texts, attributions.detach().float().sum(2) * inputs.mask)
                errors[rows] = deltas.detach().nan_to_num(torch.nan, torch.nan, torch.nan).cpu().numpy()
        return scores, errors

    def _of_class(self, logits: Tensor, classes: Tensor) -> Tensor:
        return self.task.probabilities(logits).gather(1, classes.unsqueeze(1)).squeeze(1)

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(self.device)


def _store(scores: Scores, rows: np.ndarray, texts: TokenIds, values: Tensor) -> None:
    """Store row i of `values`, N×L float32, as the scores of the text `rows[i]`, without padding."""
    values = values.nan_to_num()  # gradients of a recurrent encoder may overflow
    for row, line in zip(rows.tolist(), values.double().cpu().numpy(), strict=True):
        scores[row] = line[: len(texts[row])]


def pad(scores: Scores, rows: np.ndarray, length: int) -> np.ndarray:
    """Return the scores of the texts in these rows, padded with zeros to `length`: N×length float32."""
    padded = np.zeros((len(rows), length), dtype=np.float32)
    for line, row in zip(padded, rows.tolist(), strict=True):
        line[: len(scores[row])] = scores[row]
    return padded
