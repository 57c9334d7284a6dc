"""Scores as the page names them."""

LABELS = {"acc": "accuracy", "f1_macro": "macro F1", "auroc": "AUROC", "ece": "calibration error"}


def label(metric: str) -> str:
    """In the midst of a sentence."""
    return LABELS.get(metric, metric)


def heading(metric: str) -> str:
    """At its beginning."""
    name = label(metric)
    return name[0].upper() + name[1:]
