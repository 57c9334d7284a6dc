"""Labels of scores in tables and on the page."""

LABELS = {
    "acc": "accuracy",
    "f1_macro": "macro F1",
    "auroc": "AUROC",
    "ece": "calibration error",
    "nll": "negative log-likelihood",
    "brier": "Brier score",
}


def label(metric: str) -> str:
    """The label within a sentence."""
    return LABELS.get(metric, metric)


def heading(metric: str) -> str:
    """The capitalized label."""
    name = label(metric)
    return name[0].upper() + name[1:]
