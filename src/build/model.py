"""Create the model, its loss and its LightningModule."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from src.build.metrics import metrics as build_metrics
from src.build.objects import make, prefix_errors
from src.build.training import optimizer, scheduler
from src.checkpoint import Card
from src.errors import UserError
from src.models.classifier import Classifier
from src.models.loss import Loss
from src.models.shapes import name_of

if TYPE_CHECKING:  # importing Lightning takes seconds; only training and evaluation need it
    from torchmetrics import MetricCollection

    from src.lit import LitClassifier


def classifier(cfg: DictConfig, vocabulary: Sequence[str], num_logits: int) -> Classifier:
    """Create the classifier; each component receives the output size of the component before it.

    Raises:
        UserError: if a component rejects an option, is incompatible with another component, or has no integer
            `output_dim`.
    """
    embedding = make(cfg, "model.embedding", vocabulary)
    position = make(cfg, "model.position", _output_dim(embedding, "model.embedding"))
    encoder = make(cfg, "model.encoder", _output_dim(position, "model.position"))
    with prefix_errors("model.encoder"):
        encoder.bind(embedding)
    attention = make(cfg, "model.attention", _output_dim(encoder, "model.encoder"))
    if OmegaConf.select(cfg, "model.sublayer._target_") is not None:
        attention = make(cfg, "model.sublayer", encoder.output_dim, attention)
    with prefix_errors("model.position"):
        position.attach(encoder, attention)
    pooling = make(cfg, "model.pooling", _output_dim(attention, "model.attention"))
    head = make(cfg, "model.head", _output_dim(pooling, "model.pooling"), num_logits)
    return Classifier(embedding, position, encoder, attention, pooling, head)


def _output_dim(component: object, key: str) -> int:
    dim = getattr(component, "output_dim", None)
    if not isinstance(dim, int):
        raise UserError(
            f"{key}: {name_of(component)} must set self.output_dim to an integer, the number of features that "
            f"it returns; the present value is {dim!r}"
        )
    return dim


def untrained_model(cfg: DictConfig, card: Card) -> tuple[Classifier, Loss]:
    """Create an untrained model for the vocabulary and classes of a card, and its loss."""
    loss: Loss = make(cfg, "loss", card.class_counts)
    return classifier(cfg, card.codec.tokenizer.vocabulary, loss.num_logits), loss


def module(
    cfg: DictConfig,
    card: Card,
    model_and_loss: tuple[Classifier, Loss] | None = None,
    metrics: "MetricCollection | None" = None,
) -> "LitClassifier":
    """Create the LightningModule of a model and its loss.

    Args:
        model_and_loss: None creates an untrained model and its loss.
        metrics: metrics of validation and test; None creates the metrics of `cfg`. If `cfg` comes from a checkpoint,
            the caller must pass metrics, because the metrics in a checkpoint are not trusted.
    """
    from src.lit import LitClassifier

    model, loss = model_and_loss or untrained_model(cfg, card)
    return LitClassifier(
        model,
        loss,
        len(card.class_counts),
        build_metrics(cfg, len(card.class_counts)) if metrics is None else metrics,
        partial(optimizer, cfg),
        partial(scheduler, cfg),
        card.with_options(model.description_options()),
    )
