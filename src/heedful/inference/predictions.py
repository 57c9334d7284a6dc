"""The predictions of `heedful predict`: printed, as a page, or in a table with the rows of the source."""

import json
import logging
import sys
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from omegaconf import DictConfig

from heedful.base.errors import UserError
from heedful.base.files import number_names, write_text
from heedful.base.formatting import format_count
from heedful.base.process import handle_signals, raise_interrupt
from heedful.base.progress import row_progress
from heedful.data.schema import warn_of_unseen
from heedful.data.table import Table as TextTable
from heedful.data.table import Text, join_parts
from heedful.data.tables import OUTPUT_FORMATS, Rows, format_places, write_table
from heedful.data.text_files import absolute_path, existing_path
from heedful.inference.abstention import answer
from heedful.inference.input_texts import TextSource
from heedful.models.ensemble import Ensemble
from heedful.report.section import Section, Table
from heedful.report.words import (
    branch_table,
    clean_text,
    example_content,
    example_notes,
    top_shares,
    top_words,
    words_tables,
)
from heedful.runs.examples import Example
from heedful.runtime import UNSURE
from heedful.tasks.multiclass import ConfidenceLimit

log = logging.getLogger(__name__)


def show_predictions(
    cfg: DictConfig, source: TextSource, ensemble: Ensemble, limit: ConfidenceLimit | None = None
) -> None:
    """Classify the texts, print each prediction as soon as it is known and, if `pictures` is set, write a page."""
    _survey(source, ensemble)
    shown = list[Example]()  # on the page
    blank, unknown = array("q"), array("q")  # row or line numbers
    for rows, table in _checked(source, ensemble):
        selection = table.not_blank()
        examples = ensemble.examples(table.take(selection), cfg.batch_size, maps=cfg.pictures is not None)
        by_row = {
            i: replace(example, index=i, predicted=answer(example.predicted, *sure), value=answer(example.value, *sure))
            for i, example in zip(selection, examples, strict=True)
            for sure in [(example.confidence, limit)]
        }
        print_predictions(table.texts, by_row, cfg.json, cfg.top)
        sys.stdout.flush()
        shown += by_row.values() if cfg.pictures is not None else ()
        blank.extend(place for i, place in enumerate(rows.places) if i not in by_row)
        unknown.extend(rows.places[i] for i, example in by_row.items() if example.is_unknown)
    if cfg.pictures is not None:
        from heedful.report.html import render_html

        section = Section("Texts", [example_content(example) for example in shown], example_notes(shown))
        page = render_html("Predictions", "", {"Texts": f"{len(shown):,}"}, [section])
        write_text(Path(cfg.pictures) / "page.html", page)
    _warn(source.name, rows.unit, blank, unknown)


def _checked(source: TextSource, ensemble: Ensemble) -> Iterator[tuple[Rows, TextTable]]:
    """Yield the chunks of a source; those of a stream are checked now, because nothing was read of it before."""
    total, unseen = 0, Counter[str]()
    for rows, table in source.chunks(ensemble.reads_pairs):
        if source.is_stream:
            unseen += ensemble.check(table)
            total += len(table)
        yield rows, table
    warn_of_unseen(unseen, total)


def _survey(source: TextSource, ensemble: Ensemble) -> tuple[list[str], int | None]:
    """Return the columns and the number of rows of a source, after checking all rows; nothing is read of a stream."""
    if source.is_stream:
        return list(source.columns), None
    names, total, unseen = dict[str, None](), 0, Counter[str]()
    with row_progress("Read") as advance:
        for rows, table in source.chunks(ensemble.reads_pairs):
            names |= dict.fromkeys(rows.columns)
            unseen += ensemble.check(table)
            total += len(table)
            advance(len(table))
    warn_of_unseen(unseen, total)
    return list(names), total


def output_path(out: str, file: str | None) -> Path:
    """Return the absolute path of `out`, the file for the predictions of the texts in `file`."""
    path = absolute_path(out, "out")
    if path.suffix.lower() not in OUTPUT_FORMATS:
        raise UserError(f"out={out}: unknown extension; it must be one of {', '.join(OUTPUT_FORMATS)}")
    if path.is_dir():
        raise UserError(f"out={out}: this is a folder; pass the path of a file")
    if file is not None and path.exists() and path.samefile(existing_path(file, "file")):
        raise UserError(f"out={out}: this is the input file, which would be overwritten; choose another name")
    return path


def write_predictions(
    out: Path, source: TextSource, ensemble: Ensemble, batch_size: int, limit: ConfidenceLimit | None = None
) -> None:
    """Write each row of the source with its prediction; with a limit, also with the most probable class."""
    read = ensemble.task.decode if out.suffix.lower() == ".csv" else ensemble.task.values
    names, total = _survey(source, ensemble)
    further = number_names(
        [
            *("predicted", *(["likeliest"] if limit is not None else [])),
            *(*(f"probability_{name}" for name in ensemble.class_names), "only_unknown"),
        ],
        taken=names,
    )
    blank, unknown = array("q"), array("q")  # row or line numbers
    count, unit = 0, ""
    with handle_signals(raise_interrupt), row_progress("Classified", total) as advance:

        def classified() -> Iterator[Rows]:
            nonlocal count, unit
            for rows, table in _checked(source, ensemble):
                selection = table.not_blank()
                probabilities, is_unknown = ensemble.classify(table.take(selection), batch_size)
                predicted = read(ensemble.task.predicted(probabilities))
                of_classes = probabilities.T[: len(ensemble.class_names)].round(6).tolist()
                cells = [predicted, *of_classes, is_unknown.tolist()]
                if limit is not None:
                    pairs = zip(predicted, ensemble.task.confidence(probabilities).tolist(), strict=True)
                    cells = [[answer(*pair, limit) for pair in pairs], *cells]
                columns = {}
                for name, values in zip(further, cells, strict=True):
                    by_row = dict(zip(selection, values, strict=True))
                    columns[name] = [by_row.get(i) for i in range(len(table))]
                yield replace(rows, columns={**rows.columns, **columns})
                blank.extend(place for i, place in enumerate(rows.places) if i not in by_row)
                unknown.extend(rows.places[i] for i, value in zip(selection, is_unknown, strict=True) if value)
                count, unit = count + len(table), rows.unit
                advance(len(table))

        write_table(out, [*names, *further], classified(), source.form)
    print(f"Wrote {format_count(count, 'row')} to {out}")
    _warn(source.name, unit, blank, unknown)


def _warn(source: str, unit: str, blank: Sequence[int], unknown: Sequence[int]) -> None:
    consequence = "only unknown words, so the prediction is a guess"
    for places, reason in ((blank, "blank text, so no prediction"), (unknown, consequence)):
        if places:
            log.warning("%s: %s: %s", source, format_places(unit, places), reason)


def print_predictions(texts: Sequence[Text], examples: Mapping[int, Example], as_json: bool | None, top: int) -> None:
    """Print each text's predicted class, probabilities and at most `top` most attended words.

    Blank texts have no example. If `as_json` is None, tables are printed on a terminal, otherwise lines of JSON.
    """
    if as_json or (as_json is None and not sys.stdout.isatty()):
        is_ascii = not sys.stdout.encoding.lower().startswith("utf")
        for number, text in enumerate(texts):
            print(json.dumps(_record(text, examples.get(number), top), ensure_ascii=is_ascii))
        return
    from rich.console import Console
    from rich.text import Text as RichText

    from heedful.report.terminal import render_terminal

    console = Console()
    for number, text in enumerate(texts):
        if (example := examples.get(number)) is None:
            console.print(RichText("(blank text: no prediction)", style="dim"))
        else:
            console.print(RichText(f"“{clean_text(join_parts(text), 200)}”", style="dim"))
            console.print(render_terminal([prediction_section(example, top)]))


def prediction_section(example: Example, count: int) -> Section:
    """Return the predicted class, the ten largest probabilities, and at most `count` most attended words."""
    likeliest = sorted(example.probabilities.items(), key=lambda item: -item[1])[:10]
    classes = [[clean_text(name), f"{probability:.3f}"] for name, probability in likeliest]
    tables = [Table(["class", "probability"], classes)] if example.has_classes else []
    tables += words_tables(example, count)
    if example.branch is not None:
        tables.append(branch_table(example.words, example.branch, count))
    return Section(clean_text(example.predicted or "no label", 100), tables)


def _record(text: Text, example: Example | None, top: int) -> dict[str, object]:
    if example is None:
        return {"text": text, "label": None, "probabilities": None, "words": None, "only_unknown": None}
    ranked = top_words(example.words, example.weights, top)
    record: dict[str, object] = {
        "text": text,
        "label": example.value,
        "probabilities": {name: round(value, 6) for name, value in example.probabilities.items()}
        if example.has_classes
        else None,
        "words": _weighted(ranked),
        "only_unknown": example.is_unknown,
    }
    if example.label_weights:
        by_class = {name: top_words(example.words, weights, top) for name, weights in example.label_weights.items()}
        record["class_words"] = {name: _weighted(words) for name, words in by_class.items()}
    if example.predicted == UNSURE:
        record["likeliest"] = max(example.probabilities, key=example.probabilities.__getitem__)
    if (branch := example.branch) is not None:
        measure, tops = branch.measure.replace(" ", "_"), top_shares(example.words, branch, top)
        shares = [{"word": word, measure: round(share, 6)} for _, word, share in tops]
        record["branch"] = {"weight": round(branch.weight, 6), "words": shares}
    return record


def _weighted(words: Sequence[tuple[int, str, float]]) -> list[dict[str, object]]:
    return [{"word": word, "weight": round(weight, 6)} for _, word, weight in words]
