"""The trained tokenizer, which converts texts to token ids with the library `tokenizers` on all cores."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import tokenizers
from rich.console import Console
from rich.progress import track

from src.data.padded_batches import PAD_ID
from src.errors import UserError

PAD, UNKNOWN = "<pad>", "<unk>"  # ids 0 and 1 of every vocabulary
UNKNOWN_ID = 1
MAX_IDS = 1 << 24  # maximum number of ids in a vocabulary, including unused ids
PROBE = "A film, it\u2019s good:<br />not b\u00e4d 1 \u0378"  # for testing a loaded tokenizer
LONGEST = 1_000_000  # characters at each end of a text that are read
BLOCK = 1000  # number of texts encoded at a time, and between two updates of the progress bar


class Tokenizer:
    """A trained tokenizer. Id 0 is padding, and never occurs in an encoded text; id 1 is reserved for unknown words.

    If ids 0 and 1 of a pretrained tokenizer have other meanings, two (`shift`) is added to all of its ids. The
    tokenizer's own unknown token, if it has one, then stands for unknown words.
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        self._backend = backend
        self._backend.no_truncation()
        self._backend.no_padding()
        has_reserved_ids = backend.token_to_id(PAD) == PAD_ID and backend.token_to_id(UNKNOWN) == UNKNOWN_ID
        self.shift = 0 if has_reserved_ids else 2

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The tokens in the order of their ids; an unused id has an empty string."""
        ids = self._backend.get_vocab()
        size = max(ids.values(), default=-1) + 1
        if not 0 < size <= MAX_IDS:
            raise ValueError(f"the largest id is {size - 1:,}, but must be between 0 and {MAX_IDS - 1:,}")
        tokens = [""] * size  # the ids of a pretrained model may have gaps
        for token, i in ids.items():
            tokens[i] = token
        return (PAD, UNKNOWN, *tokens) if self.shift else tuple(tokens)

    @cached_property
    def unknown_id(self) -> int | None:
        """The id of unknown words; None for a pretrained tokenizer without such an id, such as byte-level BPE."""
        if not self.shift:
            return UNKNOWN_ID
        model = json.loads(self._backend.to_str())["model"]
        own = self._backend.token_to_id(model.get("unk_token") or "")
        own = model.get("unk_id") if own is None else own
        return None if own is None else own + self.shift

    def encode(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Encode texts, without truncation and without the special tokens of a model.

        Returns:
            Flat ids int32, and offsets n+1 int64: the ids of text i are `ids[offsets[i]:offsets[i + 1]]`.
        """
        return self._flat(encoding for block in text_blocks(texts) for encoding in self._encodings(block))

    def read(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Return ids and offsets as `encode` does, and the original spelling of each token in the text."""
        read = [text for block in text_blocks(texts) for text in block]
        encodings = [encoding for block in text_blocks(texts) for encoding in self._encodings(block, spans=True)]
        pairs = zip(read, encodings, strict=True)
        return *self._flat(encodings), [text[a:b].strip() for text, encoding in pairs for a, b in encoding.offsets]

    def spans(self, text: str) -> np.ndarray:
        """Return the index of each token's first character and the index after its last character, L×2 int64."""
        (encoding,) = self._encodings([text], spans=True)
        return np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)

    def _encodings(self, texts: list[str], spans: bool = False) -> list[tokenizers.Encoding]:
        encode_batch = self._backend.encode_batch if spans else self._backend.encode_batch_fast
        try:
            return encode_batch(texts, add_special_tokens=False)
        except BaseException as error:  # `tokenizers` raises plain Exception; a panic in Rust is a BaseException
            if type(error) is not Exception and type(error).__name__ != "PanicException":
                raise
            raise UserError(
                f"the tokenizer cannot encode a text ({str(error)[:200]}); choose a tokenizer with an unknown token, "
                "or another tokenizer"
            ) from None

    def _flat(self, encodings: Iterable[tokenizers.Encoding]) -> tuple[np.ndarray, np.ndarray]:
        """Add `shift` to the ids, and return flat ids and offsets as `encode` does."""
        ids = [np.asarray(encoding.ids, dtype=np.int32) for encoding in encodings]
        lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        tokens = np.concatenate([*ids, np.empty(0, dtype=np.int32)]) + np.int32(self.shift)
        np.maximum(tokens, UNKNOWN_ID, out=tokens)  # a text may contain "<pad>" literally
        return tokens, np.concatenate([[0], lengths.cumsum()])

    def special_ids(self) -> tuple[list[int], list[int]]:
        """Return the ids, without `shift`, of the special tokens that the model adds before and after a text."""
        encoding = self._backend.encode("a", add_special_tokens=True)
        special = encoding.special_tokens_mask
        prefix = special.index(0) if 0 in special else len(special)
        suffix = special[::-1].index(0) if 0 in special else 0
        return encoding.ids[:prefix], encoding.ids[len(special) - suffix :]

    def to_json(self) -> str:
        return self._backend.to_str()

    @classmethod
    def from_json(cls, json: str) -> "Tokenizer":
        """Return the tokenizer for a result of `to_json`; raise a ValueError if it cannot encode a text."""
        try:
            tokenizer = cls(tokenizers.Tokenizer.from_str(json))
            tokenizer.read([PROBE, ""])
            tokenizer.special_ids()
            assert tokenizer.vocabulary
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            raise ValueError(f"tokenizer: cannot be used ({str(error)[:200]})") from error
        return tokenizer


def text_blocks(texts: Sequence[str], description: str = "", progress: bool = False) -> Iterator[list[str]]:
    """Yield lists of up to `BLOCK` texts; if `progress` is set and stderr is a terminal, show a progress bar.

    Encoding takes 0.1 GB per million characters. Therefore only the first and the last `LONGEST` characters of a longer
    text are read, far more than the first or last tokens that a model uses, and a list of long texts is shorter.
    """
    console = Console(stderr=True)
    is_hidden = not (progress and console.is_terminal)
    for start in track(range(0, len(texts), BLOCK), description, console=console, transient=True, disable=is_hidden):
        block: list[str] = []
        size = 0
        for text in texts[start : start + BLOCK]:
            read = text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]} {text[-LONGEST:]}"
            if block and size + len(read) > 4 * LONGEST:
                yield block
                block, size = [], 0
            block.append(read)
            size += len(read)
        yield block
