"""The schema, which encodes texts as in training."""

from typing import Literal

import numpy as np
import pytest

from heedful.data.schema import Schema
from heedful.data.tokenizer import Word


@pytest.mark.parametrize(("keep", "expected"), [("first", ["One", "GOOD", "film"]), ("last", ["film", ",", "truly"])])
def test_words_belong_to_the_truncated_tokens(keep: Literal["first", "last"], expected: list[str]) -> None:
    tokenizer = Word(min_frequency=1).train(["a good film", "a bad one"])
    schema = Schema(tokenizer=tokenizer, class_names=("bad", "good"), max_length=3, keep=keep)
    builder, (words, other_words) = schema.read(["One GOOD film, truly", "so"])
    assert (words, other_words) == (expected, ["so"])
    tokens = [schema.tokenizer.vocabulary[i] for i in builder(np.array([0])).inputs.ids[0]]
    assert tokens == [word.lower() if word.lower() in schema.tokenizer.vocabulary else "<unk>" for word in words]
