"""Simple models guided by the attention of another model: `python -m studies.faithfulness.guides <runs>`.

The test is from Wiegreffe and Pinter (2019); the values are 1 for a test text that a guide classifies correctly.

A guide uses no context: it applies an affine map and tanh to each word vector, and classifies the weighted sum of the
results. If a guide is more accurate with the attention weights of a trained model than with uniform weights, the
attention emphasizes words that also matter to a model that did not learn this attention.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from heedful.faithfulness.trained import ProbedRun, SampledTexts
from heedful.models.component import masked_softmax
from heedful.models.probe import Probe, Scores, TokenIds, pad
from heedful.runs.faithfulness_record import ATTENTION
from studies.faithfulness.script import EPOCHS, TRAIN_TEXTS, Arrays, study, training_batches

HIDDEN, RATE = 128, 1e-3  # number of features of a transformed word vector, and learning rate of Adam
HEADINGS = {
    "guide_uniform": "guide, uniform weights",
    "guide_attention": "guide, attention",
    "guide_difference": "difference",
    "guide_learned": "guide, own weights",
}


class Guide(nn.Module):
    """A linear classifier of Σ_i w_i tanh(A x_i + b), where the x_i are word vectors and the w_i are weights.

    Args:
        input_dim: number of features D of a word vector.
    """

    def __init__(self, input_dim: int, classes: int) -> None:
        super().__init__()
        self.states = nn.Linear(input_dim, HIDDEN)
        self.score = nn.Linear(HIDDEN, 1, bias=False)
        self.head = nn.Linear(HIDDEN, classes)

    def forward(self, embeddings: Tensor, mask: Tensor, weights: Tensor | None) -> Tensor:
        """Return logits N×C from word vectors N×L×D and weights N×L; the guide computes weights if they are None."""
        states = torch.tanh(self.states(embeddings))  # N×L×HIDDEN
        if weights is None:
            weights = masked_softmax(self.score(states).squeeze(2), mask)
        return self.head(torch.einsum("nl,nld->nd", weights, states))


def guide_results(
    probe: Probe, train: SampledTexts, test: SampledTexts, epochs: int, seed: int
) -> dict[str, np.ndarray]:
    """Return for each guide n values: 1 for a test text that it classifies correctly, else 0.

    A guide uses uniform weights, the weights of the model's attention, or weights that the guide learns. All guides
    start from the same parameters, and use the word vectors of the trained model, which stay fixed.
    """
    weights_of: dict[str, Callable[[TokenIds], Scores | None]] = {
        "guide_uniform": lambda texts: [np.full(len(text), 1 / len(text)) for text in texts],
        "guide_attention": probe.attention,
        "guide_learned": lambda texts: None,
    }
    results = {}
    for name, weights in weights_of.items():
        guide = _train(probe, train, weights(train.texts), epochs, seed)
        results[name] = _is_correct(probe, guide, test, weights(test.texts))
    return results


def _train(probe: Probe, sample: SampledTexts, weights: Scores | None, epochs: int, seed: int) -> Guide:
    classes = probe.probabilities(sample.texts[:1]).shape[1]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        guide = Guide(probe.model.embedding.output_dim, classes).to(probe.device)
    optimizer = torch.optim.Adam(guide.parameters(), RATE)
    for rows, inputs in training_batches(probe, sample.texts, epochs, seed):
        logits = guide(probe.model.embedding(inputs), inputs.mask, _padded(weights, rows, inputs.mask))
        labels = torch.from_numpy(sample.labels[rows]).to(probe.device)
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits, labels).backward()
        optimizer.step()
    return guide


@torch.inference_mode()
def _is_correct(probe: Probe, guide: Guide, sample: SampledTexts, weights: Scores | None) -> np.ndarray:
    correct = np.zeros(len(sample.texts))
    for rows, inputs in probe.batches(sample.texts):
        logits = guide(probe.model.embedding(inputs), inputs.mask, _padded(weights, rows, inputs.mask))
        correct[rows] = logits.argmax(1).cpu().numpy() == sample.labels[rows]
    return correct


def _padded(weights: Scores | None, rows: np.ndarray, mask: Tensor) -> Tensor | None:
    return None if weights is None else torch.from_numpy(pad(weights, rows, mask.shape[1])).to(mask.device)


def compute(trained: ProbedRun, sample: SampledTexts, seed: int) -> Arrays:
    train = trained.sample("train", TRAIN_TEXTS, seed)
    results = guide_results(trained.probe, train, sample, EPOCHS, seed)
    results["guide_difference"] = results["guide_attention"] - results["guide_uniform"]
    return {(ATTENTION, name): results[name] for name in HEADINGS}


if __name__ == "__main__":
    study("guides", __doc__, compute, HEADINGS)
