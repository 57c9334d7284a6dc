"""The predictions of `src.predict`: printed, as a page, or in a table with the rows of the source."""

import logging
from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from omegaconf import DictConfig

from src.console import row_progress
from src.data.prediction_table import PredictionColumns
from src.data.readers import format_places
from src.data.tables import Schema, write_table
from src.explain import Ensemble
from src.formatting import format_count
from src.process import handle_signals, raise_interrupt
from src.report.predictions import print_predictions, write_predictions_page
from src.text import TextSource

log = logging.getLogger(__name__)


def show_predictions(cfg: DictConfig, source: TextSource, ensemble: Ensemble) -> None:
    """Classify all texts at once, print the predictions and, if `pictures` is set, write a page."""
    chunks = list(source.chunks())
    texts = [text for _, chunk in chunks for text in chunk]
    places = [place for rows, _ in chunks for place in rows.places]
    selection = _not_blank(texts)
    examples = ensemble.explain([texts[i] for i in selection], cfg.batch_size, maps=cfg.pictures is not None)
    by_row = {i: replace(example, index=i) for i, example in zip(selection, examples, strict=True)}
    print_predictions(texts, by_row, cfg.json, cfg.top)
    if cfg.pictures is not None:
        write_predictions_page(list(by_row.values()), Path(cfg.pictures))
    blank = [places[i] for i in range(len(texts)) if i not in by_row]
    unknown = [places[i] for i, example in by_row.items() if example.is_unknown]
    _warn(source.name, chunks[0][0].unit, blank, unknown)


def write_predictions(out: Path, source: TextSource, ensemble: Ensemble, batch_size: int) -> None:
    """Write each row of the source with its prediction, some rows at a time.

    The source is read twice. The first pass, which is short, reports invalid rows before anything is classified,
    counts the rows, and collects the columns and their types.
    """
    schema, total = Schema(out), 0
    with row_progress("Read") as advance:
        for rows, texts in source.chunks():
            schema.add(rows.columns)
            total += len(texts)
            advance(len(texts))
    predictions = PredictionColumns(ensemble.class_names, list(schema.types))
    schema.add(predictions.values(1, [0], np.zeros((1, len(ensemble.class_names))), np.zeros(1, dtype=bool)))
    blank, unknown = array("q"), array("q")  # row or line numbers
    with (
        handle_signals(raise_interrupt),
        write_table(out, schema) as write,
        row_progress("Classified", total) as advance,
    ):
        for rows, texts in source.chunks():
            selection = _not_blank(texts)
            probabilities, is_unknown = ensemble.classify([texts[i] for i in selection], batch_size)
            columns = predictions.values(len(texts), selection, probabilities, is_unknown)
            write(replace(rows, columns=rows.columns | columns))
            blank.extend(place for place, text in zip(rows.places, texts, strict=True) if not text.strip())
            unknown.extend(rows.places[i] for i, value in zip(selection, is_unknown, strict=True) if value)
            advance(len(texts))
    print(f"Wrote {format_count(total, 'row')} to {out}")
    _warn(rows.source, rows.unit, blank, unknown)


def _not_blank(texts: Sequence[str]) -> list[int]:
    return [i for i, text in enumerate(texts) if text.strip()]


def _warn(source: str, unit: str, blank: Sequence[int], unknown: Sequence[int]) -> None:
    if blank:
        log.warning("%s: %s: blank text, so no prediction", source, format_places(unit, blank))
    if unknown:
        log.warning(
            "%s: %s: only unknown words, so the prediction does not depend on the text",
            source,
            format_places(unit, unknown),
        )
