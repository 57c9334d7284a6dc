"""Texts from the command line, files and pipes."""

import os
import sys
from collections.abc import Iterator
from io import BufferedWriter
from pathlib import Path

import pytest

from heedful.base.errors import UserError
from heedful.inference.input_texts import TextSource, text_source


def texts_of(source: TextSource) -> list[str]:
    return [text for _, table in source.chunks() for text in table.texts]


def read_texts(text: str | None, file: str | None, column: str | None = None) -> list[str]:
    return texts_of(text_source(text, file, column))


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[BufferedWriter]:
    """The other end of standard input."""
    reading, writing = os.pipe()
    with open(reading, encoding="ascii") as stdin, open(writing, "wb") as file:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield file


@pytest.mark.parametrize("text", ["Truly, great", 'a "quoted" one', "a=b {c} [d] #e ${f}", "Ça, 映画 🎬", "two\nlines"])
def test_a_text_is_not_changed(text: str) -> None:
    assert read_texts(text, None) == [text]


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        pytest.param("good\nça va\n".encode(), ["good", "ça va"], id="lines"),
        pytest.param(b"good\r\n\r\n  \r\nbad", ["good", "", "  ", "bad"], id="Windows line endings and blank lines"),
        pytest.param(b"\xef\xbb\xbfgood\n", ["good"], id="byte order mark"),
        pytest.param("one\u2028text\x0cof\x85a line\n".encode(), ["one\u2028text\x0cof\x85a line"], id="separators"),
        pytest.param(b' "a, b" \n', [' "a, b" '], id="quotes are part of the text"),
    ],
)
def test_each_line_of_files_and_pipes_is_a_text(data: bytes, texts: list[str], tmp_path, pipe: BufferedWriter) -> None:
    (tmp_path / "texts.txt").write_bytes(data)
    assert read_texts(None, str(tmp_path / "texts.txt")) == texts
    pipe.write(data)
    pipe.close()
    assert read_texts(None, None) == texts


def test_lines_may_be_objects_if_a_model_reads_columns(tmp_path, pipe: BufferedWriter, caplog) -> None:
    data = b'{"text": "good", "age": 31}\nbad\n{"age": "7.0", "text": "{fair}"}\n'
    (tmp_path / "texts.txt").write_bytes(data)
    pipe.write(data)
    pipe.close()
    for file in (str(tmp_path / "texts.txt"), None):
        (_, table), *_ = text_source(None, file, None, others=["age", "land"]).chunks()
        assert (list(table.texts), table.cells["age"]) == (["good", "bad", "{fair}"], ["31", None, "7"])
    assert [record.args for record in caplog.records] == [("land",), ("land",)]
    (tmp_path / "texts.txt").write_bytes(b'good\n{"text": 1')
    with pytest.raises(UserError, match=r"texts\.txt: line 2: is not a JSON object"):
        list(text_source(None, str(tmp_path / "texts.txt"), None, others=["age"]).chunks())


def test_bytes_that_are_not_utf8_are_reported_with_their_position(tmp_path: Path, pipe: BufferedWriter) -> None:
    data = b"good\nmauvais caf\xe9\n"
    (tmp_path / "latin.txt").write_bytes(data)
    with pytest.raises(UserError, match=r"latin\.txt: line 2 is not UTF-8"):
        read_texts(None, str(tmp_path / "latin.txt"))
    pipe.write(data)
    pipe.close()
    with pytest.raises(UserError, match=r"standard input: line 2: .*which is not text in UTF-8: convert it"):
        read_texts(None, None)
    with pytest.raises(UserError, match=r"text: line 1: .*which is not text in UTF-8"):
        read_texts("caf\udce9", None)  # the surrogate to which Python decodes such a byte on the command line


@pytest.mark.parametrize("data", [b"", b"\n \n"])
def test_a_source_without_text_is_reported(data: bytes, tmp_path: Path, pipe: BufferedWriter) -> None:
    (tmp_path / "empty.txt").write_bytes(data)
    with pytest.raises(UserError, match=r"empty\.txt: contains no text"):
        read_texts(None, str(tmp_path / "empty.txt"))
    pipe.write(data)
    pipe.close()
    with pytest.raises(UserError, match="standard input: contains no text"):
        read_texts(None, None)
    with pytest.raises(UserError, match="text: contains no text"):
        read_texts(data.decode(), None)


def test_exactly_one_source_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="both set"):
        read_texts("good", "texts.txt")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UserError, match="nothing to classify"):
        read_texts(None, None)


def test_lines_of_a_pipe_are_read_as_they_arrive(pipe: BufferedWriter, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    chunks = text_source(None, None, None).chunks()
    assert "one text per line" in capsys.readouterr().err
    arriving = {b"good\n": ["good"], b"bad\r\n\nso-so\nun": ["bad", "", "so-so"], b"usual\r\n": ["unusual"]}
    for data, texts in arriving.items():
        pipe.write(data)
        pipe.flush()
        rows, read = next(chunks)
        assert read.texts == texts
    assert rows.places == [5]
    pipe.write(b"great\n" * 1500 + b"last")
    pipe.close()
    sizes = [len(read) for _, read in chunks]
    assert sum(sizes) == 1501
    assert max(sizes) == 1000


def test_a_device_is_refused() -> None:
    with pytest.raises(UserError, match="file=/dev/zero: is a folder, device"):
        read_texts(None, "/dev/zero")


def test_all_columns_and_blank_texts_of_a_table_are_read(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text("id,review\n1,good\n2,\n3,bad\n")
    ((rows, table),) = text_source(None, str(tmp_path / "reviews.csv"), "review").chunks()
    assert table.texts == ["good", "", "bad"]
    assert rows.columns == {"id": ["1", "2", "3"], "review": table.texts}
    assert rows.places[1] == 3


def test_the_column_of_texts_is_that_of_the_training(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("id,review\n1,good\n")
    with pytest.raises(UserError, match=r"no column 'text'; its columns are 'id', 'review'"):
        read_texts(None, str(path))
    assert texts_of(text_source(None, str(path), None, trained_column="review")) == ["good"]
    with pytest.raises(UserError, match=r"no column 'revew' \(did you mean review\?\).*with text_column"):
        read_texts(None, str(path), "revew")
    with pytest.raises(UserError, match="add file="):
        read_texts("good", None, "review")


def test_the_delimiter_and_the_meaning_of_quotes_can_be_set(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text('id:review, in full, with price\n1:"good" film\n')
    column = "review, in full, with price"
    assert texts_of(text_source(None, str(path), column, ":", quotes=False)) == ['"good" film']
    with pytest.raises(UserError, match=r"delimiter='ab': must be comma"):
        text_source(None, str(path), column, "ab")


def test_the_first_objects_may_lack_the_text_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.data.tables.CHUNK", 2)
    path = tmp_path / "reviews.jsonl"
    path.write_text('{"id": 1}\n' * 3 + '{"id": 2, "review": "good"}\n' + '{"id": 3}\n' * 3)
    assert read_texts(None, str(path), "review") == ["", "", "", "good", "", "", ""]
    with pytest.raises(UserError, match=r"no column 'revew' \(did you mean review\?\)"):
        read_texts(None, str(path), "revew")
