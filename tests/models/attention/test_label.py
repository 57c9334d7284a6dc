"""Label-wise attention and its head against their formulas, computed class by class in float64."""

import pytest
import torch
from torch import Tensor

from heedful.models.attention.label import LabelAttention
from heedful.models.check import check_component
from heedful.models.head import LabelHead
from tests.models.combinations import LENGTHS, LOGITS, POOLINGS, VOCABULARY, compose, texts
from tests.models.reference import ragged, softmax

D = 7


def trained(attention: LabelAttention) -> LabelAttention:
    """With other queries than the initial zeros."""
    generator = torch.Generator().manual_seed(1)
    attention.questions.data.copy_(torch.randn(attention.questions.shape, generator=generator))
    return attention


def by_class(attention: LabelAttention, states: Tensor, label: int) -> tuple[Tensor, list[float]]:
    """The features and the weights of a class for one text L×D."""
    weights = softmax([float(state @ attention.questions[label]) for state in states])
    return torch.tensor(weights, dtype=torch.float64) @ states, weights


def test_each_class_has_weights_and_features_of_its_own() -> None:
    encoded = ragged(D, (11, 1, 4))
    attention = LabelAttention(D).double()
    attention.bind(VOCABULARY, LOGITS)
    with torch.no_grad():
        weights, output = trained(attention.double()).weights(encoded), attention(encoded)
        assert weights.shape == (3, LOGITS, 1, 11) and output.states.shape == (3, 1, attention.output_dim)
        for n, length in enumerate((11, 1, 4)):
            for label in range(LOGITS):
                features, expected = by_class(attention, encoded.states[n, :length], label)
                assert weights[n, label, 0, :length].tolist() == pytest.approx(expected)
                torch.testing.assert_close(output.states[n, 0, label::LOGITS], features)
    assert torch.equal(output.summary, output.states[:, 0])


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_logit_depends_on_the_query_of_its_class_alone_with_every_pooling(pooling: str) -> None:
    """A pooling of a single state may concatenate it with itself, but keeps the classes apart."""
    model = compose(encoder="gru", attention="label", pooling=pooling, head="label").double().eval()
    trained(model.attention)
    inputs = texts()
    with torch.no_grad():
        logits = model(inputs)
        model.attention.questions[1] += 1
        changed = (model(inputs) - logits).abs() > 1e-9
    assert changed.tolist() == [[False, length > 1, False] for length in LENGTHS]  # one token has the weight 1


def test_the_head_by_hand() -> None:
    head = LabelHead(4, 2)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))  # rows are features, columns classes
        head.bias.copy_(torch.tensor([0.5, -0.5]))
        logits = head(torch.tensor([[5.0, 6.0, 7.0, 8.0]]))
    assert logits.tolist() == [[5 + 3 * 7 + 0.5, 2 * 6 + 4 * 8 - 0.5]]
    with pytest.raises(ValueError, match="7 features are not those of 3 logits: use model/attention=label"):
        LabelHead(7, 3)


def test_it_keeps_the_rules_with_several_classes_and_is_initially_uniform() -> None:
    attention = LabelAttention(D)
    attention.bind(VOCABULARY, LOGITS)
    check_component(attention, D)
    encoded = ragged(D, (5, 2))
    weights = attention.double().weights(encoded)
    assert weights[0].unique().tolist() == pytest.approx([0.2]) and weights[1, :, 0, 0].tolist() == [0.5] * LOGITS
