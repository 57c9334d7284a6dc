"""Models that learn the same predictions with other weights: `python -m studies.faithfulness.adversary <runs>`.

The test is from Wiegreffe and Pinter (2019). An adversary minimizes the total variation distance (TVD) of the
predictions minus λ times the divergence of the weights. JSD: Jensen–Shannon divergence of the weights, at most 0.69.
λ = 0 is the reference, because the loss then ignores the weights.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from heedful.data.padded_batches import Inputs
from heedful.faithfulness.trained import ProbedRun, SampledTexts
from heedful.models.classifier import Classifier
from heedful.models.probe import QUADRATIC_TOKENS, Probe, TokenIds
from heedful.runs.faithfulness_record import ATTENTION
from heedful.training import build
from studies.faithfulness.script import EPOCHS, TRAIN_TEXTS, Arrays, study, training_batches
from studies.faithfulness.weights import jensen_shannon

LAMBDAS = (0.0, 0.001, 0.01, 0.1)  # weights of the attention's divergence in the loss of an adversary
NAMES = {strength: (f"adversary_tvd_{strength:g}", f"adversary_jsd_{strength:g}") for strength in LAMBDAS}
HEADINGS = {name: f"{name.split('_')[1].upper()}, λ = {strength:g}" for strength in LAMBDAS for name in NAMES[strength]}
RATE = 3e-3  # learning rate of Adam
SMALLEST = 1e-12  # lower bound of a weight in a logarithm
UNIFORM_RANGE = 1e-6  # weights that differ by at most this amount from 1 / length count as uniform


def adversary_results(
    probe: Probe, build: Callable[[], Classifier], train: TokenIds, test: TokenIds, epochs: int, seed: int
) -> dict[str, np.ndarray]:
    """Return how much each adversary differs from the measured model, as arrays with a value for each test text.

    An adversary is a new model with the components and word vectors of the measured model. For each λ in LAMBDAS, one
    adversary minimizes the mean over training texts of TVD(p, q) − λ KL(a ‖ b), where p and a are the predictions and
    attention weights of the adversary, and q and b are those of the measured model.

    Args:
        build: returns an untrained model with the components of the measured model.

    Returns:
        For each λ, two arrays of n values, with the names in NAMES: the total variation distance of the
        predictions, in [0, 1], and the Jensen–Shannon divergence of the weights, in [0, ln 2]. Both are NaN if the
        attention does not have exactly one row of weights for each text, if the attention weights of all training texts
        are uniform, or if the encoder is pretrained.
    """
    results = {name: np.full(len(test), np.nan) for name in HEADINGS}
    if not _is_applicable(probe, train):
        return results
    for strength, (distances, divergences) in NAMES.items():
        adversary = _train(probe, build, train, strength, epochs, seed)
        for rows, inputs in probe.batches(test, QUADRATIC_TOKENS):
            with torch.inference_mode():
                distance, adversary_weights, model_weights = _compare(probe, adversary, inputs)
                results[distances][rows] = distance.cpu().numpy()
                results[divergences][rows] = jensen_shannon(adversary_weights, model_weights).cpu().numpy()
    return results


@torch.inference_mode()
def _is_applicable(probe: Probe, texts: TokenIds) -> bool:
    if probe.model.encoder.is_pretrained:
        return False
    for _, inputs in probe.batches(texts, QUADRATIC_TOKENS):
        weights = probe.model.weights(inputs)  # N×H×T×L
        if weights.shape[2] != 1:
            return False
        uniform = (inputs.mask / inputs.mask.sum(1, keepdim=True))[:, None, None, :]
        if (weights - uniform).abs().max() > UNIFORM_RANGE:
            return True
    return False


def _train(
    probe: Probe, build: Callable[[], Classifier], texts: TokenIds, strength: float, epochs: int, seed: int
) -> Classifier:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        adversary = build().to(probe.device).eval()
    adversary.embedding.load_state_dict(probe.model.embedding.state_dict())
    adversary.embedding.requires_grad_(False)
    optimizer = torch.optim.Adam([p for p in adversary.parameters() if p.requires_grad], RATE)
    with torch.backends.cudnn.flags(enabled=False):  # cuDNN's RNNs compute no gradients in evaluation mode
        for _, inputs in training_batches(probe, texts, epochs, seed):
            distance, adversary_weights, model_weights = _compare(probe, adversary, inputs)
            ratio = adversary_weights.clamp(min=SMALLEST) / model_weights.clamp(min=SMALLEST)
            divergence = torch.xlogy(adversary_weights, ratio).sum(3).mean((1, 2))  # N
            optimizer.zero_grad()
            (distance - strength * divergence).mean().backward()
            optimizer.step()
    return adversary


def _compare(probe: Probe, adversary: Classifier, inputs: Inputs) -> tuple[Tensor, Tensor, Tensor]:
    """Return the total variation distance N of the predictions, and the adversary's and the model's weights N×H×1×L."""
    with torch.no_grad():
        logits, weights = probe.model.forward_with_weights(inputs)
    other_logits, other_weights = adversary.forward_with_weights(inputs)
    difference = probe.task.probabilities(other_logits) - probe.task.probabilities(logits)
    return difference.abs().sum(1) / 2, other_weights, weights


def compute(trained: ProbedRun, sample: SampledTexts, seed: int) -> Arrays:
    def untrained() -> Classifier:
        cfg = trained.card.cfg("model", "loss")
        cfg.extras = trained.extras
        return build.untrained_model(cfg, trained.card)[0]

    train = trained.sample("train", TRAIN_TEXTS, seed).texts
    results = adversary_results(trained.probe, untrained, train, sample.texts, EPOCHS, seed)
    return {(ATTENTION, name): values for name, values in results.items()}


if __name__ == "__main__":
    study("adversary", __doc__, compute, HEADINGS)
