"""The embedding of n-grams, compared with dictionaries instead of hashed rows."""

from typing import Any

import pytest
import torch
from torch import Tensor

from heedful.data.padded_batches import Inputs
from heedful.models.embedding.ngrams import NgramEmbedding

VOCABULARY = ("<pad>", "<unk>", *(f"word{i}" for i in range(11)))
TOKENS = torch.tensor([[2, 3, 4, 3, 4], [5, 2, 3, 0, 0]])
INPUTS = Inputs(TOKENS, TOKENS > 0)


def build_embedding(**options: Any) -> NgramEmbedding:
    torch.manual_seed(0)
    embedding = NgramEmbedding(VOCABULARY, **{"dim": 7, "max_order": 3, "buckets": 1_000_003, **options}).double()
    with torch.no_grad():
        embedding.table.weight.normal_()
    return embedding


def ngrams(row: Tensor, order: int) -> list[tuple[int, ...]]:
    """The n-gram of this order that ends at each token; padding precedes the text."""
    padded = [0] * (order - 1) + row.tolist()
    return [tuple(padded[i : i + order]) for i in range(len(row))]


def test_the_output_of_a_token_is_the_sum_of_the_vectors_of_ngrams_that_end_there() -> None:
    embedding = build_embedding()
    rows = embedding.rows(TOKENS)
    rows_by_ngram: dict[tuple[int, ...], set[int]] = {}
    for n, row in enumerate(TOKENS):
        for order in (1, 2, 3):
            for index, ngram in enumerate(ngrams(row, order)):
                rows_by_ngram.setdefault(ngram, set()).add(int(rows[n, index, order - 1]))
    assert all(len(ngram_rows) == 1 for ngram_rows in rows_by_ngram.values())  # equal n-grams have the same row
    assert len(set.union(*rows_by_ngram.values())) == len(rows_by_ngram)  # different n-grams have different rows
    assert all(rows_by_ngram[word,] == {word} for word in (2, 3, 4, 5))
    assert min(min(ngram_rows) for ngram, ngram_rows in rows_by_ngram.items() if len(ngram) > 1) >= len(VOCABULARY)

    out = embedding(INPUTS)
    for n, row in enumerate(TOKENS):
        for index in range(len(row)):
            token_rows = [min(rows_by_ngram[ngrams(row, order)[index]]) for order in (1, 2, 3)]
            expected = embedding.table.weight[token_rows].sum(0) * INPUTS.mask[n, index]
            assert torch.allclose(out[n, index], expected, rtol=0, atol=1e-12)


def test_hashed_rows_are_spread_evenly() -> None:
    """χ² of 40,000 bigrams in 97 rows lies in the range of random rows, 96 ± 4 √192."""
    embedding = NgramEmbedding(range(300), dim=1, buckets=97)  # type: ignore[arg-type]
    first, second = torch.meshgrid(torch.arange(100, 300), torch.arange(50, 250), indexing="ij")
    rows = embedding.rows(torch.stack([first.flatten(), second.flatten()], 1))[:, 1, 1] - 300
    counts = torch.bincount(rows, minlength=97).double()
    expected = 40_000 / 97
    assert counts.sum() == 40_000
    assert ((counts - expected) ** 2 / expected).sum().item() == pytest.approx(96, abs=4 * 192**0.5)


def test_rows_of_longer_ngrams_are_initially_zero() -> None:
    embedding = NgramEmbedding(VOCABULARY, dim=7, max_order=2, buckets=101)
    assert embedding.table.weight[len(VOCABULARY) :].abs().sum() == 0
    assert torch.equal(embedding(INPUTS)[0], embedding.table.weight[TOKENS[0]])


def test_sparse_gradients_equal_dense_gradients() -> None:
    gradients = []
    for sparse in (False, True):
        embedding = build_embedding(sparse=sparse, buckets=211)
        embedding(INPUTS).square().sum().backward()
        assert embedding.table.weight.grad.is_sparse is sparse
        gradients.append(embedding.table.weight.grad.to_dense())
    assert torch.allclose(*gradients, rtol=0, atol=1e-12)


def test_a_dropped_word_is_also_unknown_in_its_ngrams() -> None:
    embedding = build_embedding(word_dropout=0.999999).train()
    assert torch.equal(embedding(INPUTS), embedding.eval()(INPUTS._replace(ids=torch.ones_like(TOKENS))))


def test_binary_counts_an_ngram_at_its_first_occurrence_only() -> None:
    plain, binary = build_embedding(), build_embedding(binary=True)
    binary.load_state_dict(plain.state_dict())
    out = binary(INPUTS)
    rows = plain.rows(TOKENS)
    for n, row in enumerate(TOKENS):
        previous: set[tuple[int, ...]] = set()
        for position in range(len(row)):
            ngrams_at_position = [ngrams(row, order)[position] for order in (1, 2, 3)]
            new_orders = [order for order, ngram in enumerate(ngrams_at_position) if ngram not in previous]
            previous.update(ngrams_at_position)
            expected = plain.table.weight[rows[n, position, new_orders]].sum(0) * INPUTS.mask[n, position]
            assert torch.allclose(out[n, position], expected, rtol=0, atol=1e-12)
