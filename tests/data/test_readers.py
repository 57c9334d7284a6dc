"""Readers of valid and damaged files."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.data import files
from src.errors import UserError
from tests.data.data_files import read_examples, read_rows, write


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
        ("a.csv", 'id;text;label\n1;"good, ""really""\nso";pos\n2;bad;neg\n'),
        ("a.csv", 'text\tlabel\n"good, ""really""\nso"\tpos\nbad\tneg\n'),
        ("a.csv", '\ufefftext|label\r\n"good, ""really""\nso"|pos\r\nbad|neg\r\n'),
        (
            "a.json",
            '[{"text": "good, \\"really\\"\\nso", "label": "pos"},\n\n{"text": "bad", "label": "neg", "x": 1}]\n',
        ),
    ],
)
def test_texts_and_labels_are_read_from_text_files(tmp_path: Path, name: str, content: str) -> None:
    compressed = gzip.compress(content.encode(), mtime=0)
    for path in (write(tmp_path / name, content), write(tmp_path / f"{name}.gz", compressed)):
        examples = read_examples(path)
        assert examples.texts == ['good, "really"\nso', "bad"]
        assert examples.labels == ["pos", "neg"]


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
    columns = read_rows(path, ("text", "label")).columns
    assert list(zip(columns["text"], columns["label"], strict=True)) == rows


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
        ("a.csv", "text;label\na;b\nc;d;e\n", "line 3 has 3 fields where the header has 2; .*delimiter ';'"),
        ("a.json", '[{"text": "a", "label": 1},\n {"text": }]', "line 2, column 11: is not JSON"),
        ("a.json", '[{"text": "a", "label": 1}, ["b", 0]]', "record 2: is not a JSON object; the file must be one arr"),
        ("a.json", '{"text": "a", "label": 1}', r"is not a JSON array; .* name it \.jsonl if each line is an object"),
        ("a.json", '{"text": "a", "label": 1}\n{"text": "b", "label": 1}', r"Extra data.* name it \.jsonl if"),
        ("a.json", "[]", "the file has no rows"),
        ("a.json", '[{"text": "a", "label": 1}, {"text": "", "label": 1}]', "no 'text' or no 'label' in record 2"),
        ("a.csv.gz", "text,label\na,b\n", "is not a gzip file, or is damaged"),
        ("a.csv.gz", gzip.compress(b"text,label\na,b\n", mtime=0)[:-9], "is not a gzip file, or is damaged"),
        ("a.csv.gz", gzip.compress(b"text,label\na,b,c\n", mtime=0), "line 2 has 3 fields"),
        ("a.jsonl.gz", gzip.compress(b"caf\xe9", mtime=0), r"byte 3 \(line 1\) is not UTF-8"),
        (
            "a.gz",
            gzip.compress(b"text,label\na,b\n", mtime=0),
            r"extension; it must be one of .*\.json; \.gz may follow any but \.parquet",
        ),
        (
            "a.parquet.gz",
            gzip.compress(b"PAR1", mtime=0),
            r"extension; it must be one of .*\.json; \.gz may follow any but \.parquet",
        ),
        ("a.parquet", "PAR1 and nothing else", "is not a Parquet file"),
        ("a.xlsx", "x", r"extension; it must be one of \.csv, \.tsv, \.jsonl, \.parquet"),
    ],
)
def test_mistakes_in_a_file_are_reported(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(UserError, match=message) as error:
        read_examples(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,text\n1,good\n2,bad\n"),
        ("a.jsonl", '{"id": "1", "text": "good"}\n{"text": "bad", "id": "2"}'),
    ],
)
def test_all_columns_are_read_on_request(tmp_path: Path, name: str, content: str) -> None:
    assert read_rows(write(tmp_path / name, content), None).columns == {"id": ["1", "2"], "text": ["good", "bad"]}


def test_columns_with_the_same_name_are_reported_if_all_are_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="2 columns are called 'id'"):
        read_rows(write(tmp_path / "a.csv", "id,text,id\n1,a,2\n"), None)
    with pytest.raises(UserError, match="line 1: 2 columns are called 'id'"):
        read_rows(write(tmp_path / "a.jsonl", '{"id": 1, "id": 2}'), None)


def test_a_set_delimiter_is_used(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,label;text\nx;y\n")
    assert read_rows(path, ("text",), delimiter=";").columns == {"text": ["y"]}


def test_a_compressed_file_with_too_much_content_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.csv.gz", gzip.compress(b"text,label\n" + b"a,b\n" * 100_000, mtime=0))
    assert len(read_rows(path, None).places) == 100_000
    monkeypatch.setattr(files, "MAX_UNPACKED", 1000)
    with pytest.raises(UserError, match=r"a\.csv\.gz: unpacks to more than .* unpack it yourself"):
        read_rows(path, None)


def test_a_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(UserError, match="is a folder"):
        read_examples(tmp_path / "a.csv")


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
        ("a.jsonl", f'{{"text": "a", "label": 1, "x": {NESTED}}}\n', "line 1: the JSON is nested too deep"),
        ("a.json", f'[{{"text": "a", "label": 1, "x": {NESTED}}}]', "the JSON is nested too deep"),
        ("a.json", '[{"text": "a", "label": 1}, {"text": "a", "text": "b"}]', "record 2: 2 columns are called 'text'"),
        ("a.json", '[{"text": "a", "label": ' + "7" * 5000 + "}]", "a number has more than 4,300 digits: shorten it"),
        ("a.jsonl", '{"text": "a", "label": [1]}\n', r"line 1: column 'label' holds a value of type list, \[1\]"),
        ("a.jsonl", '{"text": {"a": 1}, "label": 1}\n', "line 1: column 'text' holds a value of type dict"),
        ("a.jsonl", '{"text": "a", "label": 1e999}\n', "no 'label' in line 1"),
        ("a.csv", f"text,label\na,1\nb,{'1' * 5000}\n", "line 3: the label '1{39}…' has 5,000 characters"),
        ("a.csv", ",".join(f"{i}{'x' * 100}" for i in range(1000)) + "\n", "x…' and 995 more"),
    ],
)
@pytest.mark.parametrize("on_bad_rows", ["error", "drop"])
def test_hostile_files_are_reported_in_one_short_message(
    tmp_path: Path, name: str, content: str, message: str, on_bad_rows: str
) -> None:
    if on_bad_rows == "drop" and "no 'label'" in message:
        message = "no row has both"
    path = write(tmp_path / name, content)
    with pytest.raises(UserError, match=message) as error:
        read_examples(path, on_bad_rows)
    assert str(path) in str(error.value)
    assert len(str(error.value)) < 600


def test_a_number_of_5000_digits_in_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a\.jsonl: line 2: "):
        read_examples(
            write(tmp_path / "a.jsonl", '{"text": "a", "label": 1}\n{"text": "b", "label": ' + "7" * 5000 + "}\n")
        )


def test_other_columns_may_have_the_same_name_or_be_nested(tmp_path: Path) -> None:
    assert read_examples(write(tmp_path / "a.csv", "x,x,text,label\n1,2,good,pos\n")).texts == ["good"]
    line = '{"x": [1], "x": {"a": []}, "text": "good", "label": "pos", "\\ud83d": 1}'
    assert read_examples(write(tmp_path / "a.jsonl", line)).texts == ["good"]
