"""Render sections as Markdown and as LaTeX."""

from collections.abc import Iterator, Sequence

from heedful.report.section import Content, Group, Lines, Section, Table

MARKDOWN = str.maketrans({"|": r"\|", "\\": r"\\", "<": "&lt;", ">": "&gt;", "*": r"\*", "`": r"\`", "\n": " "})
LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\n": " "}
    | {"<": r"$<$", ">": r"$>$", "±": r"$\pm$", "·": r"$\cdot$", "×": r"$\times$", "–": "--", "…": r"\ldots{}"}
)


def render_markdown(title: str, verdict: str, sections: Sequence[Section]) -> str:
    """Render the verdict, the tables and lines with their notes as Markdown; charts, texts and maps are omitted."""
    blocks = [f"# {title.translate(MARKDOWN)}", *([verdict.translate(MARKDOWN)] if verdict else [])]
    for section in sections:
        if shown := list(_blocks(section.content)):
            blocks += [f"## {section.title.translate(MARKDOWN)}", *shown]
            blocks += [section.note.translate(MARKDOWN)] if section.note else []
    return "\n\n".join(blocks) + "\n"


def _blocks(content: Sequence[Content]) -> Iterator[str]:
    for item in content:
        if isinstance(item, Table):
            if item.title:
                yield f"### {item.title.translate(MARKDOWN)}"
            alignment = ("---:" if item.has_numbers(column) else "---" for column in range(len(item.head)))
            head, *rows = _lines(item, " | ", MARKDOWN)
            yield "\n".join(f"| {line} |" for line in (head, " | ".join(alignment), *rows))
        elif isinstance(item, Lines):
            yield "\n".join(f"- {line.translate(MARKDOWN)}" for line in item.lines)
        elif isinstance(item, Group):
            yield from _blocks(item.content)


def _lines(table: Table, separator: str, escapes: dict[int, str]) -> list[str]:
    return [separator.join(cell.translate(escapes) for cell in line) for line in (table.head, *table.rows)]


def render_latex(sections: Sequence[Section]) -> str:
    """Render the tables as LaTeX floats that require no packages."""
    blocks = []
    for title, note, table in (
        (section.title, section.note, table) for section in sections for table in section.tables
    ):
        head, *rows = (rf"{line} \\" for line in _lines(table, " & ", LATEX))
        columns = "".join("r" if table.has_numbers(column) else "l" for column in range(len(table.head)))
        caption = rf"\caption{{{title.translate(LATEX)}. {note.translate(LATEX)}}}"
        body = [caption, rf"\begin{{tabular}}{{{columns}}}", r"\hline", head, r"\hline", *rows, r"\hline"]
        blocks.append("\n".join([r"\begin{table}", *body, r"\end{tabular}", r"\end{table}"]))
    return "\n\n".join(blocks) + "\n"
