"""Train and test a classifier: `heedful train model/attention=luong_general`."""

from omegaconf import DictConfig

from heedful.commands.entry import entry, launched


@entry("train")
def main(cfg: DictConfig) -> float | None:
    """Train and test a classifier, and return the value that a hyperparameter search optimizes.

    This is the monitored metric of the best checkpoint; None if there is no such checkpoint.
    """
    from heedful.training.fit import train_classifier

    run, _ = train_classifier(cfg, launched())
    return run.result.best.value


if __name__ == "__main__":
    main()
