from src.reports.page.selector import panes, picker
from tests.reports.page.reader import Reader


def test_the_first_choice_is_taken_and_its_pane_shown() -> None:
    choices = {"a": "<A>", "b": "B"}
    reader = Reader(picker("which", "Show", choices) + panes("which", {value: picker("", "", {}) for value in choices}))
    assert ["checked" in button.attributes for button in reader.all("input")] == [True, False]
    shown = [(pane.attributes["data-value"], "hidden" in pane.attributes) for pane in reader.all("div")]
    assert shown == [("a", False), ("b", True)]


def test_long_choices_are_listed() -> None:
    reader = Reader(picker("which", "Show", {str(at): "a long name of a text" for at in range(4)}))
    assert [option.attributes["value"] for option in reader.all("option")] == ["0", "1", "2", "3"]


def test_with_one_choice_there_is_nothing_to_pick() -> None:
    assert picker("which", "Show", {"a": "A"}) == ""
