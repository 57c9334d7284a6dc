"""Lists and values in messages."""

from src.data.listing import listed


def test_long_lists_are_counted_and_long_values_truncated() -> None:
    assert listed(["a"]) == "'a'"
    assert listed(list(range(20_000))) == "0, 1, 2, 3, 4 and 19,995 more"
    assert len(listed(["x" * 10**6, {"a": "y" * 10**6}])) < 100
    assert listed(["a", "b\n"], plain=True) == r"a, b\n"
