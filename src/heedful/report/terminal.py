"""What a terminal shows: sections on standard output, readable without colour."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from heedful.base.process import drop_broken_output
from heedful.report.section import Columns, Content, Lines, Section, Table, Tabular

MAX_COLUMNS = 7  # maximum number of columns of a table that fits a terminal


class OutputConsole(Console):
    """A console on standard output; it silently discards output to a closed pipe, as with `| head`."""

    def __init__(self, width: int = 100) -> None:
        super().__init__(width=None if sys.stdout.isatty() else width)

    def on_broken_pipe(self) -> None:
        drop_broken_output()


def render_terminal(sections: Sequence[Section], verdict: str = "") -> RenderableType:
    """Render the verdict, the tables and lines with their notes; strips, maps and groups are omitted."""
    parts: list[RenderableType] = [Text(f"{verdict}\n", style="bold")] if verdict else []
    for section in sections:
        shown = list(_shown(section.content))
        if not shown:
            continue
        parts += [Text(section.title, style="bold")] if section.title else []
        for item in shown:
            if isinstance(item, Lines):
                parts += [Text(f"  {line}", overflow="fold") for line in item.lines]
            else:
                columns = len(item.head)
                width = columns if columns <= MAX_COLUMNS else MAX_COLUMNS - 1
                starts = range(1, max(columns, 2), width)
                parts += [_table(item, [0, *range(start, columns)[:width]]) for start in starts]
        parts += [Text(section.note), Text()] if section.note else [Text()]
    return Group(*parts)


def _shown(content: Sequence[Content]) -> Iterator[Table | Lines]:
    for item in content:
        if isinstance(item, Columns):
            yield from _shown(item.content)
        elif isinstance(item, Tabular):
            yield item.table
        elif isinstance(item, Table | Lines):
            yield item


def _table(table: Table, columns: Sequence[int]) -> RichTable:
    rendered = RichTable(
        title=Text(table.title, style="bold") if table.title else None,
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        title_justify="left",
    )
    for column in columns:
        is_number = table.has_numbers(column)
        rendered.add_column(Text(table.head[column]), justify="right" if is_number else "left", overflow="fold")
    for row in table.rows:
        rendered.add_row(*(Text(row[column]) for column in columns))
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
