"""Decoding of UTF-8, and messages about other encodings."""

import pytest

from src.data.utf8 import decode
from src.errors import UserError

TEXT = "text,label\ngood film,pos\nbad film,neg\n"
SPARSE = "这是一部非常好的电影 我很喜欢它\n" * 3  # few ASCII characters, and one whose code ends with a zero byte


@pytest.mark.parametrize("text", [TEXT, SPARSE])
@pytest.mark.parametrize(
    ("encoding", "mark", "name"),
    [
        ("utf-16-le", b"\xff\xfe", "UTF-16"),
        ("utf-16-be", b"\xfe\xff", "UTF-16"),
        ("utf-32-le", b"\xff\xfe\0\0", "UTF-32"),
        ("utf-32-be", b"\0\0\xfe\xff", "UTF-32"),
        ("utf-16-le", b"", "UTF-16LE"),
        ("utf-16-be", b"", "UTF-16BE"),
        ("utf-32-le", b"", "UTF-32LE"),
        ("utf-32-be", b"", "UTF-32BE"),
    ],
)
def test_utf16_and_utf32_are_reported(text: str, encoding: str, mark: bytes, name: str) -> None:
    with pytest.raises(UserError, match=f"^a.csv: is {name} text; .*iconv -f {name} -t UTF-8"):
        decode(mark + text.encode(encoding), "a.csv")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"text\na\0b\n", r"byte 6 \(line 2\) is zero"),
        (b"ab\0\t1\n", r"byte 2 \(line 1\) is zero"),
        (b"PK\3\4\x14\0\0\0\x08\0" + bytes(range(256)), r"byte 5 \(line 1\) is zero"),
        (bytes(1000), r"byte 0 \(line 1\) is zero"),
        ("text\ncafé\n".encode("cp1252"), r"byte 8 \(line 2\) is not UTF-8; .*WINDOWS-1252"),
    ],
)
def test_bytes_that_are_not_text_are_located(data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=f"^a.csv: {message}"):
        decode(data, "a.csv")


def test_utf8_is_read_with_or_without_a_byte_order_mark() -> None:
    assert decode(SPARSE.encode(), "a.csv") == decode(b"\xef\xbb\xbf" + SPARSE.encode(), "a.csv") == SPARSE
