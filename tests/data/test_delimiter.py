"""The delimiter of a CSV file, detected or set."""

import pytest

from src.data.delimiter import detect_delimiter, parse_delimiter


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("text,label\na;b|c,d\n", ","),
        ("text;label\na,b;c\n", ";"),
        ('\n"text";"label"\n"a, b";c\n', ";"),
        ("id\tlabel\ttext\n1\t2\t3\n", "\t"),
        ("text|label|a, b, c, d\n", "|"),  # fewer columns than with a comma, but all required columns
        ("Text;Label\n", ";"),  # the message about the missing column lists both
        ("text\n", ","),
        ('"text\n', ","),
        ("", ","),
    ],
)
def test_the_header_determines_the_delimiter(text: str, delimiter: str) -> None:
    assert detect_delimiter(text, ("text", "label")) == delimiter


def test_without_required_columns_the_delimiter_with_the_most_columns_is_detected() -> None:
    assert detect_delimiter("id;text;stars, 1 to 5\n", None) == ";"


def test_names_and_characters_are_delimiters() -> None:
    values = ("comma", ";", "tab", "\\t", "\t", "pipe", "^", None)
    assert [parse_delimiter(value) for value in values] == [",", ";", "\t", "\t", "\t", "|", "^", None]


@pytest.mark.parametrize("value", ["", "::", "a", "1", '"', "\n", "colon"])
def test_other_values_are_refused(value: str) -> None:
    with pytest.raises(ValueError, match="must be comma, semicolon, tab, pipe, or another character"):
        parse_delimiter(value)
