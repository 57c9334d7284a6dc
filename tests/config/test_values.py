import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union

import pytest

from src.config.values import describe_type, describe_value, matches_type


class Colour(Enum):
    RED = "r"
    BLUE = 2


class Tensor: ...


@pytest.mark.parametrize(
    ("hint", "valid", "invalid", "description"),
    [
        (int, [0, -3], [1.0, True, "1", None, [1]], "a whole number"),
        (float, [0, -3, 0.5, float("inf")], [True, "1", None], "a number"),
        (bool, [True, False], [0, 1, "true", None], "true or false"),
        (str, ["", "a"], [1, True, None, ["a"]], "text"),
        (Path, ["a/b"], [3, None], "a path"),
        (os.PathLike[str], ["a/b"], [3], "a path"),
        (None, [None], [0, "null"], "null"),
        (Optional[int], [3, None], ["a", 1.5], "a whole number or null"),  # noqa: UP045
        (int | str, [3, "a"], [1.5, None, True], "a whole number or text"),
        (Literal["a", 3], ["a", 3], ["b", 3.0, True, None], "one of a, 3"),
        (Literal["a"] | None | Literal["b"], ["a", "b", None], ["c"], "one of a, b or null"),
        (Sequence[float] | Literal["x"] | None, [[1, 2.5], "x", None], ["y", [None], 3], "x or a list"),
        (Colour, ["RED", "r", 2], ["red", 3], "one of RED, BLUE"),
        (list, [[], [1, "a"]], ["a", {}, None], "a list in [ ]"),
        (list[int], [[], [1, 2]], [[1, "a"], [True], "1"], "a list in [ ], each item a whole number"),
        (Iterable[str], [["a"]], ["a", [1]], "a list in [ ], each item text"),
        (
            tuple[float, int],
            [[0.5, 3]],
            [[0.5], [0.5, 0.5], [1, 2, 3]],
            "a list in [ ] of length 2: a number, a whole number",
        ),
        (tuple[int, ...], [[], [1, 2]], [["a"]], "a list in [ ], each item a whole number"),
        (dict, [{}, {"a": 1}], [[], "a", None], "a mapping"),
        (Mapping[str, int], [{"a": 1}], [{"a": "b"}], "a mapping"),
        (Annotated[int, "positive"], [3], ["a"], "a whole number"),
        (float | Tensor, [0.5, {"of": "something"}], ["fast", None], "a number"),
        (list[float | Tensor], [[1, 2]], [["a"]], "a list in [ ], each item a number"),
        (Union[None, Union[str, list[int]]], ["a", [1], None], [3], "null or text or a list"),  # noqa: UP007
    ],
    ids=str,
)
def test_values_match_known_annotations(hint: Any, valid: list[Any], invalid: list[Any], description: str) -> None:
    assert [value for value in valid if not matches_type(value, hint)] == []
    assert [value for value in invalid if matches_type(value, hint)] == []
    assert describe_type(hint).startswith(description)


@pytest.mark.parametrize("hint", [Any, Tensor, timedelta | None, list[Tensor], "Unknown"], ids=str)
def test_unknown_annotations_accept_any_value(hint: Any) -> None:
    assert matches_type(["a"], hint)


@pytest.mark.parametrize("hint", [int, str, list[int], Literal["a"], float | None], ids=str)
def test_an_object_matches_every_annotation(hint: Any) -> None:
    assert matches_type({"_target_": "torch.nn.ReLU"}, hint)


def test_values_are_described_in_the_notation_of_yaml() -> None:
    assert [describe_value(value) for value in ("a", 1, True, None, [1, "b"], {"c": False})] == [
        "got 'a'",
        "got 1",
        "got true",
        "got null",
        "got [1, b]",
        "got {c: false}",
    ]
    assert len(describe_value("long" * 100)) < 80
