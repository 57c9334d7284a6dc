"""N-grams: which vectors a token gets, with dictionaries in place of hashed rows."""

from typing import Any

import pytest
import torch
from torch import Tensor

from src.models.embedding.ngrams import NgramEmbedding

VOCABULARY = ("<pad>", "<unk>", *(f"word{i}" for i in range(11)))
TOKENS = torch.tensor([[2, 3, 4, 3, 4], [5, 2, 3, 0, 0]])
MASK = TOKENS > 0


def embedding(**options: Any) -> NgramEmbedding:
    torch.manual_seed(0)
    made = NgramEmbedding(VOCABULARY, **{"dim": 7, "max_order": 3, "buckets": 1_000_003, **options}).double()
    with torch.no_grad():
        made.table.weight.normal_()
    return made


def ngrams(row: Tensor, order: int) -> list[tuple[int, ...]]:
    """That end at each token; padding stands before the text."""
    before = [0] * (order - 1) + row.tolist()
    return [tuple(before[i : i + order]) for i in range(len(row))]


def test_a_token_has_its_own_vector_and_those_of_the_ngrams_it_ends() -> None:
    made = embedding()
    rows = made.rows(TOKENS)
    numbered: dict[tuple[int, ...], set[int]] = {}
    for n, row in enumerate(TOKENS):
        for order in (1, 2, 3):
            for at, ngram in enumerate(ngrams(row, order)):
                numbered.setdefault(ngram, set()).add(int(rows[n, at, order - 1]))
    assert all(len(found) == 1 for found in numbered.values())  # the same n-gram, the same row
    assert len(set.union(*numbered.values())) == len(numbered)  # another n-gram, another row
    assert all(numbered[word,] == {word} for word in (2, 3, 4, 5))
    assert min(min(found) for ngram, found in numbered.items() if len(ngram) > 1) >= len(VOCABULARY)

    out = made(TOKENS, MASK)
    for n, row in enumerate(TOKENS):
        for at in range(len(row)):
            own = [min(numbered[ngrams(row, order)[at]]) for order in (1, 2, 3)]
            expected = made.table.weight[own].sum(0) * MASK[n, at]
            assert torch.allclose(out[n, at], expected, rtol=0, atol=1e-12)


def test_hashed_rows_are_spread_evenly() -> None:
    """χ² of 40,000 bigrams in 97 rows lies where chance puts it: 96 ± 4 √192."""
    made = NgramEmbedding(range(300), dim=1, buckets=97)  # type: ignore[arg-type]
    first, second = torch.meshgrid(torch.arange(100, 300), torch.arange(50, 250), indexing="ij")
    rows = made.rows(torch.stack([first.flatten(), second.flatten()], 1))[:, 1, 1] - 300
    counts = torch.bincount(rows, minlength=97).double()
    expected = 40_000 / 97
    assert counts.sum() == 40_000
    assert ((counts - expected) ** 2 / expected).sum().item() == pytest.approx(96, abs=4 * 192**0.5)


def test_what_training_never_showed_says_nothing() -> None:
    made = NgramEmbedding(VOCABULARY, dim=7, max_order=2, buckets=101)
    assert made.table.weight[len(VOCABULARY) :].abs().sum() == 0
    assert torch.equal(made(TOKENS, MASK)[0], made.table.weight[TOKENS[0]])


def test_order_one_is_words_alone() -> None:
    made = embedding(max_order=1)
    assert made.table.weight.shape == (len(VOCABULARY), 7)
    assert torch.equal(made(TOKENS, MASK)[0], made.table.weight[TOKENS[0]])


def test_sparse_gradients_are_the_dense_ones() -> None:
    gradients = []
    for sparse in (False, True):
        made = embedding(sparse=sparse, buckets=211)
        made(TOKENS, MASK).square().sum().backward()
        assert made.table.weight.grad is not None
        assert made.table.weight.grad.is_sparse is sparse
        gradients.append(made.table.weight.grad.to_dense())
    assert torch.allclose(*gradients, rtol=0, atol=1e-12)


def test_a_dropped_word_is_unknown_in_its_ngrams_too() -> None:
    made = embedding(word_dropout=0.999999).train()
    assert torch.equal(made(TOKENS, MASK), made.eval()(torch.ones_like(TOKENS), MASK))


def test_binary_counts_an_ngram_at_its_first_occurrence_only() -> None:
    made, counting = embedding(), embedding(binary=True)
    counting.load_state_dict(made.state_dict())
    out = counting(TOKENS, MASK)
    rows = made.rows(TOKENS)
    for n, row in enumerate(TOKENS):
        seen: set[tuple[int, ...]] = set()
        for place in range(len(row)):
            ends = [ngrams(row, order)[place] for order in (1, 2, 3)]
            new = [order for order, ngram in enumerate(ends) if ngram not in seen]
            seen.update(ends)
            expected = made.table.weight[rows[n, place, new]].sum(0) * MASK[n, place]
            assert torch.allclose(out[n, place], expected, rtol=0, atol=1e-12)
    assert torch.equal(out[0, :3], made(TOKENS, MASK)[0, :3])  # nothing is repeated in the first three tokens
    assert not torch.equal(out[0, 3:], made(TOKENS, MASK)[0, 3:])  # words 3 and 4, and the bigram 3 4, are


def test_binary_gradients_reach_first_occurrences_only() -> None:
    made = embedding(binary=True, sparse=True)
    made(TOKENS[:1], MASK[:1]).sum().backward()
    assert made.table.weight.grad is not None
    gradient = made.table.weight.grad.to_dense()
    assert torch.equal(gradient[[2, 3, 4]], torch.ones(3, 7, dtype=torch.float64))  # words 3 and 4 occur twice
    assert gradient.sum() == 7 * 12  # of 15 n-grams, words 3 and 4 and the bigram 3 4 are repeated


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_order": 0}, r"max_order=0 must lie in \[1, 64\]"),
        ({"buckets": 0}, "buckets=0 must be at least 1"),
        ({"init_std": -1.0}, "init_std=-1.0 must not be negative"),
    ],
)
def test_an_option_outside_its_range_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        NgramEmbedding(VOCABULARY, **options)
