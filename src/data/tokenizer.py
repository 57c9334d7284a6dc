"""Options of tokenizers, which are trained on texts, loaded from a file or the hub, or taken from a trained model."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tokenizers
from pydantic import Field
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers

from src.data.files import content_hash, existing_file, local_path, open_text
from src.data.glove import bundled_words
from src.data.trained_tokenizer import MAX_IDS, PAD, UNKNOWN, Tokenizer, text_blocks
from src.errors import UserError

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
    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        """Train the tokenizer on `texts`, the texts of the training split, or load it."""

    def fingerprint(self) -> str:
        """Return a string that changes whenever `train` would return a different tokenizer for the same texts."""
        return repr(self)


@dataclass(frozen=True, kw_only=True)
class _Learned(TokenizerBuilder):
    """Base of the tokenizers that split texts by a pattern and learn a vocabulary of the most frequent pieces.

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

    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        return Tokenizer(self.learn(texts, progress))

    def learn(self, texts: Sequence[str], progress: bool, **options: Any) -> tokenizers.Tokenizer:
        """Return a tokenizer with the vocabulary of these texts; `options` replace those of the trainer."""
        backend = self.backend(self.model(unk_token=UNKNOWN, **self.model_options))
        sizes = {"vocab_size": self.vocab_size, "min_frequency": self.min_frequency}
        defaults = {**sizes, "special_tokens": [PAD, UNKNOWN], "show_progress": False, **self.model_options}
        trainer = self.trainer(**{**defaults, **options})
        backend.train_from_iterator(text_blocks(texts, "Learning the vocabulary", progress), trainer)
        return backend

    def backend(self, model: models.Model) -> tokenizers.Tokenizer:
        backend = tokenizers.Tokenizer(model)
        replacements: list[normalizers.Normalizer] = [normalizers.Replace(LINE_BREAK, " ")]
        backend.normalizer = normalizers.Sequence(replacements + [normalizers.Lowercase()] * self.lowercase)
        backend.pre_tokenizer = self.splitter
        return backend


@dataclass(frozen=True, kw_only=True)
class Word(_Learned):
    """Tokenizer that splits texts into words and punctuation marks: *don't* is one token; *good!* is two tokens.

    Args:
        glove_words: add all words of the bundled GloVe vectors to the vocabulary, beyond the limit of `vocab_size`. A
            GloVe embedding can then use the vectors of words that occur only in new texts.
    """

    glove_words: bool = False

    def learn(self, texts: Sequence[str], progress: bool, **options: Any) -> tokenizers.Tokenizer:
        learned = super().learn(texts, progress, **options)
        if not self.glove_words:
            return learned
        ids = learned.get_vocab()
        # the first two words may also have later ids, because a text may contain "<pad>" literally
        words = dict.fromkeys([PAD, UNKNOWN, *sorted(ids, key=ids.__getitem__), *bundled_words()])
        backend = self.backend(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=UNKNOWN))
        backend.add_special_tokens([PAD, UNKNOWN])
        return backend


@dataclass(frozen=True, kw_only=True)
class Whitespace(Word):
    """Tokenizer that splits at whitespace alone, for texts that are already tokenized."""

    splitter = pre_tokenizers.WhitespaceSplit()


class _Subwords(_Learned):
    """Base of the tokenizers that learn pieces of words; the same texts give the same vocabulary in every process.

    The library `tokenizers` numbers the letters at the end of words (BPE) or inside words (WordPiece) in the random
    order of a hash map. If two pairs are equally frequent, it merges the pair with the lower numbers first (issue 1794
    of the library). Training therefore has two passes: the first collects the letters, and the second receives the
    sorted letters as special tokens, which makes their numbers deterministic.
    """

    def learn(self, texts: Sequence[str], progress: bool, **options: Any) -> tokenizers.Tokenizer:
        letters = super().learn(texts, progress, vocab_size=0).get_vocab().keys() - {PAD, UNKNOWN}
        learned = super().learn(texts, progress, special_tokens=[PAD, UNKNOWN, *sorted(letters)])
        backend = self.backend(learned.model)  # here the letters are not special tokens
        backend.add_special_tokens([PAD, UNKNOWN])
        return backend


@dataclass(frozen=True, kw_only=True)
class Bpe(_Subwords):
    """Byte-pair encoding, which merges the most frequent pairs first (Sennrich et al., 2016).

    The last piece of a word ends with `</w>`.
    """

    model, trainer = models.BPE, trainers.BpeTrainer
    model_options: ClassVar[dict[str, str]] = {"end_of_word_suffix": "</w>"}


@dataclass(frozen=True, kw_only=True)
class WordPiece(_Subwords):
    """WordPiece, which splits words from the left into the longest known pieces (Schuster and Nakajima, 2012).

    Except for the first piece of a word, each piece begins with `##`.
    """

    model, trainer = models.WordPiece, trainers.WordPieceTrainer


@dataclass(frozen=True)
class Pretrained(TokenizerBuilder):
    """The tokenizer of a pretrained model.

    Args:
        name_or_path: a `tokenizer.json`, a folder that contains one, or the name of a model on the hub. The
            value is a path if there is such a file or folder, or if it looks like a path (`./…`, `/…`, `~…`,
            `….json`).
    """

    name_or_path: str

    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        path = self._path() or self._download()
        option = f"data.tokenizer.name_or_path={path}"
        with open_text(path, option) as text:
            content = text.read()
        try:
            return Tokenizer.from_json(content)
        except ValueError as error:
            raise UserError(f"{option}: is not a usable tokenizer.json ({error})") from None

    def fingerprint(self) -> str:
        """Return a string that changes with the options and the local file, but not with the files on the hub."""
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

        try:
            return Path(hf_hub_download(self.name_or_path, "tokenizer.json"))
        except (OSError, HfHubHTTPError, HFValidationError) as error:
            raise UserError(
                f"data.tokenizer.name_or_path={self.name_or_path}: no such file or folder, and it cannot be loaded "
                f"from the hub ({str(error).splitlines()[0]}). Set the path of a tokenizer.json, or a model's name"
            ) from None


@dataclass(frozen=True)
class Trained(TokenizerBuilder):
    """The tokenizer of a trained model."""

    tokenizer: Tokenizer

    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        return self.tokenizer

    def fingerprint(self) -> str:
        return self.tokenizer.to_json()
