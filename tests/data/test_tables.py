"""Tables: readers of valid and damaged files; writers lose no value and leave no incomplete file."""

import bz2
import csv
import gzip
import io
import json
import math
import resource
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heedful.base.errors import UserError
from heedful.base.files import csv_line
from heedful.data.tables import Rows, TableFile, detect_delimiter, format_places, parse_delimiter, write_table
from tests.data.data_files import read_columns, read_texts, write, write_parquet


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'id,text,label\n1,"good, ""really""\nso",pos\n\n2,bad,neg\n'),
        ("a.csv", '\ufefftext,label\r\n"good, ""really""\nso",pos\r\nbad,neg\r\n'),
        ("a.tsv", 'label\ttext\npos\t"good, ""really""\nso"\nneg\tbad\n'),
        ("a.csv", '\ufefftext|label\r\n"good, ""really""\nso"|pos\r\nbad|neg\r\n'),
        ("a.csv", 'sep=^\r\ntext^label\r\n"good, ""really""\nso"^pos\r\nbad^neg\r\n'),
        ("a.csv", '"sep=;"\ntext;label;a,b\n"good, ""really""\nso";pos;c\nbad;neg;d\n'),
        ("a.jsonl", '{"text": "good, \\"really\\"\\nso", "label": "pos"}\n\n{"text": "bad", "label": "neg", "x": 1}'),
        ("a.json", '[{"text": "good, \\"really\\"\\nso", "label": "pos"},\n\n{"text": "bad", "label": "neg", "x": 1}]'),
    ],
)
def test_texts_and_labels_are_read_from_text_files(tmp_path: Path, name: str, content: str) -> None:
    compressed = gzip.compress(content.encode(), mtime=0)
    for path in (write(tmp_path / name, content), write(tmp_path / f"{name}.gz", compressed)):
        assert read_texts(path) == [('good, "really"\nso', "pos"), ("bad", "neg")]


@pytest.mark.parametrize(
    ("name", "content", "options", "columns"),
    [
        ("a.csv", f"text,label\n{'good ' * 30_011},pos\n", {}, {"text": ["good " * 30_011]}),  # limit of the csv module
        ("a.csv", "text\ngood\n\nbad\n", {}, {"text": ["good", "", "bad"]}),  # of a single column
        ("a.tsv", 'text\tlabel\n"a\tb\n"c" d\te\n', {"quotes": False}, {"text": ['"a', '"c" d']}),
        ("a.jsonl", '{"text": "a\u2028b\x85c"}\n{"text": "d"}', {}, {"text": ["a\u2028b\x85c", "d"]}),
        ("a.jsonl", '{"text": "a", "x": NaN}', {"others": True}, {"text": ["a"], "x": [None]}),
        ("a.jsonl", '{"text": "a", "y": [{"z": -Infinity}]}', {"others": True}, {"text": ["a"], "y": [[{"z": None}]]}),
    ],
    ids=["long", "blank line", "quotes", "separators", "NaN", "infinite"],
)
def test_unusual_files_are_read(name: str, content: str, options: Any, columns: Any, tmp_path: Path) -> None:
    assert read_columns(write(tmp_path / name, content), "text", **options) == columns


@pytest.mark.parametrize("composed", [True, False])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet"])
def test_a_column_is_found_in_either_form_of_its_letters(name: str, composed: bool, tmp_path: Path) -> None:
    asked, written = ("é", "e\u0301")[:: 1 if composed else -1]
    path = tmp_path / name
    if name == "a.parquet":
        write_parquet(path, **{written: ["a", "b"], "id": ["1", "2"]})
    elif "json" in name:
        write(path, f'[{{"{written}": "a", "id": "1"}},{{"id": "2", "{written}": "b"}}]')
        if name == "a.jsonl":
            write(path, path.read_text().strip("[]").replace("},", "}\n"))
    else:
        write(path, f"{written};id\na;1\nb;2\n".replace(";", ";" if name == "a.csv" else "\t"))
    assert read_columns(path, asked) == {asked: ["a", "b"]}
    assert read_columns(path, asked, others=True) == {asked: ["a", "b"], "id": ["1", "2"]}


def test_columns_whose_names_differ_only_in_form_are_not_unique(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"é": "a", "e\u0301": "b"}')
    with pytest.raises(UserError, match="2 columns are called 'é'"):
        read_columns(path, "é")


NAN = float("nan")
NESTED = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text,label\n", "the file has no rows"),
        ("a.csv", "Text,sentiment\nx,y\n", r"no column 'text' \(did you mean Text\?\); its .* The first line "),
        ("a.csv", "text,label\na,b\nc,d,e\n", "line 3 is malformed .3 fields where the header has 2"),
        ("a.csv", "text,label\na,b\ntext,label\nc,d\n", "line 3 is malformed .it repeats the header"),
        ("a.csv", "text,label,text\na,b,c\n", "2 columns are called 'text'"),
        ("a.csv", 'text,label\n"a\nb",c\n"d,e\n', "line 4 is malformed"),
        ("a.csv", 'text,label\n"a\rb",c\r\nd\re,f\n', r"line 4 is malformed .a carriage return .* remove it"),
        ("a.csv", ",".join(f"{i}{'x' * 100}" for i in range(1000)) + "\n", "x…' and 995 more"),
        ("a.csv", b"text,label\ngood,pos\ncaf\xe9,neg\n", r"line 3 is not UTF-8; .*WINDOWS-1252"),
        ("a.csv", "text,label\na,b\n".encode("utf-16"), "is text in UTF-16 or UTF-32; save it as UTF-8"),
        ("a.csv", "text,label\na,b\n".encode("utf-16-be"), "is text in UTF-16"),
        ("a.jsonl", gzip.compress(b"{}", mtime=0), r"is compressed with gzip; unpack it, or add \.gz to its name"),
        ("a.csv.gz", gzip.compress(bz2.compress(b"text,label"), mtime=0), "is compressed, but not with gzip; unpack"),
        ("a.tsv", b"PK\x03\x04\x14\0", "is a zip archive or an Excel file; unpack it, or save the table as CSV"),
        ("a.parquet", b"PK\x03\x04\x14\0", "is a zip archive or an Excel file"),
        ("a.csv.gz", b"PK\x03\x04\x14\0", "is a zip archive or an Excel file"),
        ("a.json", b"PAR1\x15\0", r"is a Parquet file; give it the extension \.parquet"),
        ("a.tsv", 'text\tlabel\n"a\tb\nc"\td\n', r"line 2 .*a double quote encloses a tab and a line.*data\.quotes"),
        ("a.jsonl", '{"text": "a", "label": 1}\n{"text": \n', "line 2: is not a JSON object .Expecting"),
        ("a.jsonl", '{"text": "a", "label": 1}\n["b", 0]\n', r"line 2: is not a JSON object \(it is \['b', 0\]"),
        ("a.jsonl", '{"text": "a\\ud83d", "label": 1}\n', r"line 1: column 'text' holds 'a.+ud83d', which is not text"),
        ("a.jsonl", f'{{"text": "a", "label": 1, "x": {NESTED}}}\n', "line 1: is not a JSON object .*recursion"),
        ("a.jsonl", '{"text": "a", "label": ' + "7" * 5000 + "}", r"line 1: is not a JSON object .*4300 digits"),
        ("a.jsonl", '{"text": "a", "label": 1}\n{"text": "b", "text": "c"}', r"line 2: the key 'text' occurs more"),
        ("a.json", '[{"text": "a", "label": 1}, {"label": 1, "label": 0}]', r"record 2: the key 'label' occurs more"),
        ("a.jsonl", '{"text": "a", "label": [1]}\n', r"line 1: column 'label' holds \[1\], a list"),
        ("a.json", '[{"text": "a", "label": 1},\n {"text": }]', "is not a JSON object .*line 2 column 11"),
        ("a.json", '[{"text": "a", "label": 1}, ["b", 0]]', r"record 2: is not .*it is .*; a .json file must be one"),
        ("a.json", '{"text": "a", "label": 1}\n{"text": "b", "label": 1}', r"Extra data.* each line of a \.jsonl"),
        ("a.csv.gz", gzip.compress(b"text,label\na,b\n", mtime=0)[:-9], "cannot be read .*: compress or download it"),
        ("a.parquet", "PAR1 and nothing else", "is not a Parquet file"),
        ("a.xlsx", "x", r"extension; it must be .* \.gz may follow any but \.parquet"),
    ],
)
def test_mistakes_in_a_file_are_reported_in_one_short_message(tmp_path, name, content, message) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(UserError, match=message) as error:
        read_texts(path)
    assert str(path) in str(error.value)
    assert len(str(error.value)) < 700


def test_other_columns_may_have_the_same_name_only_if_they_are_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,x,text\n1,2,good\n")
    assert read_columns(path, "text") == {"text": ["good"]}
    with pytest.raises(UserError, match="2 columns are called 'x'"):
        read_columns(path, "text", others=True)


@pytest.mark.parametrize(
    ("text", "is_reported"),
    [
        ("a film,pos\nbad,neg\nfine", True),
        ("a film,pos\r\nfine", True),
        ("I liked it, really,\nbut, well,pos", False),
        ("good,bad\nand so,pos\nfine", False),  # bad is no label
        ("good,pos\nand, finally,\nfine,pos", False),  # the second line has three fields
        ("two\nlines", False),
        ("one\rline", False),
    ],
)
def test_rows_that_a_double_quote_may_enclose_are_reported(tmp_path, text: str, is_reported: bool, caplog) -> None:
    path = write(tmp_path / "a.csv", f'text,label\nbad,neg\n"{text}",pos\nso,pos\n')
    assert read_columns(path, "text", "label", label="label")["text"] == ["bad", text, "so"]
    assert ("line 3: a double quote may enclose several rows" in caplog.text) == is_reported


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array([b"pos", "größer".encode()]), ["pos", "größer"]),
        (pa.array(["pos", None]).dictionary_encode(), ["pos", ""]),
        (pa.array([Decimal("1.50"), Decimal("2.25")]), ["1.50", "2.25"]),
        (pa.array([0.1, None], pa.float32()), ["0.1", ""]),
        (pa.array([np.float16(0.1), None], pa.float16()), ["0.1", ""]),
        (pa.array([date(2024, 1, 2), None]), ["2024-01-02", ""]),
        (pa.array([1, None], pa.timestamp("ns")), ["1970-01-01 00:00:00.000000001", ""]),
    ],
)
def test_parquet_columns_of_every_type_are_read_as_text(tmp_path: Path, values: Any, texts: list[str]) -> None:
    path = write_parquet(tmp_path / "a.parquet", text=["good", "bad"], label=values)
    assert read_texts(path) == [("good", texts[0]), ("bad", texts[1])]
    (rows,) = TableFile(path, ["label"]).read()
    assert rows.columns["label"].type == values.type


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([b"pos", b"\xff"], r"row 2: column 'label' holds b'\\xff', which is not text in UTF-8"),
        ([["a"], ["a", "b"]], r"row 1: column 'label' holds \['a'\], a list: .* lists in all rows are labels"),
        ([None, {"a": 1}], "row 2: column 'label' holds {'a': 1}, a mapping"),
        ([timedelta(1), None], r"row 1: column 'label' holds datetime.timedelta\(days=1\), a time span: convert it"),
    ],
)
def test_parquet_columns_without_texts_are_reported(tmp_path: Path, values: Any, message: str) -> None:
    with pytest.raises(UserError, match=rf"a\.parquet: {message}"):
        read_texts(write_parquet(tmp_path / "a.parquet", text=["good", "bad"], label=values))


def test_a_damaged_page_of_parquet_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"text": [f"text {i}" for i in range(2003)], "label": [i % 2 for i in range(2003)]})
    pq.write_table(table, path, use_dictionary=False, compression="none", write_page_checksum=True)
    content = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(0).column(0)
    page = column.data_page_offset + column.total_compressed_size // 2
    content[page : page + 7] = bytes(7)
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"a\.parquet: .* is damaged"):
        read_texts(path)


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("text,label\na;b|c,d\n", ","),
        ('\n"text";"label"\n"a, b";c\n', ";"),
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
    with pytest.raises(ValueError, match="must be comma, semicolon, tab, pipe, or another punctuation character"):
        parse_delimiter(value)


def test_the_first_places_are_listed_and_all_are_counted() -> None:
    assert format_places("line", [3]) == "line 3"
    assert format_places("row", range(2, 1236)) == "rows 2, 3, 4, 5, 6, … (1,234 in all)"


def write_chunks(path: Path, *chunks: dict[str, Any]) -> None:
    names = list(dict.fromkeys(name for columns in chunks for name in columns))
    sizes = [max(map(len, columns.values())) for columns in chunks]
    rows = (Rows("in.csv", "line", range(size), columns) for size, columns in zip(sizes, chunks, strict=True))
    write_table(path, names, rows)


def test_values_of_several_types_are_written(tmp_path: Path) -> None:
    columns = {"odd": [1, "a", {"b": [2**70, NAN]}, NAN]}
    for ending in ("csv", "jsonl"):
        write_chunks(tmp_path / f"a.{ending}", columns, {"other": [0.5]})
    values = [json.loads(line)["odd"] for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert values == [1, "a", {"b": [2**70, None]}, None, None]
    assert (tmp_path / "a.csv").read_text().splitlines()[1:3] == ["1,", "a,"]


def test_arrow_columns_are_written(tmp_path: Path) -> None:
    types = [pa.uint64(), pa.decimal128(9, 2), pa.dictionary(pa.int8(), pa.string()), pa.float32()]
    values = [[2**63, 0], [Decimal("1.50"), None], ["a", "b"], [0.1, None]]
    columns = {str(kind): pa.array(cells, kind) for kind, cells in zip(types, values, strict=True)}
    write_chunks(tmp_path / "a.csv", columns)
    assert (tmp_path / "a.csv").read_text().splitlines()[1:] == [f"{2**63},1.50,a,0.1", "0,,b,"]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([[0.1, NAN], None, [], [None]], pa.list_(pa.float32()), [[0.1, None], None, [], [None]]),
        ([[[np.float16(0.1)]], [None]], pa.large_list(pa.list_(pa.float16())), [[[0.1]], [None]]),
        ([[0.1, -math.inf], None], pa.list_(pa.float64(), 2), [[0.1, None], None]),
        ([{"x": NAN, "y": 1}, None], pa.struct({"x": pa.float64(), "y": pa.int8()}), [{"x": None, "y": 1}, None]),
        ([[("k", 0.1), ("l", NAN)], None], pa.map_(pa.string(), pa.float32()), [[["k", 0.1], ["l", None]], None]),
        ([[{"x": date(2024, 1, 2)}]], pa.list_(pa.struct({"x": pa.date32()})), [[{"x": "2024-01-02"}]]),
        ([[2**62], None], pa.list_(pa.timestamp("ns")), [["2116-02-20 23:53:38.427387904"], None]),
        ([[Decimal("1.50"), None]], pa.list_(pa.decimal128(9, 2)), [["1.50", None]]),
        ([[b"a\xff"]], pa.list_(pa.binary()), [["a\\xff"]]),
    ],
)  # fmt: skip
def test_nested_arrow_columns_are_written_as_json(tmp_path: Path, values: Any, kind: Any, expected: Any) -> None:
    for cells in (pa.array(values, kind), pa.array([None, *values], kind)[1:], pa.chunked_array([values], kind)):
        write_chunks(tmp_path / "a.jsonl", {"x": cells})
        lines = (tmp_path / "a.jsonl").read_text().splitlines()
        assert [json.loads(line, parse_constant=pytest.fail)["x"] for line in lines] == expected
        write_chunks(tmp_path / "a.csv", {"x": cells})
        with (tmp_path / "a.csv").open(newline="") as file:
            assert [json.loads(cell or "null") for (cell,) in list(csv.reader(file))[1:]] == expected


@pytest.mark.parametrize("text", ["a\rb", "a\r\nb", "a\nb", 'say "a"', "a,b", "", " a ", "ä;b\t"])
def test_any_text_is_read_back_from_csv(text: str) -> None:
    line = csv_line([text, None, 1.5])
    assert list(csv.reader(io.StringIO(line, newline=""))) == [[text, "", "1.5"]]
    assert list(csv.reader(io.StringIO(csv_line([text]), newline=""))) == [[text]]


def test_a_full_disk_does_not_change_the_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("existing")
    chunk = {"text": [f"{i * 7919**5}" for i in range(1009)]}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10007, hard))
    try:
        with pytest.raises(OSError, match=path.name) as error:
            write_chunks(path, *[chunk] * 3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert error.value.filename == str(path)
    assert path.read_text() == "existing"
    assert list(tmp_path.iterdir()) == [path]
