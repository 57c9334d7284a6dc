"""The n-grams of texts, of tokens and of characters, as hashed codes."""

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from heedful.data.padded_batches import Inputs

BASE = 0x2545F4914F6CDD1D  # odd, so that multiplication by it is invertible modulo 2⁶⁴
MAX_ORDER = 64  # limit of max_order, because the time grows with max_order
ABSENT = 2**31 - 1  # in place of the code of an n-gram
# added to codes, so that pairs with a gap, n-grams of a zone, and those of the second text of a pair have other codes
GAP, ZONE, SECOND = 0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35
CHARACTERS, LONGEST = range(2, 6), 20  # in an n-gram of characters, and in the part of a token that has such n-grams


class Features(NamedTuple):
    """The distinct n-grams of n texts: those of text i are `ngrams[offsets[i]:offsets[i + 1]]`."""

    ngrams: np.ndarray  # int32, codes or rows of the table
    offsets: np.ndarray  # n+1 int64
    weights: np.ndarray | None = None  # n, the weights of the texts, whose mean is 1

    def of(self, rows: np.ndarray) -> "Features":
        """Return the n-grams of some of the texts."""
        parts = [self.ngrams[start:end] for start, end in zip(self.offsets[rows], self.offsets[rows + 1], strict=True)]
        weights = None if self.weights is None else self.weights[rows]
        return Features(np.concatenate(parts), np.cumsum([0, *map(len, parts)]), weights)

    def counts(self, size: int, texts: np.ndarray | None = None) -> np.ndarray:
        """Return the sum of the weights of the texts (or of some, n bool) with each of `size` n-grams."""
        sizes = np.diff(self.offsets)
        selected = slice(None) if texts is None else np.repeat(texts, sizes)
        weights = None if self.weights is None else np.repeat(self.weights, sizes)[selected]
        return np.bincount(self.ngrams[selected], weights, minlength=size)


class Ngrams(NamedTuple):
    """The n-grams of one kind in N texts, F for each text."""

    codes: Tensor  # N×F int64
    shown: Tensor  # N×F bool, False for padding
    ends: Tensor  # N×F int64, the position of the last token
    distances: Sequence[int]  # from the last token to each token of the n-gram


def join_codes(kinds: Sequence[Ngrams]) -> Tensor:
    """Return the hashed codes of all n-grams, and ABSENT for padding: N×F int32."""
    codes = shift_right(mix_bits(torch.cat([kind.codes for kind in kinds], 1)), 32)
    shown = torch.cat([kind.shown for kind in kinds], 1)
    return codes.int().masked_fill(~shown, ABSENT)  # of a million n-grams, one in 4,000 shares its code with another


def is_new(ordered: Tensor) -> Tensor:
    """Return whether each of the sorted numbers N×F differs from the one before it."""
    return functional.pad(ordered[:, 1:] != ordered[:, :-1], (1, 0), value=True)


def character_codes(vocabulary: Sequence[str]) -> Tensor:
    """Return the hashed codes of the n-grams of the characters of each token, V×P int32; ABSENT is padding.

    A token is a word between two spaces, as for scikit-learn's `char_wb`; the first two tokens are no words.
    """
    pieces: list[list[int]] = []
    for token in vocabulary:
        word, grams = f" {token[:LONGEST]} ", set[str]()
        for size in CHARACTERS if len(pieces) > 1 and token else ():
            grams.update(word[start : start + size] for start in range(max(len(word) - size, 0) + 1))
        pieces.append(sorted(zlib.crc32(f"#{gram}".encode()) - 2**31 for gram in grams))
    width = max(map(len, pieces), default=0)
    return torch.tensor([[*codes, *[ABSENT] * (width - len(codes))] for codes in pieces], dtype=torch.int32)


def of_tokens(inputs: Inputs, pieces: Tensor, absent: int) -> Tensor:
    """Return the n-grams of characters of texts, N×LP, from those of each token; `absent` is that of padding."""
    return pieces[inputs.ids].masked_fill(~inputs.mask.unsqueeze(-1), absent).flatten(1)


def word_ngrams(
    inputs: Inputs, max_order: int, max_gap: int = 0, head: int = 0, tails: Sequence[int] = ()
) -> list[Ngrams]:
    """Return the n-grams of the tokens of texts by kind, as the options of `NgramBranch` describe them."""
    tokens, mask, *_ = inputs
    second = torch.zeros_like(tokens) if inputs.segments is None else inputs.segments * SECOND
    codes = ngram_codes(tokens, max_order) + second.unsqueeze(-1)  # N×L×O
    ends = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)  # N×L
    kinds = [Ngrams(codes[..., order], mask, ends, range(order + 1)) for order in range(max_order)]
    for gap in range(1, max_gap + 1):
        before = functional.pad(tokens, (gap + 1, 0))[:, : tokens.shape[1]]
        pairs = before * BASE + tokens + gap * GAP + second
        kinds.append(Ngrams(pairs, mask & (ends > gap), ends, (0, gap + 1)))
    length = mask.sum(1, keepdim=True)  # N×1
    starts = [(torch.zeros_like(length), head), *((length - tail, tail) for tail in tails)]
    for number, (start, size) in enumerate(starts, 1):
        if size:  # the same n-gram in a zone is another feature
            positions = start + torch.arange(size, device=tokens.device)  # N×S
            inside = (positions >= 0) & (positions < length)
            positions = positions.clamp(0, tokens.shape[1] - 1)
            for order in range(max_order):
                found = codes[..., order].gather(1, positions) + number * ZONE
                kinds.append(Ngrams(found, inside, positions, range(order + 1)))
    return kinds


def ngram_codes(tokens: Tensor, max_order: int) -> Tensor:
    """Return a number for each of the n-grams that end with each token: N×L → N×L×max_order int64.

    The number of a single token is its id. Longer n-grams have hashes of 64 bits, which are as good as unique.
    """
    code, codes = tokens, [tokens]
    for shorter in range(1, max_order):
        previous = functional.pad(code, (1, 0), value=-shorter)[:, :-1]  # negative, unlike all token ids
        code = previous * BASE + tokens
        codes.append(mix_bits(code))
    return torch.stack(codes, -1)


def mix_bits(code: Tensor) -> Tensor:
    """Return a hash of each code int64, modulo 2⁶⁴."""
    mixed = exclusive_or(code, shift_right(code, 31)) * BASE
    return exclusive_or(mixed, shift_right(mixed, 29))


def shift_right(codes: Tensor, bits: int) -> Tensor:
    """Return the signed integers codes >> bits; ONNX shifts unsigned integers only."""
    if not torch.onnx.is_in_onnx_export():
        return codes >> bits
    return torch.div(codes - (codes & (2**bits - 1)), 2**bits, rounding_mode="trunc")


def exclusive_or(one: Tensor, other: Tensor) -> Tensor:
    """Return one ^ other, of which torch exports only the conjunction to ONNX."""
    return one + other - 2 * (one & other) if torch.onnx.is_in_onnx_export() else one ^ other


def first_occurrences(rows: Tensor) -> Tensor:
    """Return whether each row number occurs for the first time in its text: N×… → bool of this shape."""
    numbers = rows.flatten(1)  # N×LO
    size = numbers.shape[1]
    # the sort keys have no ties, because the exporters to ONNX do not support a stable sort
    order = (numbers * size + torch.arange(size, device=rows.device)).argsort()
    ordered = numbers.gather(1, order)
    is_first = torch.ones_like(ordered, dtype=torch.bool)
    is_first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return torch.empty_like(is_first).scatter_(1, order, is_first).view_as(rows)
