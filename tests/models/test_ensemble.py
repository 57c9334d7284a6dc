"""Predictions with the attention weight of each word, by one model or the mean of several."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from heedful.base.errors import UserError
from heedful.inference.api import restore_ensemble
from heedful.models.classifier import Classifier
from heedful.models.component import Encoded
from heedful.models.ensemble import Ensemble, Member
from heedful.runs.examples import Example, read_examples, write_examples
from heedful.tasks.multiclass import Multiclass
from heedful.tasks.multilabel import Multilabel
from heedful.tasks.task import Task
from heedful.training import build
from tests.helpers import one_batch, small_config, trained

TEXTS = ["An EXCELLENT product, truly", "bad", "so " * 90 + "good", "it works well " * 200, ""]
SHORT = ["a great product", "qwxz", "bad, truly bad price"]
HEADS = 4


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Member:
    folder = tmp_path_factory.mktemp("explain") / "run"
    path = trained(folder, "model/attention=multi_head", f"model.attention.heads={HEADS}", "data.max_length=600")
    return restore_ensemble(path, small_config(folder).extras).members[0]


@pytest.fixture(scope="module")
def examples(member: Member) -> list[Example]:
    return Ensemble([member]).examples(TEXTS, batch_size=2)


def test_each_word_as_written_has_its_weight(examples: list[Example]) -> None:
    assert examples[0].words == ["An", "EXCELLENT", "product", ",", "truly"]
    assert [len(each.words) for each in examples] == [5, 1, 91, 600, 0]
    assert [(each.split, each.index, each.label) for each in examples] == [("text", i, None) for i in range(5)]
    for each in examples[:-1]:
        assert len(each.weights) == len(each.words)
        assert sum(each.weights) == pytest.approx(1, abs=1e-5)


def test_batch_and_single_text_agree(member: Member, examples: list[Example]) -> None:
    for text, example in zip(TEXTS, examples, strict=True):
        (expected,) = Ensemble([member]).examples([text])
        assert expected.probabilities == pytest.approx(example.probabilities, abs=1e-5)
        assert expected.weights == pytest.approx(example.weights, abs=1e-5)
        assert expected.predicted == max(expected.probabilities, key=lambda name: expected.probabilities[name])


def test_probabilities_equal_those_of_the_model(member: Member, examples: list[Example]) -> None:
    batch = one_batch(member.card.codec, TEXTS)
    with torch.inference_mode():
        probabilities = member.card.codec.task.probabilities(member.model.eval()(batch.inputs)).numpy()
    assert list(examples[0].probabilities) == list(member.card.codec.class_names)
    assert _probabilities(examples) == pytest.approx(probabilities, abs=1e-5)
    assert Ensemble([member]).classify(TEXTS, batch_size=2)[0] == pytest.approx(probabilities, abs=1e-5)


def _probabilities(examples: Sequence[Example]) -> np.ndarray:
    return np.array([list(each.probabilities.values()) for each in examples])


def test_the_shape_of_maps_depends_on_the_length_of_the_text(member: Member, examples: list[Example]) -> None:
    shapes = [None if each.matrix is None else each.matrix.shape for each in examples]
    assert shapes == [(HEADS, 5, 5), None, (1, 91, 91), None, None]
    for each in examples:
        if each.matrix is not None:
            assert each.matrix.sum(-1) == pytest.approx(1, abs=1e-5)
            assert each.matrix.mean((0, 1)) == pytest.approx(each.weights, abs=1e-5)
    (without,) = Ensemble([member]).examples(TEXTS[:1], maps=False)
    assert without.matrix is None and without.layers == {}


@pytest.fixture(scope="module")
def transformer(member: Member) -> Classifier:
    sizes = ["model.encoder.layers=3", "model.encoder.heads=2", "model.encoder.dim=6"]
    cfg = small_config(Path("unused"), ["model/encoder=transformer", "model/attention=bahdanau", *sizes])
    return build.classifier(cfg, member.card.codec.tokenizer.vocabulary, member.loss.num_logits)


def test_encoder_layers_have_maps_for_short_texts(member: Member, transformer: Classifier) -> None:
    first, word, long, longer, empty = Ensemble([member._replace(model=transformer)]).examples(TEXTS)
    assert list(first.layers) == ["encoder 1", "encoder 2", "encoder 3"]
    assert word.layers == long.layers == longer.layers == empty.layers == {}
    batch = one_batch(member.card.codec, TEXTS[:2])
    expected = transformer.layer_weights(batch.inputs)
    for name, layer in first.layers.items():
        assert layer.shape == (2, 5, 5)
        assert layer.sum(-1) == pytest.approx(1, abs=1e-5)
        assert torch.from_numpy(layer) == pytest.approx(expected[name][0].detach(), abs=1e-5)


def test_layer_weights_equal_those_of_its_attention(member: Member, transformer: Classifier) -> None:
    batch = one_batch(member.card.codec, TEXTS[:2])
    with torch.inference_mode():
        states = transformer.eval().position(transformer.embedding(batch.inputs), batch.inputs.mask)
        encoder: Any = transformer.encoder
        first = encoder.blocks[0].attentions[0]
        encoded = Encoded(first.before(encoder.enter(states)), batch.inputs.mask, states[:, 0])
        weights = transformer.layer_weights(batch.inputs)["encoder 1"]
        expected = first.attention.weights(encoded)
    assert torch.allclose(weights, expected, atol=1e-6)
    assert not first._forward_pre_hooks


def test_numbers_of_the_record_are_rounded(tmp_path: Path) -> None:
    third, halves = np.full((1, 1, 1), 1 / 3, dtype=np.float32), {"b": 0.25, "a": 0.75}
    example = Example("test", 3, "a", "a", halves, ["x"], np.array([1 / 3]), third, "first 1 of 2 tokens", {"l": third})
    write_examples(tmp_path, [example])
    assert '"probabilities":{"b":0.25,"a":0.75},"words":["x"]' in (tmp_path / "attention.json").read_text()
    (read,) = read_examples(tmp_path)
    assert (read.weights.tolist(), read.probabilities, read.cut) == ([0.333333], halves, "first 1 of 2 tokens")
    assert read.matrix is not None and read.matrix.tolist() == read.layers["l"].tolist() == [[[0.3333]]]


def _with_codec(member: Member, **changes: Any) -> Member:
    return member._replace(card=member.card.model_copy(update={"codec": member.card.codec.model_copy(update=changes)}))


def test_the_words_have_shares_in_the_linear_branch_of_a_single_model(tmp_path: Path) -> None:
    path = trained(tmp_path / "run", "model/branch=ngrams", "model.branch.weight=0.25")
    one = restore_ensemble(path, small_config(tmp_path / "run").extras).members[0]
    text, _ = examples = Ensemble([one]).examples(["a great product", ""])
    assert [each.branch and each.branch.weight for each in examples] == [0.25, 0.25] and text.branch is not None
    batch = one_batch(one.card.codec, ["a great product"])
    with torch.inference_mode():
        predicted = torch.tensor([one.card.codec.class_names.index(text.predicted)])
        expected = one.model.branch.contributions(batch.inputs, predicted)[0, :3].numpy()
    np.testing.assert_allclose(text.branch.shares, expected, rtol=1e-6)
    write_examples(tmp_path, examples)
    read = read_examples(tmp_path)[0].branch
    np.testing.assert_allclose(read.shares, expected, atol=1e-6)
    assert Ensemble([one, one._replace(name="copy")]).examples(["a great product"])[0].branch is None


def test_truncated_texts_state_the_number_of_remaining_tokens(member: Member) -> None:
    short, long = Ensemble([_with_codec(member, max_length=3, keep="last")]).examples(["a b c", "a " * 2000])
    assert (short.cut, long.cut) == ("", "last 3 of 2,000 tokens")
    assert long.title.endswith(", last 3 of 2,000 tokens")


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> list[Member]:
    """Two models with the same tokenizer, and one with another tokenizer and the classes in reverse order."""
    folder = tmp_path_factory.mktemp("ensemble")
    options = [("seed=1",), ("seed=2", "model/encoder=gru"), ("seed=3", "data/tokenizer=bpe")]
    paths = [trained(folder / str(i), "trainer.max_epochs=1", *line) for i, line in enumerate(options)]
    first, second, third = restore_ensemble(paths, small_config(folder).extras).members
    names = third.card.codec.class_names
    with torch.no_grad():  # reverse the order of the classes
        for parameter in third.model.head.parameters():
            parameter.copy_(parameter.flip(0)) if len(parameter) == len(names) else None
    return [first, second, _with_codec(third, task=Multiclass(names[::-1]))]


def test_probabilities_are_means_by_class_name(members: list[Member]) -> None:
    ensemble = Ensemble(members)
    first, second, third = (_probabilities(Ensemble([member]).examples(SHORT)) for member in members)
    mean = (first + second + third[:, ::-1]) / 3
    examples = ensemble.examples(SHORT)
    assert _probabilities(examples) == pytest.approx(mean, abs=1e-6)
    assert [list(each.probabilities) for each in examples] == [list(ensemble.class_names)] * 3
    probabilities, is_unknown = ensemble.classify(SHORT, batch_size=2)
    assert probabilities == pytest.approx(mean, abs=1e-6)
    assert [each.predicted for each in examples] == [ensemble.class_names[i] for i in mean.argmax(1)]
    assert is_unknown.tolist() == [each.is_unknown for each in examples]
    assert Ensemble(members[:1]).classify(SHORT)[1].tolist() == [False, True, False]


def test_weights_are_means_if_the_tokens_are_the_same(members: list[Member], caplog: pytest.LogCaptureFixture) -> None:
    first, second = (Ensemble([member]).examples(SHORT) for member in members[:2])
    for a, b, mean in zip(first, second, Ensemble(members[:2]).examples(SHORT), strict=True):
        assert mean.weights == pytest.approx(np.mean([a.weights, b.weights], 0))
    assert not caplog.records
    for a, other in zip(first, Ensemble([members[0], members[2]]).examples(SHORT), strict=True):
        assert (other.words, other.weights.tolist()) == (a.words, a.weights.tolist())
    assert f"attention weights are those of {members[0].name}" in caplog.text


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (Multiclass(("negative", "neutral", "good")), "one class for each text, of .*; .*, of negative, neutral, good"),
        (Multilabel(("negative", "neutral", "positive")), "one class for each .*; .* many labels"),
    ],
)
def test_other_tasks_or_classes_are_refused(task: Task, message: str, members: list[Member]) -> None:
    with pytest.raises(UserError, match=f"same task and classes: .* {message}"):
        Ensemble([members[0], _with_codec(members[1], task=task)])


@pytest.mark.parametrize(
    ("of_torch", "of_training", "tokens", "threads"),
    [(3, None, 10**9, 3), (3, 2, 10**9, 2), (1, 2, 10**9, 1), (3, None, 7, 1), (3, None, 0, 1)],
)
def test_large_batches_get_the_threads_of_the_training(
    of_torch: int, of_training: int | None, tokens: int, threads: int, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: of_torch)
    card = member.card.model_copy(update={"config": {**member.card.config, "threads": of_training}})
    assert member._replace(card=card.for_others()).threads(np.array([tokens] * 5), batch_size=2) == threads


@pytest.mark.parametrize("fails", [False, True])
def test_predictions_restore_the_threads_of_the_process(fails: bool, member: Member, monkeypatch) -> None:
    seen, before = [], torch.get_num_threads()

    def record(*_: Any) -> None:
        seen.append(torch.get_num_threads())
        if fails:
            raise RuntimeError("the third layer")

    hook = member.model.register_forward_pre_hook(record)
    other = member.model.encoder.register_forward_pre_hook(record)
    torch.set_num_threads(3)
    try:
        for predict in (Ensemble([member]).classify, Ensemble([member]).examples):
            with pytest.raises(RuntimeError, match="third") if fails else nullcontext():
                predict(SHORT)
            assert torch.get_num_threads() == 3
        assert set(seen) == {1}
    finally:
        torch.set_num_threads(before)
        hook.remove()
        other.remove()
