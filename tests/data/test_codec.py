"""The codec, which encodes texts as in training."""

import numpy as np
import pytest

from src.data.codec import Codec
from src.data.tokenizer import Word

NAMES = ("bad", "good")


@pytest.fixture(params=["first", "last"])
def codec(request: pytest.FixtureRequest) -> Codec:
    tokenizer = Word(min_frequency=1).train(["a good film", "a bad one"])
    return Codec(tokenizer=tokenizer, class_names=NAMES, max_length=3, keep=request.param)


def test_words_belong_to_the_truncated_tokens(codec: Codec) -> None:
    text = "One GOOD film, truly"
    builder, (words, other_words) = codec.read([text, "so"])
    batch = builder(np.array([0]))
    assert words == (["One", "GOOD", "film"] if codec.truncation.keep == "first" else ["film", ",", "truly"])
    assert other_words == ["so"]
    tokens = [codec.tokenizer.vocabulary[i] for i in batch.tokens[0]]
    assert tokens == [word.lower() if word.lower() in codec.tokenizer.vocabulary else "<unk>" for word in words]
