"""How many texts a model was trained on, by hashes."""

import numpy as np
import pytest

from heedful.data.padded_batches import Tokens
from heedful.data.trained_texts import TrainedTexts, find_trained, hash_tokens

DIGESTS = np.array([-7, 3, 3, 11, 13, 17])  # of six texts
OF_TOKENS = np.array([1, 2, 2, 2, 5, -9])


def sample(*hashes: int, distinct: int | None = None) -> TrainedTexts:
    return TrainedTexts(np.array(hashes), distinct or len(hashes))


def test_the_hashes_are_distinct_and_ascending() -> None:
    texts = TrainedTexts.of(np.array([5, -2, 5, 0]))
    assert (texts.hashes.tolist(), texts.distinct) == ([-2, 0, 5], 3)


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ([sample(3, 5)], (2, 6)),
        ([sample(3, 5), sample(13, 19)], (3, 6)),
        ([sample(-7, 11, distinct=4)], (2, 4)),  # it is not known whether 13 and 17 are among the others
        ([sample(-7, 11, distinct=4), sample(3, 17)], (4, 4)),
        ([sample(-7, 3, distinct=4), sample(-8, 11, distinct=3)], (3, 3)),
        ([sample(3, 5), None], None),
        ([TrainedTexts(np.array([2, 3]), 2, of_tokens=True)], (3, 6)),
        ([TrainedTexts(np.array([-9, 2]), 7, of_tokens=True), sample(3, 5)], (4, 5)),
    ],
)
def test_texts_of_at_least_one_model_are_counted(models, expected) -> None:
    found = find_trained(DIGESTS, OF_TOKENS, models)
    assert (None if found is None else tuple(part.sum() for part in found)) == expected


def test_texts_have_the_same_hash_if_they_have_the_same_tokens_in_the_same_parts() -> None:
    texts = ["a b", "A  b", "", "b a", "x a b", "X  A b", "y a b"]
    ids = np.array([5, 7, 5, 7, 7, 5, *[1, 5, 7] * 3], dtype=np.int32)
    tokens = Tokens(ids, np.array([0, 2, 4, 4, 6, 9, 12, 15]))
    bounds = np.array([[1, 1], [1, 1], [0, 0], [1, 1], [1, 2], [1, 2], [1, 2]])
    divided = tokens._replace(bounds=bounds)
    for own in (tokens, divided):
        hashes = hash_tokens(own, texts, 1).tolist()
        assert [hashes.index(each) for each in hashes] == [0, 0, 2, 3, 4, 4, 6]
    assert hash_tokens(tokens, texts, None)[4] == hash_tokens(tokens, texts, None)[6]
    assert hash_tokens(tokens._replace(bounds=bounds + 1), texts, 1)[0] != hash_tokens(divided, texts, 1)[0]
