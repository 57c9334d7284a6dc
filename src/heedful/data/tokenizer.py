"""Tokenizers, which are trained on texts, loaded from a file or the hub, or taken from a trained model.

All of them encode texts with the library `tokenizers`, on all cores.
"""

import json
from abc import ABC, abstractmethod
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar
from unicodedata import normalize

import numpy as np
import tokenizers
from pydantic import Field
from tokenizers import Regex, models, normalizers, pre_tokenizers, processors, trainers

from heedful.base.errors import UserError
from heedful.base.progress import row_progress
from heedful.data.bundled_vectors import bundled_words
from heedful.data.padded_batches import PAD_ID, Tokens
from heedful.data.table import Text, parts_of
from heedful.data.text_files import content_hash, local_path, open_text
from heedful.runtime import MARK, cut, pair_bounds, spellings

PAD, UNKNOWN = "<pad>", "<unk>"  # ids 0 and 1 of every vocabulary
UNKNOWN_ID = 1
MAX_IDS = 1 << 24  # maximum number of ids in a vocabulary, including unused ids
PROBE = "A film, it\u2019s good:<br />not b\u00e4d 1 \u0378"  # for testing a loaded tokenizer
BLOCK = 100  # texts encoded at a time, which takes 0.1 GB of memory per million characters
MAX_GROWTH = 100  # by how much a tokenizer that may come from anyone can lengthen a text
LINE_BREAK = Regex(r"<br\s*/?>")
# A word, a flag of two letters, or a symbol with its variant, keycap, skin tone, tags and joined symbols. x2019 is
# the typographic apostrophe, and x200D the joiner of emoji.
WORD = Regex(
    r"\w+(?:['\x{2019}]\w+)*|[\x{1F1E6}-\x{1F1FF}]{2}"
    r"|[^\w\s](?:[\x{FE0F}\x{20E3}\x{1F3FB}-\x{1F3FF}\x{E0020}-\x{E007F}]|\x{200D}[^\w\s])*"
)


class TokenizerBuilder(ABC):
    """The options of a tokenizer, and the method `train` that trains or loads the tokenizer."""

    @abstractmethod
    def train(self, texts: Sequence[Text], progress: bool = False) -> "Tokenizer":
        """Train the tokenizer on `texts`, the texts of the training split, or load it."""

    def fingerprint(self) -> str:
        """Return a string that changes whenever `train` would return a different tokenizer for the same texts."""
        return repr(self)


class Tokenizer(TokenizerBuilder):
    """A trained tokenizer. Id 0 is padding, and never occurs in an encoded text; id 1 is reserved for unknown words.

    If ids 0 and 1 of a pretrained tokenizer have other meanings, two (`shift`) is added to all of its ids. The
    tokenizer's own unknown token, if it has one, then stands for unknown words.

    As the tokenizer of a data module, it is not trained again.
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        self._backend = backend
        self._backend.no_truncation()
        self._backend.no_padding()
        has_reserved_ids = backend.token_to_id(PAD) == PAD_ID and backend.token_to_id(UNKNOWN) == UNKNOWN_ID
        self.shift = 0 if has_reserved_ids else 2

    def train(self, texts: Sequence[Text], progress: bool = False) -> "Tokenizer":
        return self

    def fingerprint(self) -> str:
        return self.to_json()

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The tokens in the order of their ids; an id that a pretrained model does not use has an empty string."""
        size = max(self._backend.get_vocab().values(), default=-1) + 1
        if not 0 < size <= MAX_IDS:
            raise ValueError(f"the largest id is {size - 1:,}, but must be between 0 and {MAX_IDS - 1:,}")
        tokens = [self._backend.id_to_token(i) or "" for i in range(size)]
        return (PAD, UNKNOWN, *tokens) if self.shift else tuple(tokens)

    @cached_property
    def unknown_id(self) -> int | None:
        """The id of unknown words; None for a pretrained tokenizer without such an id, such as byte-level BPE."""
        if not self.shift:
            return UNKNOWN_ID
        model = json.loads(self._backend.to_str())["model"]
        unknown = self._backend.token_to_id(model.get("unk_token") or "")
        unknown = model.get("unk_id") if unknown is None else unknown
        return None if unknown is None else unknown + self.shift

    def encode(self, texts: Sequence[Text]) -> Tokens:
        """Encode texts, which are all pairs or all single, without truncation.

        The special tokens of a model are left out, except those between the texts of a pair.
        """
        return self._flat(list(self._encodings(texts, self._backend.encode_batch_fast)))

    def read(self, texts: Sequence[Text]) -> tuple[Tokens, list[str]]:
        """Return tokens as `encode` does, and the spelling of each token in the text, with composed letters."""
        composed = [tuple(normalize("NFC", part) for part in parts_of(cut(text))) for text in texts]
        plain: Any = [parts if len(parts) > 1 else parts[0] for parts in composed]
        encodings = list(self._encodings(plain, self._backend.encode_batch))
        words = (spellings(*pair, self.special_counts) for pair in zip(composed, encodings, strict=True))
        return self._flat(encodings), list(chain(*words))

    def _encodings(self, texts: Sequence[Text], encode_batch: Any) -> Iterator[tokenizers.Encoding]:
        for block in text_blocks(texts):
            try:
                encodings = encode_batch(block, add_special_tokens=not isinstance(block[0], str))
            except BaseException as error:  # `tokenizers` raises plain Exception; a panic in Rust is a BaseException
                if type(error) is not Exception and type(error).__name__ != "PanicException":
                    raise
                raise UserError(
                    f"the tokenizer cannot encode a text ({str(error)[:200]}); choose a tokenizer with an unknown "
                    "token, or another tokenizer"
                ) from None
            yield from encodings

    def _flat(self, encodings: Sequence[tokenizers.Encoding]) -> Tokens:
        """Add `shift` to the ids, and return flat tokens as `encode` does."""
        bounds = [pair_bounds(encoding, self.special_counts) for encoding in encodings if encoding.n_sequences == 2]
        ids = [np.asarray(encoding.ids, dtype=np.int32) for encoding in encodings]
        if bounds:
            ids = [tokens[start:stop] for tokens, (start, _, _, stop) in zip(ids, bounds, strict=True)]
        lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        tokens = np.concatenate([*ids, np.empty(0, dtype=np.int32)]) + np.int32(self.shift)
        np.maximum(tokens, UNKNOWN_ID, out=tokens)  # a text may contain "<pad>" literally
        inner = np.array([(end - start, second - start) for start, end, second, _ in bounds]) if bounds else None
        return Tokens(tokens, np.concatenate([[0], lengths.cumsum()]), inner)

    @cached_property
    def special_ids(self) -> tuple[list[int], list[int]]:
        """The ids, without `shift`, of the special tokens that the model adds before and after a text."""
        encoding = self._backend.encode("a", add_special_tokens=True)
        special = encoding.special_tokens_mask
        prefix = special.index(0) if 0 in special else len(special)
        suffix = special[::-1].index(0) if 0 in special else 0
        return encoding.ids[:prefix], encoding.ids[len(special) - suffix :]

    @property
    def special_counts(self) -> tuple[int, int]:
        """The numbers of special tokens before and after a text."""
        prefix, suffix = self.special_ids
        return len(prefix), len(suffix)

    def with_nfc(self) -> "Tokenizer":
        """Read decomposed letters, such as e and a combining accent, as composed letters from now on."""
        first = self._backend.normalizer
        self._backend.normalizer = normalizers.Sequence([normalizers.NFC(), *([] if first is None else [first])])
        return self

    def to_json(self) -> str:
        return self._backend.to_str()

    @classmethod
    def from_json(cls, json: str) -> "Tokenizer":
        """Return the tokenizer for a result of `to_json`; raise a ValueError if it cannot encode a text."""
        try:
            tokenizer = cls(tokenizers.Tokenizer.from_str(json))
            _require_bounded(tokenizer._backend)
            tokenizer.read([PROBE, ""])
            assert tokenizer.special_ids and tokenizer.vocabulary
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            raise ValueError(f"tokenizer: cannot be used ({str(error)[:200]})") from error
        return tokenizer


def _require_bounded(backend: tokenizers.Tokenizer) -> None:
    """Raise a ValueError if a few words may become so many characters or tokens that they exceed the memory."""
    parts = (backend.normalizer, backend.pre_tokenizer)  # a sequence of tokenizers 0.21 is false
    growth, steps = 1, [json.loads(part.__getstate__()) for part in parts if part is not None]
    while steps:
        step = steps.pop()
        steps += [*step.get("normalizers", ()), *step.get("pretokenizers", ())]
        added = [step.get("content", ""), step.get("prepend", "")]
        if table := b64decode(step.get("precompiled_charsmap") or ""):  # the size of an index, it, and the replacements
            added += table[4 + int.from_bytes(table[:4], "little") :].decode(errors="replace").split("\0")
        growth *= max(4 * (step["type"] == "ByteLevel"), *map(len, added), 1)  # a character has up to four bytes
        growth *= 1 + ("Regex" in step.get("pattern", ())) * (step["type"] == "Replace")  # it may match before each one
    model_options = ("unk_token", "continuing_subword_prefix", "end_of_word_suffix")
    growth = max(growth, *(len(getattr(backend.model, name, None) or "") for name in model_options))
    if growth > MAX_GROWTH or len(backend.encode("a", "a").ids) > MAX_GROWTH:
        raise ValueError(f"it may make a text more than {MAX_GROWTH} times as long")


def text_blocks(texts: Sequence[Text], verb: str = "", progress: bool = False) -> Iterator[list[Text]]:
    """Yield lists of up to `BLOCK` texts, and show the progress if it is set."""
    with row_progress(verb, len(texts), "texts", progress) as advance:
        for start in range(0, len(texts), BLOCK):
            yield (block := list(map(cut, texts[start : start + BLOCK])))
            advance(len(block))


@dataclass(frozen=True, kw_only=True)
class _Learned(TokenizerBuilder):
    """Base of the tokenizers that split texts by a pattern and learn a vocabulary of the most frequent pieces.

    Texts are normalized to NFC, so that a decomposed letter is the same as a composed one.

    Args:
        vocab_size: maximum number of tokens, including those for padding and unknown words. A subword vocabulary always
            contains all characters of the training texts, even if they exceed the maximum.
        min_frequency: minimum number of occurrences of a token; rarer words are unknown, and rarer subwords are
            split further.
        lowercase: convert letters to lower case.
    """

    vocab_size: Annotated[int, Field(ge=3, lt=MAX_IDS)] = 30_000
    min_frequency: Annotated[int, Field(ge=1)] = 2
    lowercase: bool = True

    model: ClassVar[Any] = models.WordLevel
    trainer: ClassVar[Any] = trainers.WordLevelTrainer
    model_options: ClassVar[dict[str, str]] = {}  # options of both the model and its trainer
    splitter: ClassVar[Any] = pre_tokenizers.Split(WORD, "removed", invert=True)

    def train(self, texts: Sequence[Text], progress: bool = False) -> Tokenizer:
        backend = self.backend(self.learn(texts, progress).model)
        backend.add_special_tokens([PAD, UNKNOWN])
        if texts and len(parts_of(texts[0])) > 1:
            backend.add_special_tokens([MARK])
            backend.post_processor = processors.TemplateProcessing(
                single="$A", pair=f"$A {MARK} $B:1", special_tokens=[(MARK, backend.token_to_id(MARK))]
            )
        return Tokenizer(backend)

    def learn(self, texts: Sequence[Text], progress: bool, **options: Any) -> tokenizers.Tokenizer:
        """Return a tokenizer with the vocabulary of these texts; `options` replace those of the trainer."""
        backend = self.backend(self.model(unk_token=UNKNOWN, **self.model_options))
        sizes = {"vocab_size": self.vocab_size, "min_frequency": self.min_frequency}
        defaults = {**sizes, "special_tokens": [PAD, UNKNOWN], "show_progress": False, **self.model_options}
        trainer = self.trainer(**{**defaults, **options})
        blocks = text_blocks(texts, "Learned the vocabulary of", progress)
        backend.train_from_iterator((list(chain(*map(parts_of, block))) for block in blocks), trainer)
        return backend

    def backend(self, model: models.Model) -> tokenizers.Tokenizer:
        backend = tokenizers.Tokenizer(model)
        steps: list[normalizers.Normalizer] = [normalizers.NFC(), normalizers.Replace(LINE_BREAK, " ")]
        backend.normalizer = normalizers.Sequence(steps + [normalizers.Lowercase()] * self.lowercase)
        backend.pre_tokenizer = self.splitter
        return backend


@dataclass(frozen=True, kw_only=True)
class Word(_Learned):
    """Tokenizer that splits texts into words and punctuation marks: *don't* is one token; *good!* is two tokens.

    Args:
        glove_words: add all words of the bundled GloVe vectors, or this number of them, the most frequent first, to the
            vocabulary, beyond the limit of `vocab_size`. A GloVe embedding can then use the vectors of words that occur
            only in new texts.
    """

    glove_words: bool | Annotated[int, Field(ge=0)] = False

    def learn(self, texts: Sequence[Text], progress: bool, **options: Any) -> tokenizers.Tokenizer:
        learned = super().learn(texts, progress, **options)
        if not self.glove_words:
            return learned
        ids = learned.get_vocab()
        # the first two words may also have later ids, because a text may contain "<pad>" literally
        added = bundled_words()[: None if self.glove_words is True else self.glove_words]
        words = dict.fromkeys([PAD, UNKNOWN, *sorted(ids, key=ids.__getitem__), *added])
        return self.backend(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=UNKNOWN))


class Whitespace(Word):
    """Tokenizer that splits at whitespace alone, for texts that are already tokenized."""

    splitter = pre_tokenizers.WhitespaceSplit()


class Bpe(_Learned):
    """Byte-pair encoding, which merges the most frequent pairs first (Sennrich et al., 2016).

    The last piece of a word ends with `</w>`. The same texts give the same vocabulary in every process: the library
    `tokenizers` numbers the letters at the end of words in the random order of a hash map, and of two equally frequent
    pairs, it merges the pair with the lower numbers first (issue 1794 of the library). Training therefore has two
    passes: the first collects the letters, and the second receives the sorted letters as special tokens, which makes
    their numbers deterministic.
    """

    model, trainer = models.BPE, trainers.BpeTrainer
    model_options: ClassVar[dict[str, str]] = {"end_of_word_suffix": "</w>"}

    def learn(self, texts: Sequence[Text], progress: bool, **options: Any) -> tokenizers.Tokenizer:
        letters = super().learn(texts, progress, vocab_size=0).get_vocab().keys() - {PAD, UNKNOWN}
        return super().learn(texts, progress, special_tokens=[PAD, UNKNOWN, *sorted(letters)])


@dataclass(frozen=True)
class Pretrained(TokenizerBuilder):
    """The tokenizer of a pretrained model, which reads decomposed letters as composed letters.

    Args:
        name_or_path: a `tokenizer.json`, a folder that contains one, or the name of a model on the hub. The
            value is a path if there is such a file or folder, or if it looks like a path (`./…`, `/…`, `~…`,
            `….json`).
    """

    name_or_path: str

    def train(self, texts: Sequence[Text], progress: bool = False) -> Tokenizer:
        if (path := self._path()) is None:
            from huggingface_hub import hf_hub_download
            from huggingface_hub.errors import HfHubHTTPError, HFValidationError

            try:
                path = Path(hf_hub_download(self.name_or_path, "tokenizer.json"))
            except (OSError, HfHubHTTPError, HFValidationError) as error:
                raise UserError(
                    f"data.tokenizer.name_or_path={self.name_or_path}: no such file or folder, and it cannot be loaded "
                    f"from the hub ({str(error).splitlines()[0]}). Set the path of a tokenizer.json, or a model's name"
                ) from None
        option = f"data.tokenizer.name_or_path={path}"
        with open_text(path, option) as text:
            content = text.read()
        try:
            return Tokenizer.from_json(content).with_nfc()
        except ValueError as error:
            raise UserError(f"{option}: is not a usable tokenizer.json ({error})") from None

    def fingerprint(self) -> str:
        """Return a string that changes with the options and the local file, but not with the files on the hub."""
        path = self._path()
        return f"{self!r} {content_hash([path]) if path else ''}"

    def _path(self) -> Path | None:
        path = local_path(self.name_or_path, "data.tokenizer.name_or_path")
        return path / "tokenizer.json" if path is not None and path.is_dir() else path
