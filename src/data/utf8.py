"""Decode UTF-8 text; the error message about text in UTF-16 or UTF-32 names the encoding."""

import codecs
import io
from collections import Counter
from collections.abc import Callable
from typing import Any

from src.errors import UserError

BLOCK = 1 << 20  # bytes checked at a time
SAMPLE = 4096  # bytes at the start of a text in which zero bytes are counted
# Frequent characters; if the two bytes of a UTF-16 code are swapped, it becomes the code of a rare character.
SEPARATORS = (*b"\t\n\r", *range(32, 48))
BYTE_ORDER_MARKS = {  # UTF-32 first, because the mark of UTF-32LE starts with the mark of UTF-16LE
    "UTF-32": (b"\xff\xfe\0\0", b"\0\0\xfe\xff"),
    "UTF-16": (b"\xff\xfe", b"\xfe\xff"),
}


def decode(data: bytes, source: str) -> str:
    """Decode UTF-8, with or without a byte order mark.

    Raises:
        UserError: as for `decoded`.
    """
    return decoded(io.BytesIO(data).read, source).read()


def decoded(read: Callable[[int], bytes], source: str, newline: str = "") -> io.TextIOWrapper:
    """Return a stream that decodes UTF-8, with or without a byte order mark, and checks the bytes as they are read.

    Args:
        read: a function of n that returns at most the next n bytes, and no bytes at the end.
        source: name of the file, for the message.
        newline: as for `open`: with "", lines end at every kind of line break; with a line feed, only at line feeds.

    Raises:
        UserError: while the text is read, if the bytes are not UTF-8 text.
    """
    checked = io.BufferedReader(_CheckedBytes(read, source), BLOCK)
    return io.TextIOWrapper(checked, "utf-8-sig", newline=newline)


class _CheckedBytes(io.RawIOBase):
    """Bytes that are checked to be UTF-8 text as they are read."""

    def __init__(self, read: Callable[[int], bytes], source: str) -> None:
        self._read = read
        self._source = source
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._head = b""
        self._position, self._line = 0, 1  # byte and line at which the next block starts

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._read(len(buffer))
        self._check(block)
        buffer[: len(block)] = block
        return len(block)

    def _check(self, block: bytes) -> None:
        self._head += block[: SAMPLE - len(self._head)]
        start = -len(self._decoder.getstate()[0])  # offset of the first undecoded byte from the start of the block
        bad, zero = None, block.find(b"\0")
        try:
            self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            bad = start + error.start
        if zero >= 0 or bad is not None:
            require_one_byte_units(self._head, self._source, ascii_share=0.75 if bad is None else 0.02)
        if zero >= 0:
            raise UserError(
                f"{self._place(block, zero)} is zero, so the file is damaged or not a text file; "
                "use a text file in UTF-8, not a spreadsheet or an archive"
            )
        if bad is not None:
            raise UserError(
                f"{self._place(block, bad)} is not UTF-8; save it as UTF-8, for "
                "instance with `iconv -f WINDOWS-1252 -t UTF-8` if it was written on Windows in a Western language"
            )
        self._position += len(block)
        self._line += block.count(b"\n")

    def _place(self, block: bytes, i: int) -> str:
        line = self._line + block.count(b"\n", 0, max(i, 0))
        return f"{self._source}: byte {self._position + i} (line {line})"


def require_one_byte_units(data: bytes, source: str, ascii_share: float = 0.75) -> None:
    """Reject UTF-16 and UTF-32, recognized by a byte order mark or by the positions of zero bytes.

    Args:
        data: the beginning of a text, or the whole text.
        source: name of the file, for the message.
        ascii_share: minimum fraction of ASCII characters, as inferred from zero bytes, for UTF-16 without a byte order
            mark. One of the two bytes of an ASCII character is zero in UTF-16.

    Raises:
        UserError: if the data are UTF-16 or UTF-32; the message names the encoding.
    """
    sample = data[: min(SAMPLE, len(data)) // 4 * 4]
    units = max(len(sample) // 4, 1)
    zeros = [sample[i::4].count(0) / units for i in range(4)]
    pairs = Counter(zip(sample[::2], sample[1::2], strict=True))
    little, big = (sum(pairs[pair(code)] for code in SEPARATORS) for pair in (lambda c: (c, 0), lambda c: (0, c)))
    is_encoding = {
        **{encoding: data.startswith(marks) for encoding, marks in BYTE_ORDER_MARKS.items()},
        "UTF-32LE": zeros[3] == 1 and zeros[2] > 0.9 and zeros[0] < 0.1,
        "UTF-32BE": zeros[0] == 1 and zeros[1] > 0.9 and zeros[3] < 0.1,
        "UTF-16LE": zeros[1] + zeros[3] >= 2 * ascii_share and little > 10 * big,
        "UTF-16BE": zeros[0] + zeros[2] >= 2 * ascii_share and big > 10 * little,
    }
    for encoding, matches in is_encoding.items():
        if matches:
            raise UserError(
                f"{source}: is {encoding} text; save it as UTF-8, for instance with `iconv -f {encoding} -t UTF-8`"
            )


def lines_of(text: str) -> list[str]:
    """Split a text at line feeds and carriage returns only; str.splitlines also splits at form feeds, for instance."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
