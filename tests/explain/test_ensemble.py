"""The mean of several trained models, which may differ in tokenizer and in the order of classes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from src import build
from src.errors import UserError
from src.explain.ensemble import Ensemble, Member
from src.explain.explanation import explain
from tests.helpers import trained

TEXTS = ["a great product", "qwxz", "bad, truly bad price"]
EXTRAS = OmegaConf.create({"trusted_modules": []})


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> list[Member]:
    """Two models with the same tokenizer, and one with another tokenizer and the classes in reverse order."""
    folder = tmp_path_factory.mktemp("ensemble")
    options = [("seed=1",), ("seed=2", "model/encoder=gru"), ("seed=3", "data/tokenizer=bpe")]
    paths = [str(trained(folder / str(i), "trainer.max_epochs=1", *line)) for i, line in enumerate(options)]
    first, second, third = build.restore_ensemble(paths, EXTRAS)[1].members
    names = third.codec.class_names
    with torch.no_grad():  # reverse the order of the classes
        for parameter in third.model.head.parameters():
            parameter.copy_(parameter.flip(0)) if len(parameter) == len(names) else None
    return [first, second, third._replace(codec=replace(third.codec, class_names=names[::-1]))]


def compute_probabilities(member: Member) -> np.ndarray:
    return np.array([each.probabilities for each in explain(member.model, member.loss, member.codec, TEXTS)])


def test_probabilities_are_means_by_class_name(members: list[Member]) -> None:
    ensemble = Ensemble(members)
    first, second, third = map(compute_probabilities, members)
    mean = (first + second + third[:, ::-1]) / 3
    assert np.array([each.probabilities for each in ensemble.explain(TEXTS)]) == pytest.approx(mean, abs=1e-6)
    probabilities, is_unknown = ensemble.classify(TEXTS, batch_size=2)
    assert probabilities == pytest.approx(mean, abs=1e-6)
    names = ensemble.class_names
    assert [each.predicted for each in ensemble.explain(TEXTS)] == [names[i] for i in mean.argmax(1)]
    assert is_unknown.tolist() == [each.is_unknown for each in ensemble.explain(TEXTS)]
    assert Ensemble(members[:1]).classify(TEXTS)[1].tolist() == [False, True, False]


def test_weights_are_means_if_the_tokens_are_the_same(members: list[Member], caplog: pytest.LogCaptureFixture) -> None:
    first, second = (explain(member.model, member.loss, member.codec, TEXTS) for member in members[:2])
    for a, b, mean in zip(first, second, Ensemble(members[:2]).explain(TEXTS), strict=True):
        assert mean.weights == pytest.approx(np.mean([a.weights, b.weights], 0))
    assert not caplog.records
    for a, other in zip(first, Ensemble([members[0], members[2]]).explain(TEXTS), strict=True):
        assert (other.words, other.weights) == (a.words, a.weights)
    assert f"attention weights are those of {members[0].name}" in caplog.text


def test_other_classes_are_refused(members: list[Member]) -> None:
    codec = replace(members[1].codec, class_names=("negative", "neutral", "good"))
    with pytest.raises(UserError, match=r"the classes of .*, negative, neutral, good, are not the classes of"):
        Ensemble([members[0], members[1]._replace(codec=codec)])


def test_a_repeated_checkpoint_is_refused(members: list[Member]) -> None:
    with pytest.raises(UserError, match="twice"):
        build.restore_ensemble([members[0].name, members[0].name], EXTRAS)
