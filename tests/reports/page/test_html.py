from src.reports.page.html import Html, join, tag

SLY = '<script>alert("1 & 2")</script>'
ESCAPED = "&lt;script&gt;alert(&quot;1 &amp; 2&quot;)&lt;/script&gt;"


def test_text_and_attributes_are_escaped_and_markup_is_not_escaped_twice() -> None:
    assert tag("p", SLY, title=SLY) == f'<p title="{ESCAPED}">{ESCAPED}</p>'
    assert tag("p", tag("b", SLY)) == f"<p><b>{ESCAPED}</b></p>"
    assert join(SLY, tag("b"), None, 3) == f"{ESCAPED}<b></b>3"


def test_markup_pasted_together_by_hand_is_text_again() -> None:
    assert tag("p", tag("b") + "<i>") == "<p>&lt;b&gt;&lt;/b&gt;&lt;i&gt;</p>"
    assert type(tag("p")) is Html


def test_attributes_are_named_as_html_names_them() -> None:
    assert tag("input", class_="a", data_pane="b", hidden=True, checked=False, title=None, x=0) == (
        '<input class="a" data-pane="b" hidden x="0">'
    )
