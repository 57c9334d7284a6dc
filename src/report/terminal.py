"""Render sections for a terminal, readable without colour."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from src.report.section import Heat, Lines, Section, Table

MAX_COLUMNS = 7  # maximum number of columns of a table that fits a terminal


def render_terminal(sections: Sequence[Section]) -> RenderableType:
    """Render the tables and lines with their notes; charts, texts and maps are omitted."""
    parts: list[RenderableType] = []
    for section in sections:
        shown = [item for item in section.content if isinstance(item, Table | Lines)]
        if not shown:
            continue
        parts.append(Text(section.title, style="bold"))
        for item in shown:
            if isinstance(item, Table):
                parts += [_table(part) for part in _narrow(item)]
            else:
                parts += [Text(f"  {line}", overflow="fold") for line in item.lines]
        parts += [Text(section.note), Text()] if section.note else [Text()]
    return Group(*parts)


def _narrow(table: Table) -> list[Table]:
    """Split a table with more than MAX_COLUMNS columns; each part has the first column."""
    starts = range(1, max(2, len(table.head)), MAX_COLUMNS - 1) if len(table.head) > MAX_COLUMNS else [1]
    width = MAX_COLUMNS - 1 if len(table.head) > MAX_COLUMNS else len(table.head)
    return [
        replace(
            table,
            head=[table.head[0], *table.head[start : start + width]],
            rows=[[row[0], *row[start : start + width]] for row in table.rows],
        )
        for start in starts
    ]


def _table(table: Table) -> RichTable:
    rendered = RichTable(
        title=Text(table.title, style="bold") if table.title else None,
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        title_justify="left",
    )
    for number, head in enumerate(table.head):
        is_text = not number or head in table.text_columns
        rendered.add_column(Text(head), justify="left" if is_text else "right", overflow="fold")
    for row in table.rows:
        rendered.add_row(*(Text(cell.text if isinstance(cell, Heat) else cell) for cell in row))
    return rendered


def files_table(folder: Path, paths: Iterable[Path]) -> RenderableType:
    """Return a list of written files: the folder on the first line, then the files by subfolder."""
    by_folder: dict[str, list[str]] = {}
    for path in sorted(paths, key=lambda path: (path.parent != folder, path)):
        subfolder = path.relative_to(folder).parent
        by_folder.setdefault("" if subfolder == Path() else f"{subfolder.as_posix()}/", []).append(path.name)
    table = RichTable.grid(padding=(0, 2, 0, 0))
    for prefix, names in by_folder.items():
        table.add_row(Text(f"  {prefix}"), Text("  ".join(names)))
    return Group(Text(f"Written to {folder}/", overflow="fold"), table)
