"""Render sections as Markdown."""

from collections.abc import Iterator, Sequence

from heedful.report.section import Columns, Content, Group, Lines, Section, Table, Tabular

MARKDOWN = str.maketrans({"|": r"\|", "\\": r"\\", "<": "&lt;", ">": "&gt;", "*": r"\*", "`": r"\`", "\n": " "})


def render_markdown(title: str, verdict: str, sections: Sequence[Section]) -> str:
    """Render the verdict, the tables and lines with their notes as Markdown; strips and maps are omitted."""
    blocks = [f"# {title.translate(MARKDOWN)}", *([verdict.translate(MARKDOWN)] if verdict else [])]
    for section in sections:
        if shown := list(_blocks(section.content)):
            blocks += [*([f"## {section.title.translate(MARKDOWN)}"] if section.title else []), *shown]
            blocks += [section.note.translate(MARKDOWN)] if section.note else []
    return "\n\n".join(blocks) + "\n"


def _blocks(content: Sequence[Content]) -> Iterator[str]:
    for item in content:
        if isinstance(item, Tabular):
            yield from _blocks([item.table])
        elif isinstance(item, Table):
            if item.title:
                yield f"### {item.title.translate(MARKDOWN)}"
            alignment = ("---:" if item.has_numbers(column) else "---" for column in range(len(item.head)))
            head, *rows = (" | ".join(cell.translate(MARKDOWN) for cell in line) for line in (item.head, *item.rows))
            yield "\n".join(f"| {line} |" for line in (head, " | ".join(alignment), *rows))
        elif isinstance(item, Lines):
            yield "\n".join(f"- {line.translate(MARKDOWN)}" for line in item.lines)
        elif isinstance(item, Group | Columns):
            yield from _blocks(item.content)
