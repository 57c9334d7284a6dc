"""Classify texts from `text="…"`, `file=…` or standard input: `python -m src.predict ckpt_path=… text="…"`."""

import logging
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from src.config.entry import entry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from src.data.tables import Schema
    from src.explain.ensemble import Ensemble
    from src.text import TextSource

log = logging.getLogger(__name__)


@entry("predict", free_text=("text",))
def main(cfg: DictConfig) -> None:
    """Print a prediction for each text, with the most attended words, or write a file of predictions."""
    from src import build
    from src.data.prediction_table import output_path
    from src.errors import UserError
    from src.text import text_source

    out = None if cfg.out is None else output_path(cfg.out, cfg.file)
    if out is not None and cfg.pictures is not None:
        raise UserError("out=… and pictures=… are both set: remove one of them")
    source = text_source(cfg.text, cfg.file, cfg.text_column, cfg.delimiter)
    _, ensemble = build.restore_ensemble(cfg.ckpt_path, cfg.extras)
    if out is None:
        _print_predictions(cfg, source, ensemble)
    else:
        _write_predictions(out, source, ensemble, cfg.batch_size)


def _print_predictions(cfg: DictConfig, source: "TextSource", ensemble: "Ensemble") -> None:
    """Classify all texts at once, print the predictions and, if `pictures` is set, write a page."""
    from pathlib import Path

    from src.report.predictions import print_predictions, write_predictions_page

    chunks = list(source.chunks())
    texts = [text for _, chunk in chunks for text in chunk]
    places = [place for rows, _ in chunks for place in rows.places]
    selection = [i for i, text in enumerate(texts) if text.strip()]
    explanations = ensemble.explain([texts[i] for i in selection], cfg.batch_size, maps=cfg.pictures is not None)
    by_row = dict(zip(selection, explanations, strict=True))
    print_predictions(texts, by_row, ensemble.class_names, cfg.json, cfg.top)
    if cfg.pictures is not None:
        write_predictions_page(by_row, ensemble.class_names, Path(cfg.pictures))
    blank = [places[i] for i in range(len(texts)) if i not in by_row]
    unknown = [places[i] for i, explanation in by_row.items() if explanation.is_unknown]
    _warn(source.name, chunks[0][0].unit, blank, unknown)


def _write_predictions(out: "Path", source: "TextSource", ensemble: "Ensemble", batch_size: int) -> None:
    """Write each row of the source with its prediction, some rows at a time.

    The source is read twice. The first pass, which is short, reports invalid rows before anything is classified,
    counts the rows, and collects the columns and their types.
    """
    from array import array
    from dataclasses import replace

    import numpy as np

    from src.console import row_progress
    from src.data.prediction_table import PredictionColumns
    from src.data.tables import Schema, write_table
    from src.errors import UserError
    from src.formatting import format_count
    from src.process import stopped_by_exception

    schema = Schema(out)
    total = _read_schema(source, schema)
    predictions = PredictionColumns(ensemble.class_names, list(schema.types))
    schema.add(predictions.values(1, [0], np.zeros((1, len(ensemble.class_names))), np.zeros(1, dtype=bool)))
    blank, unknown = array("q"), array("q")  # row or line numbers
    count = 0
    with (
        stopped_by_exception(),
        write_table(out, schema) as write,
        row_progress("Classified", total) as advance,
    ):
        for rows, texts in source.chunks():
            selection = [i for i, text in enumerate(texts) if text.strip()]
            probabilities, is_unknown = ensemble.classify([texts[i] for i in selection], batch_size)
            columns = predictions.values(len(texts), selection, probabilities, is_unknown)
            write(replace(rows, columns=rows.columns | columns))
            blank.extend(place for place, text in zip(rows.places, texts, strict=True) if not text.strip())
            unknown.extend(rows.places[i] for i, value in zip(selection, is_unknown, strict=True) if value)
            count += len(texts)
            advance(len(texts))
        if count != total:
            raise UserError(f"{source.name}: changed while it was being read; run again")
    print(f"Wrote {format_count(total, 'row')} to {out}")
    _warn(rows.source, rows.unit, blank, unknown)


def _read_schema(source: "TextSource", schema: "Schema") -> int:
    """Read all rows, add their columns to the schema, and return the number of rows.

    Raises:
        UserError: if a row is invalid, or all texts are blank.
    """
    from src.console import row_progress

    total = 0
    with row_progress("Read") as advance:
        for rows, texts in source.chunks():
            schema.add(rows.columns)
            total += len(texts)
            advance(len(texts))
    return total


def _warn(source: str, unit: str, blank: "Sequence[int]", unknown: "Sequence[int]") -> None:
    from src.data.readers import format_places

    if blank:
        log.warning("%s: %s: blank text, so no prediction", source, format_places(unit, blank))
    if unknown:
        log.warning(
            "%s: %s: only unknown words, so the prediction does not depend on the text",
            source,
            format_places(unit, unknown),
        )


if __name__ == "__main__":
    main()
