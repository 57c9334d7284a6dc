"""Components that cannot be measured are reported."""

import pytest
from torch import Tensor

from src.errors import UserError
from src.faithfulness.measurable import require_measurable
from src.models.attention.none import NoAttention
from src.models.component import Attention, Encoded, Encoder
from src.models.encoder.identity import Identity
from src.models.pooling import Sum
from tests.faithfulness.models import (
    POLARITY,
    FeatureAttention,
    PolaritySum,
    additive,
    build_probe,
    faithful,
    misleading,
)


class Detached(PolaritySum):
    """Computes no gradients."""

    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        return super().forward(states.detach(), mask)


class WithoutWeights(NoAttention):
    """Has no weights."""

    def weights(self, encoded: Encoded) -> Tensor:
        raise NotImplementedError("weights are not stored")


class Transposed(FeatureAttention):
    """Has weights of a wrong shape."""

    def weights(self, encoded: Encoded) -> Tensor:
        return super().weights(encoded)[..., :2]


def test_models_with_gradients_and_weights_pass() -> None:
    for probe in (additive(), faithful(), misleading()):
        require_measurable(probe, "run")


@pytest.mark.parametrize(
    ("encoder", "attention", "message"),
    [
        (Detached(3), NoAttention(3), r"model\.encoder \(Detached\) cannot be measured: its result has no gradient"),
        (
            Identity(3),
            WithoutWeights(3),
            r"model\.attention \(WithoutWeights\) cannot be measured: NotImplementedError: weights are not stored",
        ),
        (Identity(3), Transposed(3, POLARITY), r"model\.attention \(Transposed\) cannot be measured: .*N×H×T×L"),
    ],
)
def test_a_component_that_cannot_be_measured_is_reported(encoder: Encoder, attention: Attention, message: str) -> None:
    with pytest.raises(UserError, match=rf"^outputs/run: {message}"):
        require_measurable(build_probe(encoder, attention, Sum(3), POLARITY), "outputs/run")
