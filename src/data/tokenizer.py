"""Options of tokenizers, which are trained on texts, loaded from a file or the hub, or taken from a trained model."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tokenizers
from pydantic import Field
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers

from src.data.files import content_hash, existing_file, local_path, read_text
from src.data.glove import bundled_words
from src.data.hub import OFFLINE, connection
from src.data.trained_tokenizer import MAX_IDS, PAD, UNKNOWN, Tokenizer, text_blocks
from src.errors import UserError

LINE_BREAK = Regex(r"<br\s*/?>")
WORD = Regex(r"\w+(?:['\x{2019}]\w+)*|[^\w\s]")  # x2019 is the typographic apostrophe


class TokenizerBuilder(ABC):
    """The options of a tokenizer, and the method `train` that trains or loads the tokenizer."""

    @abstractmethod
    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        """Train the tokenizer on `texts`, the texts of the training split, or load it."""

    def fingerprint(self) -> str:
        """Return a string that changes whenever `train` would return a different tokenizer for the same texts."""
        return repr(self)


@dataclass(frozen=True, kw_only=True)
class _Learned(TokenizerBuilder, ABC):
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

    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        options = {
            "vocab_size": self.vocab_size,
            "min_frequency": self.min_frequency,
            "special_tokens": [PAD, UNKNOWN],
            "show_progress": False,
        }
        return Tokenizer(self._learn(texts, progress, options))

    def _learn(self, texts: Sequence[str], progress: bool, options: dict[str, Any]) -> tokenizers.Tokenizer:
        model, trainer = self._model_and_trainer(options)
        backend = self._backend(model)
        backend.train_from_iterator(text_blocks(texts, "Learning the vocabulary", progress), trainer)
        return backend

    def _backend(self, model: models.Model) -> tokenizers.Tokenizer:
        backend = tokenizers.Tokenizer(model)
        replacements: list[normalizers.Normalizer] = [normalizers.Replace(LINE_BREAK, " ")]
        backend.normalizer = normalizers.Sequence(replacements + [normalizers.Lowercase()] * self.lowercase)
        backend.pre_tokenizer = self._pre_tokenizer()
        return backend

    def _pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        return pre_tokenizers.Split(WORD, "removed", invert=True)

    @abstractmethod
    def _model_and_trainer(self, options: dict[str, Any]) -> tuple[models.Model, trainers.Trainer]: ...


@dataclass(frozen=True, kw_only=True)
class Word(_Learned):
    """Tokenizer that splits texts into words and punctuation marks: *don't* is one token; *good!* is two tokens.

    Args:
        glove_words: add all words of the bundled GloVe vectors to the vocabulary, beyond the limit of `vocab_size`. A
            GloVe embedding can then use the vectors of words that occur only in new texts.
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

    def _model_and_trainer(self, options: dict[str, Any]) -> tuple[models.Model, trainers.Trainer]:
        return models.WordLevel(unk_token=UNKNOWN), trainers.WordLevelTrainer(**options)


@dataclass(frozen=True, kw_only=True)
class Whitespace(Word):
    """Tokenizer that splits at whitespace alone, for texts that are already tokenized."""

    def _pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        return pre_tokenizers.WhitespaceSplit()


@dataclass(frozen=True, kw_only=True)
class _Subwords(_Learned, ABC):
    """Base of the tokenizers that learn pieces of words; the same texts give the same vocabulary in every process.

    The library `tokenizers` numbers the letters at the end of words (BPE) or inside words (WordPiece) in the random
    order of a hash map. If two pairs are equally frequent, it merges the pair with the lower numbers first (issue 1794
    of the library). Training therefore has two passes: the first collects the letters, and the second receives the
    sorted letters as special tokens, which makes their numbers deterministic.
    """

    def _learn(self, texts: Sequence[str], progress: bool, options: dict[str, Any]) -> tokenizers.Tokenizer:
        letters = super()._learn(texts, progress, {**options, "vocab_size": 0}).get_vocab().keys() - {PAD, UNKNOWN}
        learned = super()._learn(texts, progress, {**options, "special_tokens": [PAD, UNKNOWN, *sorted(letters)]})
        backend = self._backend(learned.model)  # here the letters are not special tokens
        backend.add_special_tokens([PAD, UNKNOWN])
        return backend


@dataclass(frozen=True, kw_only=True)
class Bpe(_Subwords):
    """Byte-pair encoding, which merges the most frequent pairs first (Sennrich et al., 2016).

    The last piece of a word ends with `</w>`.
    """

    def _model_and_trainer(self, options: dict[str, Any]) -> tuple[models.Model, trainers.Trainer]:
        trainer = trainers.BpeTrainer(**options, end_of_word_suffix="</w>")
        return models.BPE(unk_token=UNKNOWN, end_of_word_suffix="</w>"), trainer


@dataclass(frozen=True, kw_only=True)
class WordPiece(_Subwords):
    """WordPiece, which splits words from the left into the longest known pieces (Schuster and Nakajima, 2012).

    Except for the first piece of a word, each piece begins with `##`.
    """

    def _model_and_trainer(self, options: dict[str, Any]) -> tuple[models.Model, trainers.Trainer]:
        return models.WordPiece(unk_token=UNKNOWN), trainers.WordPieceTrainer(**options)


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
        try:
            return Tokenizer.from_json(read_text(path, f"data.tokenizer.name_or_path={path}"))
        except ValueError as error:
            raise UserError(f"data.tokenizer.name_or_path: {path} is not a usable tokenizer.json ({error})") from None

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

        with connection() as online:
            try:
                return Path(hf_hub_download(self.name_or_path, "tokenizer.json"))
            except (OSError, HfHubHTTPError, HFValidationError) as error:
                reason = str(error).splitlines()[0] if online else OFFLINE
                raise UserError(
                    f"data.tokenizer.name_or_path={self.name_or_path}: no such file or folder, and {reason}. Set "
                    "the path of a tokenizer.json, or the exact name of a model on the hub"
                ) from None


@dataclass(frozen=True)
class Trained(TokenizerBuilder):
    """The tokenizer of a trained model."""

    tokenizer: Tokenizer

    def train(self, texts: Sequence[str], progress: bool = False) -> Tokenizer:
        return self.tokenizer

    def fingerprint(self) -> str:
        return self.tokenizer.to_json()
