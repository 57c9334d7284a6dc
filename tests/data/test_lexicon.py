"""Word lists with strengths."""

from pathlib import Path

import pytest

from src.data.lexicon import read_lexicon
from src.errors import UserError


def write(folder: Path, text: str) -> str:
    path = folder / "words.txt"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_words_and_strengths_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, "; a comment\nGood\t1.9\t0.9\t[2, 1]\n\nbad,-2.5\nplain\n,-:\t-1.5\n#yay\t3\n")
    assert read_lexicon(path) == {"good": 1.9, "bad": -2.5, "plain": 1.0, ",-:": -1.5, "#yay": 3.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("good\t1\nbad\tvery\n", r"words\.txt, line 2: 'bad\\tvery' is not a word with a finite strength"),
        ("good\tnan\n", "line 1: 'good\\\\tnan' is not a word"),
        ("good\t1\n\t1.5\n", "line 2: '1.5' is not a word"),
        ("# nothing\n\n", r"words\.txt: has no words"),
    ],
)
def test_mistakes_are_reported(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_lexicon(write(tmp_path, text))


def test_a_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_bytes(b"good\xff")
    with pytest.raises(UserError, match=r"words\.txt: line 1 is not UTF-8"):
        read_lexicon(str(tmp_path / "words.txt"))
