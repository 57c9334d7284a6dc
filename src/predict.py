"""Classify texts: `python -m src.predict ckpt_path=… text="A film to remember"`, `file=…`, or texts in a pipe."""

import logging
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from src.cli.entry import entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from src.data.rows import Rows

log = logging.getLogger(__name__)


@entry("predict", free_text=("text",))
def main(cfg: DictConfig) -> None:
    """Print a prediction for each text, with the most attended words, or write a file of predictions."""
    from pathlib import Path

    from src import build
    from src.cli.texts import read_texts
    from src.errors import UserError
    from src.process.startup import closed_streams
    from src.reports.prediction_table import output_path, with_predictions, write_columns
    from src.reports.predictions import draw_predictions, print_predictions

    out = None if cfg.out is None else output_path(cfg.out, cfg.file)
    if out is not None and cfg.pictures is not None:
        raise UserError("out=… and pictures=… are both set: remove one of them")
    if "stdout" in closed_streams and cfg.pictures is None and out is None:
        raise UserError("standard output is closed, so no prediction can be printed: redirect it to a file")
    rows, texts = read_texts(cfg.text, cfg.file, cfg.text_column)
    _, ensemble = build.restore_ensemble(cfg.ckpt_path, cfg.extras)
    selection = [i for i, text in enumerate(texts) if text.strip()]
    selected = [texts[i] for i in selection]
    if out is None:
        explanations = ensemble.explain(selected, cfg.batch_size, maps=cfg.pictures is not None)
        by_row = dict(zip(selection, explanations, strict=True))
        print_predictions(texts, by_row, ensemble.class_names, cfg.json, cfg.top)
        if cfg.pictures is not None:
            draw_predictions(by_row, Path(cfg.pictures))
        unknown = [i for i, explanation in by_row.items() if explanation.is_unknown]
    else:
        probabilities, is_unknown = ensemble.classify(selected, cfg.batch_size, progress=True)
        write_columns(out, with_predictions(rows.columns, selection, ensemble.class_names, probabilities, is_unknown))
        print(f"Wrote {len(texts):,} {'row' if len(texts) == 1 else 'rows'} to {out}")
        unknown = [i for i, value in zip(selection, is_unknown, strict=True) if value]
    _warn(rows, sorted(set(range(len(texts))) - set(selection)), "blank text, so no prediction")
    _warn(rows, unknown, "only unknown words, so the prediction does not depend on the text (only_unknown)")


def _warn(rows: "Rows", positions: "Sequence[int]", problem: str) -> None:
    if positions:
        log.warning("%s: %s: %s", rows.source, rows.describe_places(positions), problem)


if __name__ == "__main__":
    main()
