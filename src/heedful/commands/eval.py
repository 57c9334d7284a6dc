"""Evaluate one or several models on the test split or on all rows of `file=…`: `heedful eval ckpt_path=<run>`."""

from omegaconf import DictConfig

from heedful.commands.entry import entry, launched


@entry("eval")
def main(cfg: DictConfig) -> None:
    """Evaluate a checkpoint, or the mean probabilities of several, on `file`, `data` or the first checkpoint's data."""
    from heedful.inference.api import evaluation_data, find_device, restore_ensemble
    from heedful.training import build
    from heedful.training.evaluator import LitEnsemble
    from heedful.training.run import open_run

    cfg.device = find_device(cfg.device)  # the accelerator of trainer=auto
    with open_run(cfg, launched()) as run:
        ensemble = restore_ensemble(cfg.ckpt_path, cfg.extras, accepts_exports=False)
        trainer = build.trainer(cfg, run.callbacks)
        data = evaluation_data(cfg, ensemble.members[0].card)
        ensemble.task = ensemble.task.with_classes(data.class_names)  # perhaps with some that no model has
        # the metrics are not those of a checkpoint, which may name any class
        module = LitEnsemble(ensemble, build.metrics(cfg, ensemble.task))
        run.start(trainer, module, data)
        (trainer.test if cfg.split == "test" else trainer.validate)(module, data, verbose=False)
        run.report(trainer, module)


if __name__ == "__main__":
    main()
