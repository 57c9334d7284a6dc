"""Classify texts from `text="…"`, `file=…` or standard input: `heedful predict ckpt_path=… text="…"`."""

from omegaconf import DictConfig

from heedful.commands.entry import entry


@entry("predict")
def main(cfg: DictConfig) -> None:
    """Print a prediction for each text, with the most attended words, or write a file of predictions."""
    from heedful.base.errors import UserError
    from heedful.inference.abstention import choose_limit
    from heedful.inference.api import restore_ensemble
    from heedful.inference.input_texts import text_source
    from heedful.inference.predictions import output_path, show_predictions, write_predictions

    out = None if cfg.out is None else output_path(cfg.out, cfg.file)
    if out is not None and cfg.pictures is not None:
        raise UserError("out=… and pictures=… are both set: remove one of them")
    ensemble = restore_ensemble(cfg.ckpt_path, cfg.extras, device=cfg.device)
    read = (ensemble.column_names, ensemble.members[0].card.text_column, ensemble.numbers)
    source = text_source(cfg.text, cfg.file, cfg.text_column, cfg.delimiter, cfg.quotes, cfg.second, *read)
    limit = None if cfg.abstain is None else choose_limit(ensemble, cfg.abstain)
    if out is None:
        show_predictions(cfg, source, ensemble, limit)
    else:
        write_predictions(out, source, ensemble, cfg.batch_size, limit)


if __name__ == "__main__":
    main()
