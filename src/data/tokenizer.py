"""Text to token ids and back to words, on the `tokenizers` library (Rust, all cores)."""

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
from src.data.files import content_hash, existing_file, local, read_text
from src.data.glove import bundled_words
from src.data.hub import connection
from src.errors import UserError

PAD, UNKNOWN = "<pad>", "<unk>"  # ids 0 and 1 of every vocabulary
UNKNOWN_ID = 1
MOST_IDS = 1 << 24  # of a vocabulary, gaps included
PROBE = "A film, it\u2019s good:<br />not b\u00e4d 1 \u0378"  # with what patterns act on, and an unknown word
BLOCK = 1000  # texts encoded at a time: bounds memory, and feeds the progress bar
LINE_BREAK = Regex(r"<br\s*/?>")
WORD = Regex(r"\w+(?:['\x{2019}]\w+)*|[^\w\s]")  # x2019 is the typographic apostrophe


class Tokenizer:
    """A trained tokenizer. Id 0 is padding, which no text contains, and id 1 an unknown word.

    A pretrained model's ids, where 0 and 1 mean something else, are all moved up by two, its `shift`, to keep that
    promise.
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        self._backend = backend
        self._backend.no_truncation()
        self._backend.no_padding()
        ours = backend.token_to_id(PAD) == PAD_ID and backend.token_to_id(UNKNOWN) == UNKNOWN_ID
        self.shift = 0 if ours else 2

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The token of each id."""
        ids = self._backend.get_vocab()
        size = max(ids.values(), default=-1) + 1
        if not 0 < size <= MOST_IDS:
            raise ValueError(f"its ids go up to {size - 1:,}: must be between 0 and {MOST_IDS - 1:,}")
        tokens = [""] * size  # a pretrained model's ids may have gaps
        for token, i in ids.items():
            tokens[i] = token
        return (PAD, UNKNOWN, *tokens) if self.shift else tuple(tokens)

    def encode(self, texts: Sequence[str], progress: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """All tokens of all texts, untruncated and without a model's special tokens.

        Returns:
            Flat tokens int32, and offsets n+1 int64: text i is `tokens[offsets[i]:offsets[i + 1]]`.
        """
        return self._flat(
            np.asarray(encoding.ids, dtype=np.int32)
            for block in _blocks(texts, "Tokenizing", progress)
            for encoding in _encodings(self._backend.encode_batch_fast, block)
        )

    def read(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """As `encode`, and what each token looks like in its text: its own letters and case, whether known or not."""
        words: list[str] = []

        def ids() -> Iterator[np.ndarray]:
            for block in _blocks(texts, "Tokenizing", progress=False):
                encodings = _encodings(self._backend.encode_batch, block)
                for text, encoding in zip(block, encodings, strict=True):
                    words.extend(text[start:stop].strip() for start, stop in encoding.offsets)
                    yield np.asarray(encoding.ids, dtype=np.int32)

        return *self._flat(ids()), words

    def _flat(self, texts: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The model's ids of each text as our tokens, one text after another, and where each begins and ends."""
        ids = list(texts)
        lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        tokens = np.concatenate([*ids, np.empty(0, dtype=np.int32)]) + np.int32(self.shift)
        np.maximum(tokens, UNKNOWN_ID, out=tokens)  # a text may spell out "<pad>"
        return tokens, np.concatenate([[0], lengths.cumsum()])

    def around(self) -> tuple[list[int], list[int]]:
        """The special tokens that the model puts before and behind a text, such as [CLS] and [SEP].

        As ids of the model, without `shift`.
        """
        encoding = self._backend.encode("a", add_special_tokens=True)
        special = encoding.special_tokens_mask
        before = special.index(0) if 0 in special else len(special)
        behind = special[::-1].index(0) if 0 in special else 0
        return encoding.ids[:before], encoding.ids[len(special) - behind :]

    def to_json(self) -> str:
        """Everything about it, as text."""
        return self._backend.to_str()

    @classmethod
    def from_json(cls, json: str) -> "Tokenizer":
        """The inverse of `to_json`.

        Raises:
            ValueError: if it is no tokenizer, or one that cannot read a text.
        """
        try:
            tokenizer = cls(tokenizers.Tokenizer.from_str(json))
            tokenizer.read([PROBE, ""])
            tokenizer.around()
            assert tokenizer.vocabulary
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the library raises nothing narrower, and for a panic no Exception
            raise ValueError(f"tokenizer: cannot be used ({str(error)[:200]})") from error
        return tokenizer


class TokenizerBuilder(ABC):
    """Options of a tokenizer that is yet to learn its vocabulary."""

    @abstractmethod
    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        """Learn from `texts`, which are the training split's alone."""

    def fingerprint(self) -> str:
        """Changes whenever `train` would give something else for the same texts."""
        return repr(self)


@dataclass(frozen=True, kw_only=True)
class _Learned(TokenizerBuilder, ABC):
    """Splits texts at a pattern and learns a vocabulary of the pieces, most frequent first.

    Args:
        vocab_size: largest number of tokens, padding and unknown included (≥ 3).
        min_frequency: rarer ones are unknown (≥ 1).
        lowercase: whether letters' case is dropped.
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
        model, trainer = self._parts()
        backend = tokenizers.Tokenizer(model)
        clean: list[normalizers.Normalizer] = [normalizers.Replace(LINE_BREAK, " ")]
        backend.normalizer = normalizers.Sequence(clean + [normalizers.Lowercase()] * self.lowercase)
        backend.pre_tokenizer = self._pieces()
        backend.train_from_iterator(_blocks(texts, "Learning the vocabulary", progress), trainer)
        return Tokenizer(backend)

    def _pieces(self) -> pre_tokenizers.PreTokenizer:
        return pre_tokenizers.Split(WORD, "removed", invert=True)

    @abstractmethod
    def _parts(self) -> tuple[models.Model, trainers.Trainer]: ...

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
        glove_words: know the words of the bundled GloVe vectors besides, whatever `vocab_size`, so that a new text's
            words find their vectors even where no training text has them.
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

    def _parts(self) -> tuple[models.Model, trainers.Trainer]:
        return models.WordLevel(unk_token=UNKNOWN), trainers.WordLevelTrainer(**self._options())


@dataclass(frozen=True, kw_only=True)
class Whitespace(Word):
    """Whatever stands between white space, punctuation included: for texts that are tokenized already."""

    def _pieces(self) -> pre_tokenizers.PreTokenizer:
        return pre_tokenizers.WhitespaceSplit()


@dataclass(frozen=True, kw_only=True)
class Bpe(_Learned):
    """Byte-pair encoding: most frequent pairs merged first (Sennrich et al., 2016); `</w>` ends a word."""

    def _parts(self) -> tuple[models.Model, trainers.Trainer]:
        trainer = trainers.BpeTrainer(**self._options(), end_of_word_suffix="</w>")
        return models.BPE(unk_token=UNKNOWN, end_of_word_suffix="</w>"), trainer


@dataclass(frozen=True, kw_only=True)
class WordPiece(_Learned):
    """Longest known pieces of words from the left (Schuster and Nakajima, 2012); `##` continues a word."""

    def _parts(self) -> tuple[models.Model, trainers.Trainer]:
        return models.WordPiece(unk_token=UNKNOWN), trainers.WordPieceTrainer(**self._options())


@dataclass(frozen=True)
class Pretrained(TokenizerBuilder):
    """A pretrained model's own tokenizer, as it is.

    Args:
        name_or_path: a `tokenizer.json`, a folder that holds one, or a model's name on the hub. What exists
            here is a path, and so is what looks like one (`./…`, `/…`, `~…`, `….json`).
    """

    name_or_path: str

    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        path = self._path() or self._download()
        json = read_text(path, f"data.tokenizer.name_or_path={path}")
        try:
            backend = tokenizers.Tokenizer.from_str(json)
        except Exception as error:  # the library raises nothing narrower
            raise UserError(f"data.tokenizer.name_or_path: {path} is no tokenizer.json ({error})") from None
        ids = backend.get_vocab().values()
        if not ids:
            raise UserError(f"data.tokenizer.name_or_path: {path} has an empty vocabulary; give another tokenizer")
        if max(ids) >= MOST_IDS:
            raise UserError(
                f"data.tokenizer.name_or_path: {path} numbers a token {max(ids):,}, and a vocabulary of as many rows "
                "fits no memory; is the file damaged?"
            )
        return Tokenizer(backend)

    def fingerprint(self) -> str:
        path = self._path()
        return f"{self!r} {content_hash([path]) if path else ''}"

    def _path(self) -> Path | None:
        path = local(self.name_or_path, "data.tokenizer.name_or_path")
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
                why = str(error).splitlines()[0] if online else "the hub does not answer and left no copy here"
                raise UserError(
                    f"data.tokenizer.name_or_path={self.name_or_path}: no file or folder, and {why}. Give "
                    "the path of a tokenizer.json, or the exact name of a model on the hub"
                ) from None


@dataclass(frozen=True)
class Trained(TokenizerBuilder):
    """One that has learned already: texts are read as a model reads them that was trained on others."""

    tokenizer: Tokenizer

    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        return self.tokenizer

    def fingerprint(self) -> str:
        return self.tokenizer.to_json()


def _encodings(encode_batch: Callable[..., list[tokenizers.Encoding]], texts: list[str]) -> list[tokenizers.Encoding]:
    """The encodings of `texts`, by one of the two functions of the library.

    Raises:
        UserError: a pretrained tokenizer meets a word or letter that it does not know, and has no token for such.
    """
    try:
        return encode_batch(texts, add_special_tokens=False)
    except Exception as error:
        if type(error) is not Exception:  # what the library raises for its own errors
            raise
        raise UserError(f"the tokenizer cannot read a text ({error}); choose one that has an unknown token") from None


def _blocks(texts: Sequence[str], doing: str, progress: bool) -> Iterator[list[str]]:
    """The texts in lists of `BLOCK`, under a progress bar on standard error."""
    console = Console(stderr=True)
    hidden = not (progress and console.is_terminal)
    for start in track(range(0, len(texts), BLOCK), doing, console=console, transient=True, disable=hidden):
        yield list(texts[start : start + BLOCK])
