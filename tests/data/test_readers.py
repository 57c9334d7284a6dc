"""Readers of valid and damaged files."""

import gzip
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.data.readers import detect_delimiter, format_places, parse_delimiter, read_file
from src.errors import UserError
from tests.data.data_files import read_columns, read_texts, write, write_parquet


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'id,text,label\n1,"good, ""really""\nso",pos\n\n2,bad,neg\n'),
        ("a.csv", '\ufefftext,label\r\n"good, ""really""\nso",pos\r\nbad,neg\r\n'),
        ("a.tsv", 'label\ttext\npos\t"good, ""really""\nso"\nneg\tbad\n'),
        ("a.csv", 'id;text;label\n1;"good, ""really""\nso";pos\n2;bad;neg\n'),
        ("a.csv", 'text\tlabel\n"good, ""really""\nso"\tpos\nbad\tneg\n'),
        ("a.csv", '\ufefftext|label\r\n"good, ""really""\nso"|pos\r\nbad|neg\r\n'),
        ("a.csv", 'sep=^\r\ntext^label\r\n"good, ""really""\nso"^pos\r\nbad^neg\r\n'),
        (
            "a.jsonl",
            '{"text": "good, \\"really\\"\\nso", "label": "pos"}\n\n{"text": "bad", "label": "neg", "x": 1}',
        ),
        (
            "a.json",
            '[{"text": "good, \\"really\\"\\nso", "label": "pos"},\n\n{"text": "bad", "label": "neg", "x": 1}]\n',
        ),
    ],
)
def test_texts_and_labels_are_read_from_text_files(tmp_path: Path, name: str, content: str) -> None:
    compressed = gzip.compress(content.encode(), mtime=0)
    for path in (write(tmp_path / name, content), write(tmp_path / f"{name}.gz", compressed)):
        assert read_texts(path) == [('good, "really"\nso', "pos"), ("bad", "neg")]


@given(
    rows=st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.sampled_from(["a", "b"])),
        min_size=1,
        max_size=9,
    )
)
def test_any_text_is_read_from_jsonl(rows: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("x") / "a.jsonl"
    path.write_text("\n".join(json.dumps({"text": text, "label": label}) for text, label in rows), "utf-8")
    assert read_texts(path) == rows


NESTED = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "the file has no rows"),
        ("a.csv", "text,label\n", "the file has no rows"),
        ("a.csv", "\n\n", "the file has no rows"),
        (
            "a.csv",
            "Text,sentiment\nx,y\n",
            r"no column 'text' \(did you mean 'Text'\?\); its columns are 'Text', 'sent",
        ),
        ("a.csv", "text,label\na,b\nc,d,e\n", "line 3 has 3 fields where the header has 2"),
        ("a.csv", "text;label\na;b\nc;d;e\n", "line 3 has 3 fields where the header has 2; .*delimiter ';'"),
        ("a.csv", "text,label\na,b\ntext,label\nc,d\n", "line 3 repeats the header"),
        ("a.csv", "text,label,text\na,b,c\n", "2 columns are called 'text'"),
        ("a.csv", 'text,label\n"a\nb",c\n"d,e\n', "line 4 is malformed"),
        ("a.csv", ",".join(f"{i}{'x' * 100}" for i in range(1000)) + "\n", "x…' and 995 more"),
        ("a.csv", b"text,label\ngood,pos\ncaf\xe9,neg\n", r"line 3 is not UTF-8; .*WINDOWS-1252"),
        ("a.tsv", 'text\tlabel\n"a" b\tc\n', "line 2 is malformed"),
        ("a.tsv", 'text\tlabel\n"a\tb\nc"\td\n', r"line 2 encloses a tab and a line break, up to line 3.*data\.quotes"),
        ("a.jsonl", '{"text": "a", "label": 1}\n{"text": \n', "line 2, column .* is not JSON"),
        ("a.jsonl", '{"text": "a", "label": 1}\n["b", 0]\n', "line 2: is not a JSON object"),
        ("a.jsonl", '{"texts": "a", "label": 1}\n', "did you mean 'texts'"),
        ("a.jsonl", '{"text": "a", "label": 1}\n{"text": "a", "text": "b"}\n', "line 2: .* two values for 'text'"),
        ("a.jsonl", '{"text": "a\\ud83d", "label": 1}\n', r"line 1: column 'text' holds an unpaired surrogate"),
        ("a.jsonl", f'{{"text": "a", "label": 1, "x": {NESTED}}}\n', "line 1: cannot be read .*recursion"),
        ("a.jsonl", '{"text": "a", "label": ' + "7" * 5000 + "}", r"line 1: cannot be read .*4300 digits"),
        ("a.jsonl", '{"text": "a", "label": [1]}\n', r"line 1: column 'label' holds a value of type list, \[1\]"),
        ("a.json", '[{"text": "a", "label": 1},\n {"text": }]', "line 2, column 11: is not JSON"),
        ("a.json", '[{"text": "a", "label": 1}, ["b", 0]]', "record 2: is not a JSON object; the file must be one arr"),
        ("a.json", '{"text": "a", "label": 1}', r"is not a JSON array; .* name it \.jsonl if each line is an object"),
        ("a.json", '{"text": "a", "label": 1}\n{"text": "b", "label": 1}', r"Extra data.* name it \.jsonl if"),
        ("a.json", "[]", "the file has no rows"),
        ("a.csv.gz", "text,label\na,b\n", "is not a gzip file, or is damaged"),
        ("a.csv.gz", gzip.compress(b"text,label\na,b\n", mtime=0)[:-9], "is not a gzip file, or is damaged"),
        ("a.csv.gz", gzip.compress(b"text,label\na,b,c\n", mtime=0), "line 2 has 3 fields"),
        ("a.jsonl.gz", gzip.compress(b"caf\xe9", mtime=0), "line 1 is not UTF-8"),
        ("a.parquet.gz", gzip.compress(b"PAR1", mtime=0), r"extension; .*\.json; \.gz may follow any but \.parquet"),
        ("a.parquet", "PAR1 and nothing else", "is not a Parquet file"),
        ("a.xlsx", "x", r"extension; it must be one of \.csv, \.tsv, \.jsonl, \.parquet"),
    ],
)
def test_mistakes_in_a_file_are_reported_in_one_short_message(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(UserError, match=message) as error:
        read_texts(path)
    assert str(path) in str(error.value)
    assert len(str(error.value)) < 700


def test_a_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(UserError, match="is a folder"):
        read_texts(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,text\n1,good\n2,bad\n"),
        ("a.jsonl", '{"id": "1", "text": "good"}\n{"text": "bad", "id": "2"}'),
    ],
)
def test_all_columns_are_read_on_request(tmp_path: Path, name: str, content: str) -> None:
    path = write(tmp_path / name, content)
    assert read_columns(path, "text", others=True) == {"id": ["1", "2"], "text": ["good", "bad"]}
    assert read_columns(path, "text") == {"text": ["good", "bad"]}


def test_other_columns_may_have_the_same_name_only_if_they_are_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,x,text\n1,2,good\n")
    assert read_columns(path, "text") == {"text": ["good"]}
    with pytest.raises(UserError, match="2 columns are called 'x'"):
        read_columns(path, "text", others=True)


def test_a_blank_line_is_a_row_if_there_is_one_column(tmp_path: Path) -> None:
    assert read_columns(write(tmp_path / "a.csv", "text\ngood\n\nbad\n"), "text") == {"text": ["good", "", "bad"]}


def test_quotes_are_part_of_the_text_on_request(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", 'text\tlabel\n"a\tb\n"c" d\te\n')
    assert read_columns(path, "text", quotes=False) == {"text": ['"a', '"c" d']}


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array([b"pos", "größer".encode()]), ["pos", "größer"]),
        (pa.array(["pos", None]).dictionary_encode(), ["pos", ""]),
        (pa.array([Decimal("1.00"), Decimal("2.50")]), ["1", "2.50"]),
        (pa.array([1.0, float("nan")]), ["1", ""]),
        (pa.array([0.1, None], pa.float32()), ["0.1", ""]),
        (pa.array([True, False]), ["True", "False"]),
    ],
)
def test_parquet_columns_of_every_type_are_read_as_text(tmp_path: Path, values: Any, texts: list[str]) -> None:
    path = write_parquet(tmp_path / "a.parquet", text=["good", "bad"], label=values)
    assert read_texts(path) == [("good", texts[0]), ("bad", texts[1])]
    (rows,) = read_file(path, ["label"])
    assert rows.columns["label"].type == values.type


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([b"pos", b"\xff"], r"row 2: column 'label' holds bytes that are not UTF-8, b'\\xff'"),
        ([date(2024, 1, 2), None], "row 1: column 'label' holds a value of type date"),
        (pa.array([1, 2**62], pa.timestamp("us")), "rows 1 to 2: column 'label' has a damaged value"),
        ([None, {"a": 1}], "row 2: column 'label' holds a value of type dict"),
    ],
)
def test_parquet_columns_without_texts_are_reported(tmp_path: Path, values: Any, message: str) -> None:
    with pytest.raises(UserError, match=rf"a\.parquet: {message}"):
        read_texts(write_parquet(tmp_path / "a.parquet", text=["good", "bad"], label=values))


@pytest.mark.parametrize("checksum", [True, False])
def test_a_damaged_page_of_parquet_is_located(tmp_path: Path, checksum: bool) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"text": [f"text {i}" for i in range(2003)], "label": [i % 2 for i in range(2003)]})
    options = {"compression": "none" if checksum else "zstd", "write_page_checksum": checksum}
    pq.write_table(table, path, row_group_size=1009, use_dictionary=False, **options)
    content = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(1).column(0)
    page = column.data_page_offset + (column.total_compressed_size // 2 if checksum else 0)
    content[page : page + 7] = bytes(7)
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"a\.parquet: after row 1,0\d\d: .* is damaged"):
        read_texts(path)


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("text,label\na;b|c,d\n", ","),
        ("text;label\na,b;c\n", ";"),
        ('\n"text";"label"\n"a, b";c\n', ";"),
        ("id\tlabel\ttext\n1\t2\t3\n", "\t"),
        ("text|label|a, b, c, d\n", "|"),  # fewer columns than with a comma, but all required columns
        ("Text;Label\n", ";"),  # the message about the missing column lists both
        ('"text\n', ","),
        ("", ","),
    ],
)
def test_the_header_determines_the_delimiter(text: str, delimiter: str) -> None:
    assert detect_delimiter(text, ("text", "label")) == delimiter


def test_names_and_characters_are_delimiters() -> None:
    values = ("comma", ";", "tab", "\\t", "\t", "pipe", "^", None)
    assert [parse_delimiter(value) for value in values] == [",", ";", "\t", "\t", "\t", "|", "^", None]


@pytest.mark.parametrize("value", ["", "::", "a", "1", '"', "\n", "colon"])
def test_other_values_are_refused(value: str) -> None:
    with pytest.raises(ValueError, match="must be comma, semicolon, tab, pipe, or another character"):
        parse_delimiter(value)


def test_the_first_places_are_listed_and_all_are_counted() -> None:
    assert format_places("line", [3]) == "line 3"
    assert format_places("row", range(2, 1236)) == "rows 2, 3, 4, 5, 6, … (1,234 in all)"
