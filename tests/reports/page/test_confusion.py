import numpy as np

from src.reports.page.confusion import MAX_CLASSES, confusion
from src.reports.page.document import macro
from tests.reports.page.reader import Reader


def confusion_table(counts: np.ndarray, names: list[str]) -> str:
    return macro("confusion_table")(confusion(counts, names, "test"))


def cells(html: str) -> list[str]:
    return [text for tag, text in Reader(html).texts if tag in ("td", "small")]


def test_cells_contain_counts_and_fractions_of_the_true_class() -> None:
    html = confusion_table(np.array([[30, 10], [0, 1005]]), ["<bad>", "good"])
    assert cells(html) == ["30", "75.0%", "10", "25.0%", "0", "0.0%", "1,005", "100.0%"]
    depths = [cell.attributes["style"] for cell in Reader(html).all("td", "heat")]
    assert depths == ["--w:0.750", "--w:0.250", "--w:0.000", "--w:1.000"]
    assert "&lt;bad&gt;" in html


def test_a_class_without_texts_has_no_fractions() -> None:
    assert "–" in cells(confusion_table(np.array([[0, 0], [3, 4]]), ["a", "b"]))


def test_the_table_of_many_classes_lists_the_most_frequent_confusions() -> None:
    counts = np.diag(np.full(MAX_CLASSES + 1, 40))
    counts[2, 5], counts[7, 1] = 10, 60
    html = confusion_table(counts, [f"class {c}" for c in range(MAX_CLASSES + 1)])
    rows = [text for tag, text in Reader(html).texts if tag in ("th", "td")]
    assert rows[-8:] == ["class 7", "class 1", "60", "60.0%", "class 2", "class 5", "10", "20.0%"]
