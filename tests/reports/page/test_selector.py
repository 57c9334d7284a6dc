from src.reports.page.document import macro
from tests.reports.page.fragments import render
from tests.reports.page.reader import Reader

PAGE = """{{ page.picker("which", "Show", choices) }}
{% call(value, label) page.panes("which", choices) %}{% endcall %}"""


def test_the_first_choice_is_selected_and_its_pane_is_visible() -> None:
    reader = Reader(render(PAGE, choices={"a": "<A>", "b": "B"}))
    assert ["checked" in button.attributes for button in reader.all("input")] == [True, False]
    states = [(pane.attributes["data-value"], "hidden" in pane.attributes) for pane in reader.all("div")]
    assert states == [("a", False), ("b", True)]


def test_long_choices_are_in_a_list() -> None:
    html = macro("picker")("which", "Show", {str(index): "a long name of a text" for index in range(4)})
    assert [option.attributes["value"] for option in Reader(html).all("option")] == ["0", "1", "2", "3"]


def test_a_single_choice_has_no_picker() -> None:
    assert macro("picker")("which", "Show", {"a": "A"}).strip() == ""
