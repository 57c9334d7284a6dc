"""The names of what is measured while a model trains; a callback or a scheduler may monitor these."""

AVERAGED = ("precision", "recall", "f1")  # each macro and micro
AVERAGES = ("macro", "micro")
EVALUATED = (*(f"{name}_{average}" for name in AVERAGED for average in AVERAGES), "acc", "auroc", "ece")
LOGGED = ("train/loss", "train/acc", "val/loss", *(f"val/{name}" for name in EVALUATED))
