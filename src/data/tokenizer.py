"""Tokenizers: text to token ids and words, with the `tokenizers` library (Rust, all cores)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from rich.console import Console
from rich.progress import track
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers

from src.data.batching import PAD_ID
from src.data.files import content_hash, existing_file, read_text
from src.data.glove import bundled_words
from src.data.hub import connection
from src.data.paths import local_path
from src.errors import UserError

PAD, UNKNOWN = "<pad>", "<unk>"  # ids 0 and 1 of every vocabulary
UNKNOWN_ID = 1
MOST_IDS = 1 << 24  # in a vocabulary, gaps included
PROBE = "A film, it\u2019s good:<br />not b\u00e4d 1 \u0378"  # covers the patterns
BLOCK = 1000  # texts encoded together: limits memory and advances the progress bar
LINE_BREAK = Regex(r"<br\s*/?>")
WORD = Regex(r"\w+(?:['\x{2019}]\w+)*|[^\w\s]")  # x2019 is the typographic apostrophe


class Tokenizer:
    """A trained tokenizer. Id 0 is padding, which no text contains; id 1 is an unknown word.

    If ids 0 and 1 of a pretrained model have other meanings, all of its ids are shifted up by two (`shift`).
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        self._backend = backend
        self._backend.no_truncation()
        self._backend.no_padding()
        has_reserved_ids = backend.token_to_id(PAD) == PAD_ID and backend.token_to_id(UNKNOWN) == UNKNOWN_ID
        self.shift = 0 if has_reserved_ids else 2

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The token of each id."""
        ids = self._backend.get_vocab()
        size = max(ids.values(), default=-1) + 1
        if not 0 < size <= MOST_IDS:
            raise ValueError(f"its ids go up to {size - 1:,}: must be between 0 and {MOST_IDS - 1:,}")
        tokens = [""] * size  # the ids of a pretrained model may have gaps
        for token, i in ids.items():
            tokens[i] = token
        return (PAD, UNKNOWN, *tokens) if self.shift else tuple(tokens)

    def encode(self, texts: Sequence[str], progress: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Encode texts, without truncation and without the special tokens of a model.

        Returns:
            Flat tokens int32, and offsets n+1 int64: text i is `tokens[offsets[i]:offsets[i + 1]]`.
        """
        return self._flat(
            np.asarray(encoding.ids, dtype=np.int32)
            for block in _blocks(texts, "Tokenizing", progress)
            for encoding in _encodings(self._backend.encode_batch_fast, block)
        )

    def read(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Encode texts, and return also each token's original spelling in its text."""
        words: list[str] = []

        def ids() -> Iterator[np.ndarray]:
            for block in _blocks(texts, "Tokenizing", progress=False):
                encodings = _encodings(self._backend.encode_batch, block)
                for text, encoding in zip(block, encodings, strict=True):
                    words.extend(text[start:stop].strip() for start, stop in encoding.offsets)
                    yield np.asarray(encoding.ids, dtype=np.int32)

        return *self._flat(ids()), words

    def _flat(self, texts: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Concatenate the ids of all texts, shifted, and return them with the offsets of the texts."""
        ids = list(texts)
        lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        tokens = np.concatenate([*ids, np.empty(0, dtype=np.int32)]) + np.int32(self.shift)
        np.maximum(tokens, UNKNOWN_ID, out=tokens)  # a text may contain "<pad>" literally
        return tokens, np.concatenate([[0], lengths.cumsum()])

    def around(self) -> tuple[list[int], list[int]]:
        """The special tokens that the model adds before and after a text, such as [CLS] and [SEP].

        Returns:
            Ids of the model, without `shift`.
        """
        encoding = self._backend.encode("a", add_special_tokens=True)
        special = encoding.special_tokens_mask
        prefix = special.index(0) if 0 in special else len(special)
        suffix = special[::-1].index(0) if 0 in special else 0
        return encoding.ids[:prefix], encoding.ids[len(special) - suffix :]

    def to_json(self) -> str:
        """Serialize the tokenizer."""
        return self._backend.to_str()

    @classmethod
    def from_json(cls, json: str) -> "Tokenizer":
        """The inverse of `to_json`.

        Raises:
            ValueError: if it is not a tokenizer, or cannot encode a text.
        """
        try:
            tokenizer = cls(tokenizers.Tokenizer.from_str(json))
            tokenizer.read([PROBE, ""])
            tokenizer.around()
            assert tokenizer.vocabulary
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the library raises Exception, and for a panic BaseException
            raise ValueError(f"tokenizer: cannot be used ({str(error)[:200]})") from error
        return tokenizer


class TokenizerBuilder(ABC):
    """The options of a tokenizer, from which it is trained or loaded."""

    @abstractmethod
    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        """Train on `texts`, those of the training split alone."""

    def fingerprint(self) -> str:
        """A string that changes whenever `train` would return another tokenizer for the same texts."""
        return repr(self)


@dataclass(frozen=True, kw_only=True)
class _Learned(TokenizerBuilder, ABC):
    """Splits texts at a pattern and learns a vocabulary of the most frequent pieces.

    Args:
        vocab_size: largest number of tokens, padding and unknown included (≥ 3).
        min_frequency: rarer tokens are unknown (≥ 1).
        lowercase: convert letters to lower case.
    """

    vocab_size: int = 30_000
    min_frequency: int = 2
    lowercase: bool = True

    def __post_init__(self) -> None:
        if self.vocab_size < 3:
            raise ValueError(f"vocab_size={self.vocab_size}: must be at least 3: {PAD}, {UNKNOWN} and a token")
        if self.min_frequency < 1:
            raise ValueError(f"min_frequency={self.min_frequency}: must be at least 1")

    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        model, trainer = self._model_and_trainer()
        backend = tokenizers.Tokenizer(model)
        replacements: list[normalizers.Normalizer] = [normalizers.Replace(LINE_BREAK, " ")]
        backend.normalizer = normalizers.Sequence(replacements + [normalizers.Lowercase()] * self.lowercase)
        backend.pre_tokenizer = self._pre_tokenizer()
        backend.train_from_iterator(_blocks(texts, "Learning the vocabulary", progress), trainer)
        return Tokenizer(backend)

    def _pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        return pre_tokenizers.Split(WORD, "removed", invert=True)

    @abstractmethod
    def _model_and_trainer(self) -> tuple[models.Model, trainers.Trainer]: ...

    def _options(self) -> dict[str, Any]:
        return {
            "vocab_size": self.vocab_size,
            "min_frequency": self.min_frequency,
            "special_tokens": [PAD, UNKNOWN],
            "show_progress": False,
        }


@dataclass(frozen=True, kw_only=True)
class Word(_Learned):
    """Words with their inner apostrophes, and single punctuation marks: *don't* is one token, *good!* two.

    Args:
        glove_words: add all words of the bundled GloVe vectors, beyond `vocab_size`, so that new texts use their
            vectors even for words that no training text has.
    """

    glove_words: bool = False

    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        learned = super().train(texts, progress)
        if not self.glove_words:
            return learned
        words = dict.fromkeys([*learned.vocabulary, *bundled_words()])
        backend = tokenizers.Tokenizer.from_str(learned.to_json())
        backend.model = models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=UNKNOWN)
        return Tokenizer(backend)

    def _model_and_trainer(self) -> tuple[models.Model, trainers.Trainer]:
        return models.WordLevel(unk_token=UNKNOWN), trainers.WordLevelTrainer(**self._options())


@dataclass(frozen=True, kw_only=True)
class Whitespace(Word):
    """Pieces between white space, punctuation included: for texts that are already tokenized."""

    def _pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        return pre_tokenizers.WhitespaceSplit()


@dataclass(frozen=True, kw_only=True)
class Bpe(_Learned):
    """Byte-pair encoding: most frequent pairs merged first (Sennrich et al., 2016); `</w>` ends a word."""

    def _model_and_trainer(self) -> tuple[models.Model, trainers.Trainer]:
        trainer = trainers.BpeTrainer(**self._options(), end_of_word_suffix="</w>")
        return models.BPE(unk_token=UNKNOWN, end_of_word_suffix="</w>"), trainer


@dataclass(frozen=True, kw_only=True)
class WordPiece(_Learned):
    """Longest known pieces of words from the left (Schuster and Nakajima, 2012); `##` continues a word."""

    def _model_and_trainer(self) -> tuple[models.Model, trainers.Trainer]:
        return models.WordPiece(unk_token=UNKNOWN), trainers.WordPieceTrainer(**self._options())


@dataclass(frozen=True)
class Pretrained(TokenizerBuilder):
    """The unchanged tokenizer of a pretrained model.

    Args:
        name_or_path: a `tokenizer.json`, a folder that contains one, or the name of a model on the hub. It is a path
            if it exists or looks like one (`./…`, `/…`, `~…`, `….json`).
    """

    name_or_path: str

    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        path = self._path() or self._download()
        json = read_text(path, f"data.tokenizer.name_or_path={path}")
        try:
            backend = tokenizers.Tokenizer.from_str(json)
        except Exception as error:  # the library raises plain Exception
            raise UserError(f"data.tokenizer.name_or_path: {path} is not a tokenizer.json ({error})") from None
        ids = backend.get_vocab().values()
        if not ids:
            raise UserError(f"data.tokenizer.name_or_path: {path} has an empty vocabulary; give another tokenizer")
        if max(ids) >= MOST_IDS:
            raise UserError(
                f"data.tokenizer.name_or_path: {path} has a token with id {max(ids):,}, and so large a vocabulary "
                "exceeds any memory; check that the file is not damaged"
            )
        return Tokenizer(backend)

    def fingerprint(self) -> str:
        path = self._path()
        return f"{self!r} {content_hash([path]) if path else ''}"

    def _path(self) -> Path | None:
        path = local_path(self.name_or_path, "data.tokenizer.name_or_path")
        if path is None:
            return None
        return existing_file(path / "tokenizer.json" if path.is_dir() else path, "data.tokenizer.name_or_path")

    def _download(self) -> Path:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError

        with connection() as online:
            try:
                return Path(hf_hub_download(self.name_or_path, "tokenizer.json"))
            except (OSError, HfHubHTTPError, HFValidationError) as error:
                reason = str(error).splitlines()[0] if online else "the hub does not respond and there is no local copy"
                raise UserError(
                    f"data.tokenizer.name_or_path={self.name_or_path}: no such file or folder, and {reason}. Set "
                    "the path of a tokenizer.json, or the exact name of a model on the hub"
                ) from None


@dataclass(frozen=True)
class Trained(TokenizerBuilder):
    """The tokenizer of a trained model, for reading new texts."""

    tokenizer: Tokenizer

    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        return self.tokenizer

    def fingerprint(self) -> str:
        return self.tokenizer.to_json()


def _encodings(encode_batch: Callable[..., list[tokenizers.Encoding]], texts: list[str]) -> list[tokenizers.Encoding]:
    """Encode `texts` with one of the two functions of the library.

    Raises:
        UserError: if a pretrained tokenizer has no token for an unknown word or letter.
    """
    try:
        return encode_batch(texts, add_special_tokens=False)
    except Exception as error:
        if type(error) is not Exception:  # the library raises plain Exception for its own errors
            raise
        raise UserError(f"the tokenizer cannot encode a text ({error}); choose one with an unknown token") from None


def _blocks(texts: Sequence[str], description: str, progress: bool) -> Iterator[list[str]]:
    """The texts in lists of `BLOCK`, under a progress bar on standard error."""
    console = Console(stderr=True)
    is_hidden = not (progress and console.is_terminal)
    for start in track(range(0, len(texts), BLOCK), description, console=console, transient=True, disable=is_hidden):
        yield list(texts[start : start + BLOCK])
