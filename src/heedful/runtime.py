"""What a model reads of a row, and what it says of it, in numpy alone: Heedful runs this file, and exports contain it.

It imports nothing of Heedful. A mistake is a `Fault`, whose message follows the place that its caller names.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

MARK = "\N{SYMBOL FOR RECORD SEPARATOR}"  # stands between the texts of a pair, and in neither of them
LONGEST = 1_000_000  # characters at each end of a text that are read, far more than the tokens that a model uses
LARGEST = 1e100  # a larger number is not read as one
LIMIT = 1e6  # standard deviations from the mean; a number farther away counts as one at this distance
NEUTRAL = 0.5  # the threshold of a class without validation texts
UNSURE = "unsure"  # in place of a class
ABSENT = {"na", "n/a", "nan", "null", "none", "<na>", "nat"}  # texts of missing numbers and dates
TYPED = re.compile(r"[-+]?[0-9]|true$|false$", re.IGNORECASE)  # the beginnings of texts that have another spelling
WHOLE = re.compile(r"([-+]?[0-9]+)\.0+")
CLOCK = r"([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
TIME = re.compile(CLOCK)
ZONE = "Z|UTC|[-+][0-9]{2}(?::?[0-9]{2})?"
MOMENT = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:[T ]{CLOCK}(?: ?({ZONE}))?)?")


class Fault(ValueError):
    """A cell that cannot be read; `row` is its number among the cells, from 0."""

    def __init__(self, reason: str, row: int = 0) -> None:
        super().__init__(reason)
        self.row = row


# Cells


def spell(cell: Any) -> str | None:
    """Return the one spelling of a cell, which no format or type of its column changes; None if it is missing.

    The spelling of a spelling, and of the text with which CSV writes the cell, is the same.
    """
    if isinstance(cell, Enum):
        return spell(cell.value)
    if isinstance(cell, str):
        return spell_text(cell)
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).lower()
    if isinstance(cell, int | np.integer):
        return str(int(cell))
    if isinstance(cell, float | np.floating):  # `str` of a float32 has the digits of its own precision
        return None if math.isnan(cell) else spell_text(str(float(str(cell))))
    if isinstance(cell, Decimal):
        return None if cell.is_nan() else spell_text(format(cell, "f"))
    if isinstance(cell, np.datetime64):
        is_coarse = np.datetime_data(cell.dtype)[0] in ("Y", "M", "h")  # of which NumPy prints no whole date or time
        return None if np.isnat(cell) else spell_text(str(cell.astype("datetime64[s]") if is_coarse else cell))
    if isinstance(cell, date | time):
        return spell_text(cell.isoformat())
    if isinstance(cell, bytes):
        return spell_text(_decode(cell))
    if getattr(cell, "ndim", None) == 0 and hasattr(cell, "item"):  # of an array or a tensor
        return spell(cell.item())
    raise Fault(_refusal(cell))


def text_of(cell: Any) -> str | None:
    """Return a text as it is, and the spelling of any other cell; None if it is missing."""
    return _checked(cell) if isinstance(cell, str) and not isinstance(cell, Enum) else spell(cell)


def blank_if_missing(text: Any) -> Any:
    """Return a blank text for a missing one, such as NaN, and anything else as it is."""
    try:
        return text if isinstance(text, str) or spell(text) is not None else ""
    except Fault:
        return text


def spell_all(cells: Iterable[Any], rule: Callable[[Any], str | None] = spell) -> list[str | None]:
    """Return the result of `spell` or another rule for each cell; a `Fault` knows the row."""
    known: dict[Any, str | None] = {}
    spelled = []
    for row, cell in enumerate(cells):
        key = (type(cell), str(cell) if isinstance(cell, Decimal) else cell)  # 1, 1.0 and True are equal
        try:
            if key not in known:
                known[key] = rule(cell)
            spelled.append(known[key])
        except TypeError:  # a list or another value without a hash
            raise Fault(_refusal(cell), row) from None
        except Fault as fault:
            raise Fault(str(fault), row) from None
    return spelled


@lru_cache(1 << 16)
def spell_text(text: str) -> str | None:
    """Return the one spelling of a text: True is true, 1.0 is 1, -0 is 0, and a date is as in ISO 8601, in UTC."""
    text = _checked(text).strip()
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    if not TYPED.match(text):
        return text or None
    if whole := WHOLE.fullmatch(text):
        text = whole[1]
    if clock := TIME.fullmatch(text):
        return clock[1] + _seconds(clock[2], clock[3])
    if moment := _moment(text):
        day, digits, has_zone = moment
        written = f"{day.hour:02}:{day.minute:02}{_seconds(f'{day.second:02}', digits)}"
        is_date = written == "00:00" and not has_zone  # CSV leaves out midnight
        written = day.date().isoformat() + ("" if is_date else f" {written}")
        return written + ("Z" if has_zone else "")
    return {"-0": "0", "+0": "0"}.get(text, text.lower() if text[0] in "tTfF" else text)


def _checked(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Fault(f"holds {_shorten(text)}, which is not text in UTF-8: convert it to UTF-8") from None
    return text


def _decode(cell: bytes) -> str:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        raise Fault(f"holds {_shorten(cell)}, which is not text in UTF-8: convert it to UTF-8") from None


def _seconds(seconds: str | None, digits: str | None) -> str:
    """Return seconds and their decimals without zeros at the end: "", ":30" or ":30.5"."""
    fraction = (digits or "").rstrip("0")
    return f":{seconds}" + (f".{fraction}" if fraction else "") if fraction or (seconds or "00") != "00" else ""


def _moment(text: str) -> tuple[datetime, str, bool] | None:
    """Return a date or time stamp in UTC, the digits of its fraction of a second, and whether it has a zone."""
    if not (found := MOMENT.fullmatch(text)):
        return None
    day, minute, second, digits, zone = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day} {minute or '00:00'}:{second or '00'}")
        if zone and zone[0] in "+-":
            shift = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:].lstrip(":") or 0))
            moment += shift if zone[0] == "-" else -shift
    except (ValueError, OverflowError):  # the 30th of February, or a moment before the year 1
        return None
    return moment, digits or "", zone is not None


def _shorten(cell: Any) -> str:
    text = repr(cell[:41] if isinstance(cell, str | bytes) else cell)
    return text if len(text) <= 42 else f"{text[:40]}…{text[-1]}"


def _refusal(cell: Any) -> str:
    """Return why a cell has no spelling: its type, and what to do."""
    known: list[tuple[Any, str, str]] = [
        (list | tuple | set | frozenset, "list", "give one value; with task=multilabel, lists in all rows are labels"),
        (Mapping, "mapping", "give one of its values"),
        (timedelta | np.timedelta64, "time span", "convert it to a number, such as of seconds"),
    ]
    kind, remedy = next(((kind, remedy) for types, kind, remedy in known if isinstance(cell, types)), ("", ""))
    if not kind and len(shape := getattr(cell, "shape", ())):
        kind, remedy = f"{type(cell).__name__} of the shape {tuple(shape)}", "give one value"
    kind = kind or f"value of the type {type(cell).__name__}"
    remedy = remedy or "convert it to a text, a number, a truth value or a date"
    return f"holds {_shorten(cell)}, a {kind}: {remedy}"


# Numbers


class NumberForm(NamedTuple):
    """How texts write numbers: the character before decimals, and that between thousands, if there is one."""

    decimal: Literal[".", ","] = "."
    thousands: Literal[".", ",", " ", "'"] | None = None

    def spell(self, cell: Any) -> str | None:
        """Return the spelling of a cell; in a text that is a number of this form, it is that of the number."""
        if self == PLAIN or not isinstance(cell, str) or isinstance(cell, Enum):
            return spell(cell)
        number = self.plain(cell)
        if number is None and self.decimal == "," and "." in cell and PLAIN.plain(cell):
            option = "" if self.thousands else ", or set data.thousands=point if the point separates thousands"
            reason = "but numbers have a comma before decimals (data.decimal=comma)"
            raise Fault(f"holds {_shorten(cell)}, {reason}: correct it{option}")
        return spell(number or cell)

    def plain(self, text: str) -> str | None:
        """Return a number with a point before decimals and nothing between thousands; None for other texts."""
        if not (found := _pattern(self).fullmatch(text.strip())):
            return None
        sign, whole, fraction, exponent = found.groups(default="")
        return f"{sign}{''.join(filter(str.isdecimal, whole)) or 0}{fraction.replace(',', '.')}{exponent}"

    @property
    def options(self) -> str:
        """The options of the data that set this form."""
        decimal = ["data.decimal=comma"] if self.decimal == "," and self.thousands != "." else []  # which implies it
        return " ".join([*decimal, *([f"data.thousands={CHARACTERS[self.thousands]}"] if self.thousands else [])])


CHARACTERS = {",": "comma", ".": "point", " ": "space", "'": "apostrophe"}  # names of the characters in numbers
BETWEEN = {" ": "[ \u00a0\u202f]", "'": "['\u2019]"}  # the characters that count as one of them
PLAIN = NumberForm()
FORMS = (
    NumberForm(","),
    *(NumberForm(".", between) for between in (",", " ", "'")),
    *(NumberForm(",", between) for between in (".", " ")),
)


def number_form(decimal: str | None, thousands: str | None) -> NumberForm:
    """Return the form with these characters, or names of characters; points between thousands imply decimal commas."""
    characters: dict[Any, Any] = {name: character for character, name in CHARACTERS.items()}
    decimal, thousands = characters.get(decimal, decimal), characters.get(thousands, thousands)
    form = NumberForm(decimal or ("," if thousands == "." else "."), thousands)
    if form.decimal == form.thousands:
        raise ValueError(f"thousands={thousands!r}: also stands before decimals: set another character")
    return form


@lru_cache
def _pattern(form: NumberForm) -> re.Pattern[str]:
    between = BETWEEN.get(form.thousands, re.escape(form.thousands)) if form.thousands else ""
    grouped = rf"[0-9]{{1,3}}(?:{between}[0-9]{{3}})+|" if between else ""
    point = re.escape(form.decimal)
    return re.compile(rf"([-+]?)(?=[0-9]|{point}[0-9])({grouped}[0-9]*)({point}[0-9]*)?(e[-+]?[0-9]+)?", re.IGNORECASE)


def number_remedy(texts: Iterable[str]) -> str | None:
    """Return the options with which all texts are numbers, such as "set data.decimal=comma".

    None if they are numbers already, or if one of them is none in any form.
    """
    numbers = {text: text.removesuffix("%").rstrip() for text in texts}
    if all(map(PLAIN.plain, numbers)) or not all(any(form.plain(text) for form in FORMS) for text in numbers.values()):
        return None
    forms = list[NumberForm]()
    for form in () if all(map(PLAIN.plain, numbers.values())) else FORMS:
        is_simpler = any(form.decimal == other.decimal or form.thousands == other.thousands for other in forms)
        if not is_simpler and all(map(form.plain, numbers.values())):
            forms.append(form)
    percent = ["leave out %"] if any(text.endswith("%") for text in numbers) else []
    options = ["set " + " or ".join(form.options for form in forms)] if forms else []
    return " and ".join([*options, *percent]) or "write a point before decimals, and no other characters"


# Columns


class Entries(NamedTuple):
    """The features of n cells that are not zero, by row and column; of most kinds, these are few."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    width: int  # number of features
    missing: int  # number of cells without a value
    unseen: int  # number of cells of a category without training texts


def number_of(text: str | None) -> float:
    """Return the number in a spelled cell: NaN without a value, and infinity for another text."""
    if text is None or text.lower() in ABSENT:
        return math.nan
    try:
        number = float(text) if "_" not in text else math.inf  # Python reads 18_25 as 1825
    except ValueError:
        return math.inf
    return number if abs(number) <= LARGEST else math.inf


def days_of(text: str | None) -> float:
    """Return the days since 1970 of a spelled date or time stamp: NaN without one, and infinity for another text."""
    if text is None or text.lower() in ABSENT:
        return math.nan
    if not (moment := _moment(text)):
        return math.inf
    return ((moment[0] - datetime(1970, 1, 1)) / timedelta(seconds=1) + float(f"0.{moment[1] or 0}")) / 86400


QUANTITIES: dict[str, Callable[[str | None], float]] = {"number": number_of, "date": days_of}


def scale(column: Mapping[str, Any], cells: Sequence[str | None]) -> Entries:
    """Return two features of each cell: (number - mean) / scale, and whether it is missing, in which case it is 0."""
    kind = kind_of(column)
    values = parse_all(cells, QUANTITIES[kind])
    if len(wrong := np.flatnonzero(np.isinf(values))):
        held = f"holds {_shorten(cells[wrong[0]])}, but its training cells are {kind}s"
        raise Fault(f"{held}: correct it, or leave the cell empty", int(wrong[0]))
    missing = np.isnan(values)
    values = np.clip((np.where(missing, column["mean"], values) - column["mean"]) / column["scale"], -LIMIT, LIMIT)
    (absent,) = np.nonzero(missing)
    rows = np.concatenate([np.arange(len(values)), absent])
    columns = np.repeat([0, 1], [len(values), len(absent)])
    return Entries(rows, columns, np.concatenate([values, np.ones(len(absent))]), 2, len(absent), 0)


def parse_all(cells: Sequence[str | None], parse: Callable[[str | None], float]) -> np.ndarray:
    """Return the number that `parse` finds in each cell, float64; it reads each distinct cell once."""
    found = {cell: parse(cell) for cell in set(cells)}
    return np.array([found[cell] for cell in cells], dtype=np.float64)


def one_hot(column: Mapping[str, Any], cells: Sequence[str | None]) -> Entries:
    """Return a feature for each category, and one for missing cells; those of unseen categories are all 0."""
    places: dict[str | None, int] = {None: len(column["categories"])}
    for place, category in enumerate(column["categories"]):  # of two old spellings of one, the first has its cells
        places.setdefault(spell_text(category), place)
    codes = np.array([places.get(cell, -1) for cell in cells], dtype=np.int64)
    (rows,) = np.nonzero(codes >= 0)
    missing, unseen = int((codes == places[None]).sum()), int((codes < 0).sum())
    return Entries(rows, codes[rows], np.ones(len(rows)), len(column["categories"]) + 1, missing, unseen)


def kind_of(column: Mapping[str, Any]) -> str:
    """Return the kind of a column; files of earlier versions have none."""
    return column.get("kind") or ("number" if column.get("categories") is None else "category")


def encode(column: Mapping[str, Any], cells: Sequence[Any], numbers: NumberForm = PLAIN) -> Entries:
    """Return the features of the cells of a column, as in config.json; a spelled cell has the plain form of numbers."""
    try:
        return (scale if kind_of(column) in QUANTITIES else one_hot)(column, spell_all(cells, numbers.spell))
    except Fault as fault:
        raise Fault(f"column {column['name']!r} {fault}", fault.row) from None


def features(
    columns: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    numbers: Sequence[Any] = PLAIN,
    unseen: Counter[str] | None = None,
) -> np.ndarray:
    """Return the features of rows of cells by column, n×K float32.

    Args:
        numbers: the form of numbers in texts.
        unseen: the cells of categories without training texts are added to it, by column.
    """
    blocks = []
    for column in columns:
        entries = encode(column, [row.get(column["name"]) for row in rows], NumberForm(*numbers))
        block = np.zeros((len(rows), entries.width), dtype=np.float32)
        block[entries.rows, entries.columns] = entries.values
        blocks.append(block)
        if unseen is not None:
            unseen[column["name"]] += entries.unseen
    return np.concatenate(blocks, 1)


# Texts


def is_blank(parts: Iterable[str]) -> bool:
    """Return whether a text, or a part of a pair, has no letters but whitespace."""
    return not all(part.strip() for part in parts)


def cut(text: Any) -> Any:
    """Return a text, or the two of a pair without MARK, without the middle of one far longer than what models read."""
    if isinstance(text, str):
        return text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]} {text[-LONGEST:]}"
    return tuple(cut(part.replace(MARK, " ")) for part in text)


class Spans(NamedTuple):
    """The tokens that remain of n texts after truncation: those at `start`, `start` + 1, …, with at most one jump."""

    starts: np.ndarray  # n int64, position of the first token
    lengths: np.ndarray  # n int64
    seconds: np.ndarray | None = None  # n int64, how many tokens precede the second text of a pair; None: no pairs
    jumps: np.ndarray | None = None  # n int64, after how many tokens some are left out
    skipped: np.ndarray | None = None  # n int64, how many are

    def positions(self, row: int) -> np.ndarray:
        """Return the position of each token of a text, L int64."""
        steps = np.arange(self.lengths[row])
        if self.jumps is not None and self.skipped is not None:
            steps = steps + self.skipped[row] * (steps >= self.jumps[row])
        return np.asarray(self.starts[row] + steps)


def spans(offsets: np.ndarray, bounds: np.ndarray | None, max_length: int, keep: str) -> Spans:
    """Return the tokens that remain of texts; of a pair, the longer text is cut first, and both if both are long.

    Args:
        offsets: n+1; the tokens of text i are those at offsets[i] to offsets[i + 1].
        bounds: n×2, the ends of a pair's first text and of the separator, from the offset; None: no pairs.
        max_length: tokens that remain of a text.
        keep: "first" or "last", which of the tokens remain.
    """
    starts, lengths = offsets[:-1], np.diff(offsets)
    is_first = keep == "first"
    if bounds is None:
        kept = np.minimum(lengths, max_length)
        return Spans(starts if is_first else starts + lengths - kept, kept)
    end, second = bounds.T
    marks, rest = second - end, lengths - second
    room = np.maximum(max_length - marks, 0)
    kept_rest = np.minimum(rest, np.maximum(room - end, room // 2))
    kept = np.minimum(end, room - kept_rest)
    skipped, skipped_rest = end - kept, rest - kept_rest
    if is_first:
        return Spans(starts, kept + marks + kept_rest, kept + marks, kept, skipped)
    return Spans(starts + skipped, kept + marks + kept_rest, kept + marks, kept + marks, skipped_rest)


def pair_bounds(encoding: Any, special: Sequence[int]) -> tuple[int, int, int, int]:
    """Return the start and end of the first text and of the second text among the tokens of a pair.

    Args:
        encoding: of the library `tokenizers`.
        special: the numbers of special tokens before and after a text.
    """
    sides, stop = encoding.sequence_ids, len(encoding.ids) - special[1]
    return special[0], special[0] + sides.count(0), stop - sides.count(1), stop


def spellings(parts: Sequence[str], encoding: Any, special: Sequence[int]) -> list[str]:
    """Return the spelling of each token in its text; the separator of a pair has the tokenizer's own."""
    if len(parts) == 1:
        return [parts[0][start:stop].strip() for start, stop in encoding.offsets]
    start, end, second, stop = pair_bounds(encoding, special)
    words = [
        [part[a:b].strip() for a, b in encoding.offsets[slice(*places)]]
        for part, places in zip(parts, ((start, end), (second, stop)), strict=True)
    ]
    return [*words[0], *encoding.tokens[end:second], *words[1]]


# Answers


def reached(probabilities: np.ndarray, thresholds: Any) -> np.ndarray:
    """Return whether a text has each label, n×C: whether the probability reaches the threshold of the class."""
    return np.asarray(probabilities >= (np.asarray(thresholds) if len(thresholds) else NEUTRAL))


def expected_error(texts: int, wrong: int) -> float:
    """Return the error with one more text that is wrong, so that few texts prove little.

    It is the estimate of conformal risk control (Angelopoulos et al. 2024), applied to the texts at one limit.
    """
    return (wrong + 1) / (texts + 1)


def choose_limit(limits: Iterable[Sequence[Any]], error: float) -> Any:
    """Return the limit (confidence, texts, wrong, …) of the lowest confidence with at most this error; None without."""
    return next((limit for limit in reversed(list(limits)) if expected_error(limit[1], limit[2]) <= error), None)
