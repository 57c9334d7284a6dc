"""Labels: their canonical form, labels that look alike, the option `labels`, and the classes of a data set."""

import re
import shlex
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

from heedful.base.formatting import LISTED_VALUES, format_count, format_list, format_repr
from heedful.runtime import spell_text

SEPARATORS = "|;,"  # that may stand between labels
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]{1,2})?", re.IGNORECASE)


def canonical(label: str) -> str:
    """Return the one spelling of a label, as of every cell: 1.0 is 1, True is true, and letters are composed."""
    return spell_text(label) or ""


def match_classes(names: Iterable[str], classes: Sequence[str]) -> list[str]:
    """Return names, in the spelling of the classes that are the same label; earlier versions had other spellings."""
    known = {canonical(name): name for name in reversed(classes)}
    return [known.get(canonical(name), name) for name in names]


def describe_look_alikes(counts: Mapping[str, int], are_set: bool = False) -> str:
    """Return a warning of labels that look alike, with the option that merges them; empty if there are none.

    Labels look alike if they are the same number, or the same text without case, white space, format characters and
    variants of characters (NFKC).

    Args:
        counts: label → number of rows.
        are_set: whether the option is set, so that its classes may have further labels.
    """
    groups = defaultdict[str | Decimal, list[str]](list)
    for label in sorted(counts, key=lambda label: (-counts[label], label)):  # the most frequent label names the class
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())
        text = "".join(char for char in text if unicodedata.category(char) != "Cf" and not char.isspace())
        groups[Decimal(text) if NUMBER.fullmatch(text) else text].append(label)
    lists, classes = list[str](), list[str]()
    for group in groups.values():
        quoted = ['"{}"'.format(label.replace('"', '\\"')) for label in group]
        classes.append(f"[{', '.join(quoted)}]" if len(group) > 1 else quoted[0])
        differ = len({unicodedata.normalize("NFC", label) for label in group}) == len(group)
        quote = format_repr if differ else ascii
        if len(group) > 1:
            lists.append(" and ".join(f"{quote(label)} ({format_count(counts[label], 'text')})" for label in group))
    rest = [f"and {len(lists) - LISTED_VALUES:,} more"] if len(lists) > LISTED_VALUES else []
    names, option = "; ".join(lists[:LISTED_VALUES] + rest), shlex.quote(f"data.labels=[{', '.join(classes)}]")
    remedy = "write each class as a list in data.labels" if are_set or len(classes) == 1 else f"set {option}"
    return f"Labels that look alike are different classes: {names}. To merge them, {remedy}" if lists else ""


def describe_combinations(classes: Collection[str]) -> str:
    """Return a warning of classes that look like several labels of a text, such as a|b; empty if there are none.

    Such a class consists of different parts between `|`, `;` or `,`, each of which recurs: it is also a class of its
    own, or in another such class. A warning needs one whose parts are all classes, or that most classes are such and a
    quarter of their parts are classes or have several positions: in "Salem, OR" and "Salem, MA", none does. Numbers
    such as 1,5 have no parts.
    """
    for separator in SEPARATORS:
        numbers = {name for name in classes if re.fullmatch("[0-9]+,[0-9]+", name)}
        several, found, single = _combinations([name for name in classes if name not in numbers], separator)
        places = {(part, place) for listed in several.values() for place, part in enumerate(listed)}
        positions, used = Counter(part for part, _ in places), {part for name in found for part in several[name]}
        moving = [part for part in used if part in single or positions[part] > 1]
        is_most = 2 * len(found) > len(classes) and 4 * len(moving) >= len(used)
        if is_most or any(single.issuperset(several[name]) for name in found):
            return (
                f"{len(found):,} of {len(classes):,} classes look like several labels of a text: {format_list(found)}. "
                f"If so, set task=multilabel task.separator={format_repr(separator)}; if not, each combination is "
                "a class: list the classes in data.labels"
            )
    return ""


def find_separator(cells: Collection[str], separators: str = SEPARATORS) -> str | None:
    """Return the separator with which most cells of several labels combine labels of other cells; None without one."""
    for separator in separators:
        several, found, _ = _combinations(set(cells), separator)
        if 2 * len(found) > len(several):
            return separator
    return None


def _combinations(cells: Iterable[str], separator: str) -> tuple[dict[str, list[str]], list[str], set[str]]:
    """Return the parts of cells with several different parts, the cells whose parts all recur, and all single parts."""
    parts = {cell: [part for piece in cell.split(separator) if (part := piece.strip("[](){}'\" "))] for cell in cells}
    several = {cell: listed for cell, listed in parts.items() if 1 < len(listed) == len(set(listed))}
    counts, single = Counter(chain(*several.values())), {listed[0] for listed in parts.values() if len(listed) == 1}
    found = [cell for cell, listed in several.items() if all(part in single or counts[part] > 1 for part in listed)]
    return several, found, single


def parse_labels(labels: Sequence[Any] | Mapping[Any, Any] | None) -> dict[str, str] | None:
    """Return the class of each allowed label, in the order of the classes; None stays None.

    Args:
        labels: the classes, each a name, or a list of the name and other labels of the class; or the class of each
            label, which the data may also contain instead of the label.
    """
    if labels is None:
        return None
    if isinstance(labels, Mapping):
        pairs = list(labels.items())
    else:
        groups = [[label] if isinstance(label, str) or not isinstance(label, Sequence) else label for label in labels]
        pairs = [(label, group[0]) for group in groups for label in group]
    values = [value for pair in pairs for value in pair]
    if None in values or len({isinstance(value, bool) for value in values}) > 1:
        raise ValueError(
            f"labels={list(map(str, labels))}: YAML reads words such as NO, on and null as booleans or nothing; put "
            "the name in quotes"
        )
    names = {canonical(str(label)): canonical(str(name)) for label, name in pairs}
    if len(names) < len(pairs) or len(set(names.values())) < 2 or any(isinstance(value, list) for value in values):
        raise ValueError(f"labels={list(map(str, labels))}: must be two or more classes that share no label")
    for name in list(names.values()):
        names.setdefault(name, name)
    return names


def sort_classes(labels: Iterable[str]) -> tuple[str, ...]:
    """Return labels in numerical order if all are numbers, otherwise in alphabetical order."""
    names = sorted(labels)  # equal numbers, such as 1 and 01, stay in alphabetical order
    if all(map(NUMBER.fullmatch, names)):
        names.sort(key=Decimal)
    return tuple(names)
