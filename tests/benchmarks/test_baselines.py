"""The competent loop trains the same model as Heedful; the padded loop trains that of the source documents."""

from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from benchmarks import reviews
from benchmarks.baselines import (
    Loop,
    PaddedRecurrentModel,
    PaddedSelfAttentionModel,
    RecurrentModel,
    Reviews,
    SelfAttentionModel,
    Training,
    loss,
)
from benchmarks.heedful import HeedfulRunner
from benchmarks.speed import WORKLOADS
from heedful.data.padded_batches import Inputs

TOKENS = torch.tensor([[2, 3, 4, 0, 0, 0, 0], [5, 6, 7, 8, 9, 0, 0], [9, 3, 0, 0, 0, 0, 0]])
LABELS = torch.tensor([1, 0, 1])


USUAL = ("lstm", "birnn", "bigru", "self_attention_500")  # each cell, both directions and self-attention


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in USUAL else pytest.mark.weekly) for n in WORKLOADS])
def test_the_competent_loop_computes_the_loss_of_heedful(name: str, tmp_path: Path) -> None:
    workload = WORKLOADS[name]
    data = reviews.overrides(None, False, tmp_path, 83, 11)
    heedful = HeedfulRunner([*workload.overrides, *data], tmp_path)
    model = heedful.module.model.double().eval()
    plain = workload.loops[0].model(len(heedful.data.vocabulary)).double().eval()
    with torch.no_grad():
        for ours, theirs in zip(plain.parameters(), model.parameters(), strict=True):
            assert ours.shape == theirs.shape
            ours.copy_(theirs)
        expected = model(Inputs(TOKENS, TOKENS != 0))
        logits = plain(TOKENS)
        torch.testing.assert_close(logits, expected.reshape(logits.shape), atol=1e-12, rtol=0)
        classes = expected if expected.shape[1] == 2 else torch.cat([torch.zeros_like(expected), expected], 1)
        torch.testing.assert_close(loss(logits, LABELS), F.cross_entropy(classes, LABELS), atol=1e-12, rtol=0)
        assert loss(logits, LABELS).item() == pytest.approx(heedful.module.loss(expected, LABELS).item(), rel=1e-6)


def test_the_padded_models_equal_the_competent_ones_on_texts_without_padding() -> None:
    torch.manual_seed(0)
    tokens = torch.tensor([[2, 3, 4, 7, 5], [5, 6, 7, 8, 9]])
    competent, padded = RecurrentModel(11).eval(), PaddedRecurrentModel(11).eval()
    attention, stored = SelfAttentionModel(11, 6, 3).eval(), PaddedSelfAttentionModel(11, 6, 3).eval()
    for model, other in ((competent, padded), (attention, stored)):
        with torch.no_grad():
            for ours, theirs in zip(other.parameters(), model.parameters(), strict=True):
                ours.copy_(theirs)
            if model is competent:  # one orders the matrix of the scores as qᵀ W h, the other as q · (W h)
                torch.testing.assert_close(other(tokens), model(tokens))
                assert not torch.allclose(other(F.pad(tokens, (0, 3))), model(tokens))
            else:
                torch.testing.assert_close(other(tokens), model(tokens))


def test_competent_batches_have_similar_lengths_and_padded_batches_one_length() -> None:
    lengths = torch.tensor([5, 1, 3, 5, 1, 3, 7])
    reviews = Reviews.of([torch.full((length,), length) for length in lengths.tolist()], lengths, "cpu")
    sample = torch.arange(6)
    similar = list(Loop("", RecurrentModel, None).batches(reviews, sample, 2))
    assert sorted(batch.tokens.shape[1] for batch in similar) == [1, 3, 5]
    assert all(batch.is_full for batch in similar)
    padded = list(Loop("", RecurrentModel, 23).batches(reviews, sample, 2))
    assert [batch.tokens.shape for batch in padded] == [(2, 23)] * 3
    assert not any(batch.is_full for batch in padded)
    for tokens, labels, _ in (*similar, *padded):
        assert (tokens != 0).sum(1).tolist() == tokens[:, 0].tolist() == labels.tolist()


def test_a_mask_is_not_needed_without_padding() -> None:
    torch.manual_seed(0)
    model = SelfAttentionModel(11, 6, 3).eval()
    tokens = torch.tensor([[2, 3, 4, 7, 5], [5, 6, 7, 8, 9]])
    torch.testing.assert_close(model(tokens, is_full=True), model(tokens))


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("name", ["rnn", "self_attention_256"])
def test_each_loop_trains_every_parameter(name: str, bf16: bool) -> None:
    texts = [torch.tensor([2, 3, 4]), torch.tensor([5, 6]), torch.tensor([7, 8, 9, 2])]
    for loop in WORKLOADS[name].loops:
        training = Training(loop, 11, bf16=bf16)
        before = {key: parameter.clone() for key, parameter in training.model.named_parameters()}
        assert training.epoch(Reviews.of(texts, LABELS, "cpu"), torch.arange(3), 2) > 0
        for key, parameter in training.model.named_parameters():
            assert not torch.equal(parameter, before[key]), key
