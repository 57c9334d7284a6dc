"""Files as users write them, right and wrong."""

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

from src.data.classes import distinct_classes, encode_labels, parse_class_names
from src.data.examples import Examples, select_examples
from src.data.readers import read_rows
from src.errors import UserError


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def load(path: Path, on_bad_rows: str = "error") -> Examples:
    return select_examples(read_rows(path, ("text", "label")), "text", "label", on_bad_rows)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'id,text,label\n1,"good, ""really""\nso",pos\n\n2,bad,neg\n'),
        ("a.csv", '\ufefftext,label\r\n"good, ""really""\nso",pos\r\nbad,neg\r\n'),
        ("a.tsv", 'label\ttext\npos\t"good, ""really""\nso"\nneg\tbad\n'),
        (
            "a.jsonl",
            '{"text": "good, \\"really\\"\\nso", "label": "pos"}\n\n{"text": "bad", "label": "neg", "x": 1}',
        ),
    ],
)
def test_text_files_give_texts_and_labels(tmp_path: Path, name: str, content: str) -> None:
    some = load(write(tmp_path / name, content))
    assert some.texts == ['good, "really"\nso', "bad"]
    assert some.labels == ["pos", "neg"]


def test_parquet_gives_texts_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["good", "bad"], "label": [1, 0], "id": [7, 8]}), path)
    some = load(path)
    assert (some.texts, some.labels) == (["good", "bad"], ["1", "0"])


@given(
    rows=st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.sampled_from(["a", "b"])),
        min_size=1,
        max_size=9,
    )
)
def test_any_text_survives_jsonl(rows: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("x") / "a.jsonl"
    path.write_text("\n".join(json.dumps({"text": text, "label": label}) for text, label in rows), "utf-8")
    read = read_rows(path, ("text", "label"))
    assert list(zip(read.columns["text"], read.columns["label"], strict=True)) == rows


@pytest.mark.parametrize(("value", "label"), [(3, "3"), (2.0, "2"), (2.5, "2.5"), (True, "True"), (" pos ", "pos")])
def test_labels_of_every_kind_become_strings(tmp_path: Path, value: Any, label: str) -> None:
    path = write(tmp_path / "a.jsonl", json.dumps({"text": "good", "label": value}))
    assert load(path).labels == [label]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "the file is empty"),
        ("a.csv", "text,label\n", "the file has no rows"),
        (
            "a.csv",
            "Text,sentiment\nx,y\n",
            r"no column 'text' \(did you mean 'Text'\?\); its columns are 'Text', 'sent",
        ),
        ("a.csv", "text,label\na,b\nc,d,e\n", "line 3 has 3 fields where the header has 2"),
        ("a.csv", 'text,label\n"a\nb",c\n"d,e\n', "line 4 is malformed"),
        ("a.tsv", 'text\tlabel\n"a" b\tc\n', "line 2 is malformed"),
        ("a.csv", b"text,label\ngood,pos\ncaf\xe9,neg\n", r"byte 23 \(line 3\) is not UTF-8"),
        ("a.jsonl", '{"text": "a", "label": 1}\n{"text": \n', "line 2, column .* is not JSON"),
        ("a.jsonl", '{"text": "a", "label": 1}\n["b", 0]\n', "line 2: is not a JSON object"),
        ("a.jsonl", '{"texts": "a", "label": 1}\n', "did you mean 'texts'"),
        ("a.parquet", "PAR1 and nothing else", "is not a Parquet file"),
        ("a.xlsx", "x", r"extension; it must be one of \.csv, \.tsv, \.jsonl, \.parquet"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(UserError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(UserError, match="is a folder"):
        load(tmp_path / "a.csv")


GAPS = 'text,label\n"two\nlines",pos\n,neg\ngood,\nbad,neg\n"  ",pos\n'


def test_rows_without_text_or_label_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"lines 4, 5, 7 \(3 in all\).*data\.on_bad_rows=drop"):
        load(write(tmp_path / "a.csv", GAPS))


def test_many_bad_rows_are_counted_and_some_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "x", "label": 1}\n' + '{"text": null, "label": 1}\n' * 1234)
    with pytest.raises(UserError, match=r"lines 2, 3, 4, 5, 6, … \(1,234 in all\)"):
        load(path)


def test_rows_without_text_or_label_are_dropped_on_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    some = load(write(tmp_path / "a.csv", GAPS), "drop")
    assert (some.texts, some.labels) == (["two\nlines", "bad"], ["pos", "neg"])
    assert "dropped lines 4, 5, 7 (3 in all)" in caplog.text


def test_nothing_but_bad_rows_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no row has both"):
        load(write(tmp_path / "a.csv", "text,label\n,a\n"), "drop")


def test_a_missing_value_of_parquet_is_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["good", "bad", None], "label": [1.0, float("nan"), 0.0]}), path)
    with pytest.raises(UserError, match=r"rows 2, 3 \(2 in all\)"):
        load(path)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["pos", "neg", "pos"], ("neg", "pos")),
        (["10", "9", "-1"], ("-1", "9", "10")),
        (["1", "b"], ("1", "b")),
    ],
)
def test_classes_are_in_order(labels: list[str], names: tuple[str, ...]) -> None:
    assert distinct_classes(labels, "a.csv") == names


def test_a_single_class_is_an_error() -> None:
    with pytest.raises(UserError, match=r"a\.csv: every row has the label 'pos'"):
        distinct_classes(["pos", "pos"], "a.csv")


def test_a_label_outside_the_classes_is_named_with_its_line(tmp_path: Path) -> None:
    some = load(write(tmp_path / "a.csv", "text,label\na,pos\nb,postive\n"))
    with pytest.raises(UserError, match=r"line 3: label 'postive' is not among the classes neg, pos.*mean"):
        encode_labels(some, ("neg", "pos"))


def test_labels_become_class_numbers(tmp_path: Path) -> None:
    some = load(write(tmp_path / "a.csv", "text,label\na,pos\nb,neg\n"))
    assert encode_labels(some, ("neg", "pos")).tolist() == [1, 0]


@pytest.mark.parametrize("labels", [["one"], ["a", "b", "a"]])
def test_listed_classes_are_checked(labels: list[str]) -> None:
    with pytest.raises(ValueError, match="labels="):
        parse_class_names(labels)


def test_listed_classes_become_strings() -> None:
    assert parse_class_names([0, 1, True]) == ("0", "1", "True")
    assert parse_class_names(None) is None


NESTED = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "\n\n  \n", "has no rows, only blank lines"),
        ("a.jsonl", "\n\n", "has no rows, only blank lines"),
        ("a.csv", "text,label,text\na,b,c\n", "2 columns are called 'text'"),
        ("a.tsv", "label\ttext\tlabel\na\tb\tc\n", "2 columns are called 'label'"),
        ("a.jsonl", '{"text": "a", "label": 1}\n{"text": "a", "text": "b"}\n', "line 2: 2 columns are called 'text'"),
        (
            "a.jsonl",
            '{"text": "a\\ud83d", "label": 1}\n',
            r"line 1: column 'text' holds an unpaired surrogate.*a\\ud83d",
        ),
        ("a.jsonl", '{"text": "a", "label": "\\ude00"}\n', "line 1: column 'label' holds an unpaired surrogate"),
        ("a.jsonl", f'{{"text": "a", "label": 1, "x": {NESTED}}}\n', "line 1: its JSON is nested too deep"),
        ("a.jsonl", '{"text": "a", "label": [1]}\n', r"line 1: column 'label' holds a value of type list, \[1\]"),
        ("a.jsonl", '{"text": {"a": 1}, "label": 1}\n', "line 1: column 'text' holds a value of type dict"),
        ("a.jsonl", '{"text": "a", "label": 1e999}\n', "no 'label' in line 1"),
        ("a.csv", f"text,label\na,1\nb,{'1' * 5000}\n", "line 3: the label '1{39}…' has 5,000 characters"),
        ("a.csv", ",".join(f"{i}{'x' * 100}" for i in range(1000)) + "\n", "x…' and 995 more"),
    ],
)
@pytest.mark.parametrize("on_bad_rows", ["error", "drop"])
def test_hostile_files_are_one_short_message(
    tmp_path: Path, name: str, content: str, message: str, on_bad_rows: str
) -> None:
    if on_bad_rows == "drop" and "no 'label'" in message:
        message = "no row has both"
    path = write(tmp_path / name, content)
    with pytest.raises(UserError, match=message) as caught:
        load(path, on_bad_rows)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_number_of_5000_digits_in_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a\.jsonl: line 2: "):
        load(write(tmp_path / "a.jsonl", '{"text": "a", "label": 1}\n{"text": "b", "label": ' + "7" * 5000 + "}\n"))


def test_other_columns_may_have_one_name_or_be_nested(tmp_path: Path) -> None:
    assert load(write(tmp_path / "a.csv", "x,x,text,label\n1,2,good,pos\n")).texts == ["good"]
    line = '{"x": [1], "x": {"a": []}, "text": "good", "label": "pos", "\\ud83d": 1}'
    assert load(write(tmp_path / "a.jsonl", line)).texts == ["good"]


def parquet(path: Path, text: Any, label: Any) -> Path:
    pq.write_table(pa.table({"text": text, "label": label}), path)
    return path


@pytest.mark.parametrize(
    ("label", "labels"),
    [
        (pa.array([b"pos", "größer".encode()]), ["pos", "größer"]),
        (pa.array(["pos", "neg"]).dictionary_encode(), ["pos", "neg"]),
        (pa.array(["pos", "neg"], pa.large_string()), ["pos", "neg"]),
        (pa.array([Decimal("1.00"), Decimal("2.50")]), ["1", "2.50"]),
        (pa.array([1.0, 2.5]), ["1", "2.5"]),
        (pa.array([True, False]), ["True", "False"]),
    ],
)
def test_parquet_columns_that_hold_classes(tmp_path: Path, label: Any, labels: list[str]) -> None:
    some = load(parquet(tmp_path / "a.parquet", [b"good", "schön".encode()], label))
    assert (some.texts, some.labels) == (["good", "schön"], labels)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ([b"pos", b"\xff"], r"row 2: column 'label' holds bytes that are not UTF-8, b'\\xff'"),
        ([date(2024, 1, 2), None], "row 1: column 'label' holds a value of type date"),
        (
            pa.array([1, 2**62], pa.timestamp("us")),
            "column 'label': row 2: the value is damaged, or neither text nor a number",
        ),
        ([None, {"a": 1}], "row 2: column 'label' holds a value of type dict"),
        ([[1], [2]], "row 1: column 'label' holds a value of type list"),
    ],
)
def test_parquet_columns_that_hold_no_classes(tmp_path: Path, label: Any, message: str) -> None:
    with pytest.raises(UserError, match=rf"a\.parquet: {message}"):
        load(parquet(tmp_path / "a.parquet", ["good", "bad"], label))


def test_parquet_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table([["a"], ["b"], [1]], names=["text", "text", "label"]), tmp_path / "a.parquet")
    with pytest.raises(UserError, match="2 columns are called 'text'"):
        load(tmp_path / "a.parquet")


@pytest.mark.parametrize("checksum", [True, False])
def test_a_corrupt_page_of_parquet_is_placed(tmp_path: Path, checksum: bool) -> None:
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
        load(path)


def test_many_fractions_are_no_classes() -> None:
    with pytest.raises(UserError, match=r"20,003 different numbers, 0\.5, 1\.5, .* and 19,998 more\. Heed classifies"):
        distinct_classes([str(i + 0.5) for i in range(20_003)], "a.csv")
    ratings = [str(i / 2) for i in range(11)]
    assert distinct_classes(ratings[::-1], "a.csv") == tuple(ratings)


def test_equal_numbers_have_one_order() -> None:
    assert distinct_classes(["2", "1", "01", "1", "+1"], "a.csv") == ("+1", "01", "1", "2")


def test_a_label_outside_many_classes_is_one_short_message(tmp_path: Path) -> None:
    some = load(write(tmp_path / "a.csv", "text,label\na,other\n"))
    with pytest.raises(UserError, match=r"label 'other' is not among the classes 0x.* and 4,998 more") as caught:
        encode_labels(some, [f"{i}{'x' * 1000}" for i in range(5003)])
    assert len(str(caught.value)) < 600
