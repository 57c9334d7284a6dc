"""The codec, which encodes texts as in training."""

import numpy as np
import pytest

from src.data.codec import Codec
from src.data.tokenizer import Word
from tests.helpers import one_batch

NAMES = ("bad", "good")


@pytest.fixture(params=["first", "last"])
def codec(request: pytest.FixtureRequest) -> Codec:
    tokenizer = Word(min_frequency=1).train(["a good film", "a bad one"])
    return Codec(tokenizer=tokenizer, class_names=NAMES, max_length=3, keep=request.param)


def test_a_batch_preserves_the_order_of_the_texts(codec: Codec) -> None:
    batch = one_batch(codec, ["a film", "", "one good film, truly"], [1, 0, 1])
    assert batch.mask.sum(1).tolist() == [2, 0, 3]
    assert batch.labels.tolist() == [1, 0, 1]
    assert batch.index.tolist() == [0, 1, 2]


def test_words_belong_to_the_truncated_tokens(codec: Codec) -> None:
    text = "One GOOD film, truly"
    builder, (words, other_words) = codec.read([text, "so"])
    batch = builder(np.array([0]))
    assert words == (["One", "GOOD", "film"] if codec.truncation.keep == "first" else ["film", ",", "truly"])
    assert other_words == ["so"]
    tokens = [codec.tokenizer.vocabulary[i] for i in batch.tokens[0]]
    assert tokens == [word.lower() if word.lower() in codec.tokenizer.vocabulary else "<unk>" for word in words]
