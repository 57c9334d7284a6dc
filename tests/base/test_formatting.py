"""Lists and values in messages."""

from heedful.base.formatting import format_list


def test_long_lists_are_counted_and_long_values_truncated() -> None:
    assert format_list(["a"]) == "'a'"
    assert format_list(list(range(20_000))) == "0, 1, 2, 3, 4 and 19,995 more"
    assert len(format_list(["x" * 10**6, {"a": "y" * 10**6}])) < 100
    assert format_list(["a", "b\n"], plain=True) == r"a, b\n"
