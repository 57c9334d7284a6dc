from src.reports.page.selector import panes, picker
from tests.reports.page.reader import Reader


def test_first_choice_is_selected_and_its_pane_visible() -> None:
    choices = {"a": "<A>", "b": "B"}
    reader = Reader(picker("which", "Show", choices) + panes("which", {value: picker("", "", {}) for value in choices}))
    assert ["checked" in button.attributes for button in reader.all("input")] == [True, False]
    states = [(pane.attributes["data-value"], "hidden" in pane.attributes) for pane in reader.all("div")]
    assert states == [("a", False), ("b", True)]


def test_long_choices_give_a_list() -> None:
    reader = Reader(picker("which", "Show", {str(index): "a long name of a text" for index in range(4)}))
    assert [option.attributes["value"] for option in reader.all("option")] == ["0", "1", "2", "3"]


def test_one_choice_gives_no_picker() -> None:
    assert picker("which", "Show", {"a": "A"}) == ""
