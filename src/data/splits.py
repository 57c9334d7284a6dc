"""Stratified, seeded draws of rows: what is held out of training, and a small sample of a large split."""

from collections.abc import Sequence

import numpy as np

from src.data.corpus import Corpus
from src.data.listing import listed
from src.errors import UserError

TEST_DRAW, VAL_DRAW, LIMIT_DRAW = range(3)  # draws of one seed that have nothing to do with one another


def divide(
    corpus: Corpus, val_fraction: float, test_fraction: float, seed: int, limit: int | None
) -> dict[str, tuple[str, np.ndarray]]:
    """Which rows (ascending int64) of which of the source's splits make our train, val and test.

    Where the source has no test split of its own, `test_fraction` of its training split is held out; where it
    has no validation split, `val_fraction` of what is left. Each split then keeps a sample of `limit` rows.

    Raises:
        UserError: a class has too few rows for that.
    """
    train = np.arange(len(corpus.train.labels))
    chosen: dict[str, tuple[str, np.ndarray]] = {}
    for split, given, fraction, draw in (
        ("test", corpus.test, test_fraction, TEST_DRAW),
        ("val", corpus.val, val_fraction, VAL_DRAW),
    ):
        if given is not None:
            chosen[split] = (split, np.arange(len(given.labels)))
            continue
        groups = None if corpus.train.groups is None else corpus.train.groups[train]
        kept, held = hold_out(corpus.train.labels[train], fraction, (seed, draw), corpus.class_names, groups)
        train, chosen[split] = train[kept], ("train", train[held])
    chosen["train"] = ("train", train)
    if limit is None:
        return chosen
    return {
        split: (origin, rows[sample(getattr(corpus, origin).labels[rows], limit, (seed, LIMIT_DRAW))])
        for split, (origin, rows) in chosen.items()
    }


def hold_out(
    labels: np.ndarray,
    fraction: float,
    seed: Sequence[int],
    class_names: Sequence[str],
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Part rows in two, each class in proportion and at least once on both sides.

    Args:
        labels: n int64.
        fraction: of the rows (of the groups, where given) to hold out, in (0, 1).
        seed: of the draw alone.
        class_names: for the message.
        groups: n int64; rows of a group stay together, and the first row's class counts as the group's.

    Returns:
        Rows kept and rows held out, both ascending and together all of them.

    Raises:
        UserError: a class has a single row (or group), so that it cannot stand on both sides.
    """
    first, unit = np.arange(len(labels)), np.arange(len(labels))
    if groups is not None:
        _, first, unit = np.unique(groups, return_index=True, return_inverse=True)
    classes, counts = np.unique(labels[first], return_counts=True)
    if single := [class_names[c] for c in classes[counts < 2]]:
        have = f"class {listed(single)} has" if len(single) == 1 else f"{len(single):,} classes ({listed(single)}) have"
        raise UserError(
            f"cannot split: {have} a single {'row' if groups is None else 'group'}, and each class needs one to learn "
            "from and one to hold out: add rows, drop the class, or give each split as a file (data.val_path, "
            "data.test_path). Heed classifies; it does no regression: data.label must name a column of classes"
        )
    total = round(fraction * len(first))
    held = np.zeros(len(first), dtype=bool)
    held[_draw(labels[first], total, spare=1, seed=seed)] = True
    return np.flatnonzero(~held[unit]), np.flatnonzero(held[unit])


def sample(labels: np.ndarray, count: int, seed: Sequence[int]) -> np.ndarray:
    """At most `count` rows, ascending, each class in proportion and at least once.

    Raises:
        UserError: `count` is smaller than the number of classes.
    """
    if count >= len(labels):
        return np.arange(len(labels))
    classes = len(np.unique(labels))
    if count < classes:
        raise UserError(f"data.limit={count}: each of the {classes} classes needs a row, so at least {classes}")
    return _draw(labels, count, spare=0, seed=seed)


def _draw(labels: np.ndarray, total: int, spare: int, seed: Sequence[int]) -> np.ndarray:
    """Rows at random, `total` of them or the nearest feasible number; `spare` of each class stay behind."""
    classes, available = np.unique(labels, return_counts=True)
    rng = np.random.default_rng(list(seed))
    counts = _allot(available, available - spare, total)
    drawn = [rng.permutation(np.flatnonzero(labels == c))[:count] for c, count in zip(classes, counts, strict=True)]
    return np.sort(np.concatenate(drawn))


def _allot(available: np.ndarray, most: np.ndarray, total: int) -> np.ndarray:
    """Split `total` in proportion to `available` by largest remainder, each share within 1 and `most`."""
    total = int(np.clip(total, len(most), most.sum()))
    exact = total * available / available.sum()
    shares = np.clip(np.floor(exact).astype(np.int64), 1, most)
    while (missing := total - shares.sum()) != 0:
        step = 1 if missing > 0 else -1
        can_move = shares < most if step > 0 else shares > 1
        shares[np.where(can_move, step * (exact - shares), -np.inf).argmax()] += step
    return shares
