"""A model of pairs of texts, from training to export, on the command line and in Python."""

import csv
import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from heedful import load
from heedful.base.errors import UserError
from heedful.data.padded_batches import Inputs
from heedful.faithfulness.trained import ProbedRun
from heedful.models.branch import NgramBranch
from tests.helpers import evaluate, read_csv, run, train, trained

WORDS = ["a", "red", "dog", "sees", "the", "old", "cat", "near", "this", "big", "house"]
MARK = "\N{SYMBOL FOR RECORD SEPARATOR}"


def rows(count: int) -> list[tuple[str, str, str]]:
    """The hypothesis repeats the premise, or is another text."""
    draw = random.Random(0)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(2, 7))) for _ in range(count)]
    return [(text, text, "same") if i % 2 else (text, texts[-1 - i], "other") for i, text in enumerate(texts)]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of pairs and the folder `run` of a training."""
    folder = tmp_path_factory.mktemp("pairs")
    with (folder / "pairs.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["premise", "hypothesis", "label"], *rows(120)])
    data = ["data=csv", f"data.path='{folder / 'pairs.csv'}'", "data.text=[premise,hypothesis]", "data.max_length=17"]
    train(folder / "run", *data, "data.tokenizer.min_frequency=1")
    return folder


def test_a_pair_has_vectors_of_its_texts_and_weights_of_both(pairs: Path) -> None:
    model = load(pairs / "run")
    (member,) = model.members
    assert member.model.segments.table.weight.abs().sum() > 0  # trained
    (one, other) = model.explain([("red dog", "big house"), ("big house", "red dog")])
    assert [word for word, _ in one.tokens] == ["red", "dog", MARK, "big", "house"]
    assert sum(weight for _, weight in one.tokens) == pytest.approx(1.0)
    assert one.probabilities != other.probabilities
    (cut,) = model.examples([("dog " * 13, "cat " * 13)])
    assert cut.cut == "17 of 27 tokens, the first of each text"
    examples = json.loads((pairs / "run" / "attention.json").read_text())
    assert all(each["words"].count(MARK) == 1 for each in examples)


def test_a_word_of_the_other_side_is_another_feature_of_the_branch() -> None:
    branch = NgramBranch(["<pad>", "<unk>", "dog", "cat"], 2, max_order=2, max_gap=1, head=3)
    ids, mask = torch.tensor([[2, 3, 2, 3]]), torch.ones(1, 4, dtype=torch.bool)
    for kind in branch.ngrams(Inputs(ids, mask, torch.tensor([[0, 0, 1, 1]]))):
        codes = kind.codes[kind.shown].tolist()
        assert len(set(codes)) == len(codes)
    single = branch.ngrams(Inputs(ids, mask))[0].codes[0].tolist()
    assert len(set(single)) == 2


def test_texts_are_given_by_two_options_or_in_lines_with_a_tab(pairs: Path) -> None:
    output = run(pairs, "predict", "ckpt_path=run", "text=a dog, = [it]", "second=the cat", "json=true")
    assert json.loads(output)["text"] == ["a dog, = [it]", "the cat"]
    output = run(pairs, "predict", "ckpt_path=run", "json=true", stdin="a dog\tthe cat\n\n\tcat\n")
    records = [json.loads(line) for line in output.splitlines()]
    assert [record["text"] for record in records] == [["a dog", "the cat"], ["", ""], ["", "cat"]]
    assert [record["label"] is None for record in records] == [False, True, True]


def test_texts_of_the_other_kind_are_refused(pairs: Path, checkpoint: Path) -> None:
    with pytest.raises(UserError, match="the model reads pairs of texts: give both"):
        load(pairs / "run").predict(["a dog"])
    with pytest.raises(UserError, match="the model reads single texts, not pairs"):
        load(checkpoint).predict([("a dog", "a cat")])
    with pytest.raises(UserError, match=r"data\.text: the model reads pairs"):
        evaluate(pairs / "other", pairs / "run", f"file='{pairs / 'pairs.csv'}'", "text_column=premise")


def test_faithfulness_removes_tokens_of_both_texts(pairs: Path) -> None:
    trained = ProbedRun(pairs / "run", device="cpu")
    (tokens,) = trained.tokens("test", np.array([3]))
    (text,) = trained.data.texts("test", [3])
    first, second = (part.split() for part in text)
    assert len(tokens) == len(first) + 1 + len(second)
    shorter = [tokens, tokens[1:], np.delete(tokens, len(first) + 1)]
    expected = [(first, second), (first[1:], second), (first, second[1:])]
    probabilities = load(pairs / "run").predict_proba([(" ".join(one), " ".join(two)) for one, two in expected])
    np.testing.assert_allclose(trained.probe.probabilities(shorter), probabilities, atol=1e-6)


def test_the_baseline_tells_both_sides_apart(pairs: Path) -> None:
    path = pairs / "sides.csv"
    draw = random.Random(1)
    sides = [(first, "big" if first == "red" else "red") for first in draw.choices(["red", "big"], k=80)]
    path.write_text("a,b,label\n" + "".join(f"{a} x{i},{b} y{i},{a}\n" for i, (a, b) in enumerate(sides)))
    train(
        pairs / "sides", "data=csv", f"data.path='{path}'", "data.text=[a,b]", "callbacks=default",
        "~callbacks.progress", "trainer.max_epochs=1",
    )  # fmt: skip
    features = {row["feature"] for row in read_csv(pairs / "sides" / "baseline" / "features.csv")}
    assert {"1: red", "2: red", "1: big", "2: big"} <= features


def test_ngrams_of_subwords_read_pairs(pairs: Path) -> None:
    data = ["data=csv", f"data.path='{pairs / 'pairs.csv'}'", "data.text=[premise,hypothesis]"]
    path = trained(pairs / "bpe", *data, "data/tokenizer=bpe", "model/embedding=ngrams")
    words = [word for word, _ in load(path).explain([("red dogs", "xylograph")])[0].tokens]
    assert words.count(MARK) == 1
    assert torch.load(path, weights_only=True)["state_dict"]["model.segments.table.weight"].shape[0] == 2
