"""Classify texts: `python -m src.predict ckpt_path=… text="A film to remember"`, `file=…`, or texts in a pipe."""

from omegaconf import DictConfig

from src.cli.entry import entry


@entry("predict", free_text=("text",))
def main(cfg: DictConfig) -> None:
    """Print a prediction for each text, with the most attended words."""
    from pathlib import Path

    from src import build
    from src.analysis.explanation import explain
    from src.cli.texts import read_texts
    from src.errors import UserError
    from src.process.startup import closed_streams
    from src.reports.predictions import draw_predictions, print_predictions

    if "stdout" in closed_streams and cfg.pictures is None:
        raise UserError("standard output is closed, so no prediction can be printed: redirect it to a file")
    texts = read_texts(cfg.text, cfg.file)
    card, (model, loss) = build.restore(cfg.ckpt_path, cfg.extras)
    explanations = explain(model, loss, card.codec, texts, cfg.batch_size, maps=cfg.pictures is not None)
    print_predictions(texts, explanations, card.codec.class_names, cfg.json, cfg.top)
    if cfg.pictures is not None:
        draw_predictions(explanations, Path(cfg.pictures))


if __name__ == "__main__":
    main()
