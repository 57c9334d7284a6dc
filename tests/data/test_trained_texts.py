"""How many texts a model was trained on, by hashes."""

import numpy as np
import pytest

from heedful.data.trained_texts import TrainedTexts, count_trained

DIGESTS = np.array([-7, 3, 3, 11, 13, 17])  # of six texts


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
        ([sample(3, 5), None], (None, None)),
    ],
)
def test_texts_of_at_least_one_model_are_counted(
    models: list[TrainedTexts | None], expected: tuple[int | None, int | None]
) -> None:
    assert count_trained(DIGESTS, models) == expected
