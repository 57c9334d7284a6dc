"""Evaluate one or several models on the test split or on all rows of `file=…`: `heedful eval ckpt_path=<run>`."""

from omegaconf import DictConfig

from heedful.commands.entry import entry, launched


@entry("eval")
def main(cfg: DictConfig) -> None:
    """Evaluate a checkpoint, or the mean probabilities of several, on `file`, `data` or the first checkpoint's data."""
    from heedful.inference.api import evaluation_data, find_device, restore_ensemble
    from heedful.inference.lit_ensemble import LitEnsemble
    from heedful.training import build
    from heedful.training.lit import LitClassifier
    from heedful.training.run import open_run

    cfg.device = find_device(cfg.device)  # the accelerator of trainer=auto
    with open_run(cfg, launched()) as run:
        ensemble = restore_ensemble(cfg.ckpt_path, cfg.extras, accepts_exports=False)
        _, card, model, loss = ensemble.members[0]
        trainer = build.trainer(cfg, run.callbacks)
        data = evaluation_data(cfg, card)
        has_further = data.class_names != card.codec.class_names  # which no model has
        if has_further:
            ensemble.task = ensemble.task.with_classes(data.class_names)
        metrics = build.metrics(cfg, data.task)  # not a checkpoint's metrics, which may name any class
        if len(ensemble.members) == 1 and not has_further:
            module = LitClassifier(model, loss, metrics, card)
        else:
            module = LitEnsemble(ensemble, metrics)
        run.start(trainer, module, data)
        (trainer.test if cfg.split == "test" else trainer.validate)(module, data, verbose=False)
        run.report(trainer, module)


if __name__ == "__main__":
    main()
