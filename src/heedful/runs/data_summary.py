"""The summary of a run's data, which `result.json` records."""

from collections.abc import Sequence

import numpy as np

from heedful.data.source import Source
from heedful.data.trained_texts import TrainedTexts, find_trained
from heedful.runs.result import Data, SplitSummary

QUANTILES = {"min": 0.0, "median": 0.5, "95 %": 0.95, "max": 1.0}  # of the lengths of texts


def summarize_data(
    data: Source, trained_texts: Sequence[TrainedTexts | None], has_vector: np.ndarray | None = None
) -> Data:
    """Describe the data of a run from the cached arrays, without a loop over the texts.

    Args:
        trained_texts: of each model that the run trains or evaluates; None if they are unknown.
        has_vector: whether each token in the vocabulary has a pretrained vector; None if the model uses no pretrained
            vectors.
    """
    majority = data.task.majority(data.class_counts)
    return Data(
        data.data_fingerprint,
        tuple(data.class_names),
        len(data.vocabulary),
        **data.sizes,
        max_length=data.truncation.max_length,
        batch_size=data.batch_size,
        majority_class=None if majority is None else data.class_names[majority],
        vectors=None if has_vector is None else int(has_vector.sum()),
        folds=data.splitting.folds,
        fold=data.splitting.fold,
        dropped=data.dropped,
        conflicts=data.conflicts,
        columns={column.name: column.describe() for column in data.codec.columns},
        files={split: tuple(map(str, paths)) for split, paths in data.opener.files.items()},
        splits={split: _summarize_split(data, split, trained_texts, has_vector) for split in data.sizes},
    )


def _summarize_split(
    data: Source, name: str, trained_texts: Sequence[TrainedTexts | None], has_vector: np.ndarray | None
) -> SplitSummary:
    split, unknown_id = data.tokenized(name), data.codec.tokenizer.unknown_id
    class_counts, majority = data.count_classes(name), data.task.majority(data.class_counts)
    lengths = np.diff(split.offsets)
    excess = np.maximum(lengths - data.truncation.max_length, 0)
    quantiles = np.quantile(lengths, list(QUANTILES.values()), method="inverted_cdf")
    tokens = max(len(split.tokens), 1)
    digests = split.digests, split.token_digests
    found = None if name == "train" else find_trained(*digests, trained_texts)
    in_train, checked = (None, None) if found is None else (int(part.sum()) for part in found)
    return SplitSummary(
        texts=len(lengths),
        class_counts=dict(zip(data.class_names, class_counts, strict=True)),
        majority_accuracy=None if majority is None else class_counts[majority] / len(lengths),
        tokens=len(split.tokens),
        lengths=dict(zip(QUANTILES, quantiles.tolist(), strict=True)),
        cut_texts=int(np.count_nonzero(excess)),
        cut_share=int(excess.sum()) / tokens,
        unknown_share=0.0 if unknown_id is None else int(split.counts[unknown_id]) / tokens,
        vector_share=None if has_vector is None else int(split.counts[has_vector].sum()) / tokens,
        duplicates=len(lengths) - len(np.unique(split.digests)),
        in_train=in_train,
        checked=checked,
        missing={column: coverage.missing for column, coverage in data.coverage.get(name, {}).items()},
        unseen={column: coverage.unseen for column, coverage in data.coverage.get(name, {}).items()},
    )
