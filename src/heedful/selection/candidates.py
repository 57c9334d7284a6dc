"""The candidates of a shortlist: names, and the overrides of a training."""

from collections.abc import Sequence

# In the order in which they start; the first one, which takes little time, is what the others are compared with
CANDIDATES = {
    "linear": ("model=linear", "model.branch.c=null"),
    "recommended": ("experiment=recommended",),
    "recommended without branch": (
        "experiment=recommended",
        "model/branch=none",
        *("~model.branch.scale", "~model.branch.c", "~model.branch.weight"),
    ),
    "cnn": ("model/encoder=cnn", "model/attention=none", "model/pooling=max", "threads=1"),
    "bilstm + bahdanau": ("model/encoder=bilstm", "model/attention=bahdanau", "threads=1"),
    "transformer": ("model/encoder=transformer", "model/attention=none", "threads=1"),
}


def select_candidates(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the overrides of candidates by name: of all, or of some and of experiments of the user's in conf/."""
    if not names:
        return CANDIDATES
    return {name: CANDIDATES.get(name, (f"experiment={name}",)) for name in dict.fromkeys(names)}
