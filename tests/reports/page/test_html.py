from src.reports.page.html import Html, join, tag

MALICIOUS = '<script>alert("1 & 2")</script>'
ESCAPED = "&lt;script&gt;alert(&quot;1 &amp; 2&quot;)&lt;/script&gt;"


def test_text_and_attributes_are_escaped_and_markup_is_not_escaped_twice() -> None:
    assert tag("p", MALICIOUS, title=MALICIOUS) == f'<p title="{ESCAPED}">{ESCAPED}</p>'
    assert tag("p", tag("b", MALICIOUS)) == f"<p><b>{ESCAPED}</b></p>"
    assert join(MALICIOUS, tag("b"), None, 3) == f"{ESCAPED}<b></b>3"


def test_concatenated_markup_is_escaped() -> None:
    assert tag("p", tag("b") + "<i>") == "<p>&lt;b&gt;&lt;/b&gt;&lt;i&gt;</p>"
    assert type(tag("p")) is Html


def test_names_of_attributes() -> None:
    assert tag("input", class_="a", data_pane="b", hidden=True, checked=False, title=None, x=0) == (
        '<input class="a" data-pane="b" hidden x="0">'
    )
