"""Render sections as Markdown and as LaTeX."""

from collections.abc import Iterator, Sequence

from src.report.section import Cell, Content, Group, Heat, Lines, Section, Table

MARKDOWN = str.maketrans({"|": r"\|", "\\": r"\\", "<": "&lt;", "*": r"\*", "`": r"\`", "\n": " "})
LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\n": " "}
    | {"<": r"$<$", ">": r"$>$", "±": r"$\pm$", "·": r"$\cdot$", "×": r"$\times$", "–": "--", "…": r"\ldots{}"}
)


def render_markdown(title: str, sections: Sequence[Section]) -> str:
    """Render the tables and lines with their notes as Markdown; charts, texts and maps are omitted."""
    blocks = [f"# {title.translate(MARKDOWN)}"]
    for section in sections:
        shown = list(_tables_and_lines(section.content))
        if not shown:
            continue
        blocks.append(f"## {section.title.translate(MARKDOWN)}")
        for item in shown:
            if isinstance(item, Table):
                blocks += [f"### {item.title.translate(MARKDOWN)}"] if item.title else []
                blocks.append(_markdown_table(item))
            else:
                blocks.append("\n".join(f"- {line.translate(MARKDOWN)}" for line in item.lines))
        blocks += [section.note.translate(MARKDOWN)] if section.note else []
    return "\n\n".join(blocks) + "\n"


def _tables_and_lines(content: Sequence[Content]) -> Iterator[Table | Lines]:
    for item in content:
        if isinstance(item, Table | Lines):
            yield item
        elif isinstance(item, Group):
            yield from _tables_and_lines(item.content)


def _markdown_table(table: Table) -> str:
    lines = [" | ".join(_text(cell).translate(MARKDOWN) for cell in line) for line in (table.head, *table.rows)]
    is_text = [not number or head in table.text_columns for number, head in enumerate(table.head)]
    lines.insert(1, " | ".join("---" if text else "---:" for text in is_text))
    return "\n".join(f"| {line} |" for line in lines)


def render_latex(sections: Sequence[Section]) -> str:
    """Render the tables as LaTeX floats that require no packages."""
    blocks = []
    for section in sections:
        for table in section.tables:
            lines = [
                " & ".join(_text(cell).translate(LATEX) for cell in line) + r" \\" for line in (table.head, *table.rows)
            ]
            columns = "".join("l" if not n or head in table.text_columns else "r" for n, head in enumerate(table.head))
            title, note = section.title.translate(LATEX), section.note.translate(LATEX)
            rows = [r"\hline", lines[0], r"\hline", *lines[1:], r"\hline"]
            body = [rf"\caption{{{title}. {note}}}", rf"\begin{{tabular}}{{{columns}}}", *rows, r"\end{tabular}"]
            blocks.append("\n".join([r"\begin{table}", *body, r"\end{table}"]))
    return "\n\n".join(blocks) + "\n"


def _text(cell: Cell) -> str:
    return cell.text if isinstance(cell, Heat) else cell
