"""Describe tokenized data before training: classes, lengths, truncation, unknown tokens and duplicates."""

import numpy as np

from src.data.datamodule import TextDataModule
from src.data.tokenized import SPLITS
from src.run_result import Data, SplitSummary

QUANTILES = {"min": 0.0, "median": 0.5, "95 %": 0.95, "max": 1.0}


def summarize_data(data: TextDataModule, has_vector: np.ndarray | None = None) -> Data:
    """Describe the data of a run from the cached arrays, without a loop over the texts.

    Args:
        data: data module after `setup`.
        has_vector: whether each token in the vocabulary has a pretrained vector; None if the model uses no pretrained
            vectors.
    """
    return Data(
        data.data_fingerprint,
        tuple(data.class_names),
        len(data.vocabulary),
        **data.sizes,
        max_length=data.truncation.max_length,
        majority_class=data.class_names[int(np.argmax(data.class_counts))],
        vectors=None if has_vector is None else int(has_vector.sum()),
        folds=data.splitting.folds,
        fold=data.splitting.fold,
        splits={split: _summarize(split, data, has_vector) for split in SPLITS},
    )


def _summarize(split: str, data: TextDataModule, has_vector: np.ndarray | None) -> SplitSummary:
    tokenized = data.tokenized(split)
    counts = np.bincount(tokenized.labels, minlength=len(data.class_names))
    lengths = np.diff(tokenized.offsets)
    excess = np.maximum(lengths - data.truncation.max_length, 0)
    unknown_id = data.codec.tokenizer.unknown_id
    quantiles = np.quantile(lengths, list(QUANTILES.values()), method="inverted_cdf")

    def share(tokens: int) -> float:
        return tokens / max(len(tokenized.tokens), 1)

    return SplitSummary(
        texts=len(lengths),
        class_counts=dict(zip(data.class_names, counts.tolist(), strict=True)),
        majority_accuracy=counts[int(np.argmax(data.class_counts))].item() / len(lengths),
        tokens=len(tokenized.tokens),
        lengths=dict(zip(QUANTILES, quantiles.tolist(), strict=True)),
        cut_texts=int(np.count_nonzero(excess)),
        cut_share=share(int(excess.sum())),
        unknown_share=share(0 if unknown_id is None else int(tokenized.counts[unknown_id])),
        vector_share=None if has_vector is None else share(int(tokenized.counts[has_vector].sum())),
        duplicates=len(lengths) - len(np.unique(tokenized.digests)),
        in_train=None if split == "train" else int(np.isin(tokenized.digests, data.tokenized("train").digests).sum()),
    )
