"""Files as users write them, right and wrong."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.data.table import Examples, encode_labels, examples, known_classes, names_of, read_rows
from src.errors import UserError


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def load(path: Path, on_bad_rows: str = "error") -> Examples:
    return examples(read_rows(path, ("text", "label")), "text", "label", on_bad_rows)


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
        ("a.jsonl", '{"text": "a", "label": 1}\n{"text": \n', "line 2, column .* is no JSON"),
        ("a.jsonl", '{"text": "a", "label": 1}\n["b", 0]\n', "line 2: is no JSON object"),
        ("a.jsonl", '{"texts": "a", "label": 1}\n', "did you mean 'texts'"),
        ("a.parquet", "PAR1 and nothing else", "is no Parquet file"),
        ("a.xlsx", "x", r"extension must be \.csv, \.tsv, \.jsonl, \.parquet"),
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
    assert names_of(labels, "a.csv") == names


def test_a_single_class_is_an_error() -> None:
    with pytest.raises(UserError, match=r"a\.csv: every row has the label 'pos'"):
        names_of(["pos", "pos"], "a.csv")


def test_a_label_outside_the_classes_is_named_with_its_line(tmp_path: Path) -> None:
    some = load(write(tmp_path / "a.csv", "text,label\na,pos\nb,postive\n"))
    with pytest.raises(UserError, match=r"line 3: label 'postive' is none of neg, pos.*mean"):
        encode_labels(some, ("neg", "pos"))


def test_labels_become_class_numbers(tmp_path: Path) -> None:
    some = load(write(tmp_path / "a.csv", "text,label\na,pos\nb,neg\n"))
    assert encode_labels(some, ("neg", "pos")).tolist() == [1, 0]


@pytest.mark.parametrize("labels", [["one"], ["a", "b", "a"]])
def test_listed_classes_are_checked(labels: list[str]) -> None:
    with pytest.raises(ValueError, match="labels="):
        known_classes(labels)


def test_listed_classes_become_strings() -> None:
    assert known_classes([0, 1, True]) == ("0", "1", "True")
    assert known_classes(None) is None
