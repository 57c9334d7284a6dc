"""Names of the metrics that are logged during training; callbacks and schedulers may monitor them."""

AVERAGED = ("precision", "recall", "f1")  # macro and micro
AVERAGES = ("macro", "micro")
EVALUATED = (*(f"{name}_{average}" for name in AVERAGED for average in AVERAGES), "acc", "auroc", "ece")
LOGGED = ("train/loss", "train/acc", "val/loss", *(f"val/{name}" for name in EVALUATED))
