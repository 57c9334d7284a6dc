"""Tokenizers: tokens, words and ids."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers

from heedful.base.errors import UserError
from heedful.data.tokenizer import Bpe, Pretrained, Tokenizer, TokenizerBuilder, Whitespace, Word

TEXTS = ["the cat sat", "the cat ran, the end", "a cat!"]
LEARNED = [Word, Whitespace, Bpe]


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode([text])[0].tolist()


def words_of(tokenizer: Tokenizer, text: str) -> list[str]:
    return tokenizer.read([text])[1]


def tokens(tokenizer: Tokenizer, text: str) -> list[str]:
    return [tokenizer.vocabulary[i] for i in ids(tokenizer, text)]


@pytest.mark.parametrize("builder", LEARNED)
def test_padding_is_0_and_in_no_text_and_unknown_is_1(builder: type[TokenizerBuilder]) -> None:
    tokenizer = builder().train(TEXTS)
    assert tokenizer.vocabulary[:2] == ("<pad>", "<unk>")
    assert ids(tokenizer, "☃") == [1]
    assert 0 not in ids(builder().train(["<pad> <pad>", *TEXTS]), "a <pad> cat <pad>")


@pytest.mark.parametrize("builder", [*LEARNED, None])
@pytest.mark.parametrize("text", ["le café, très né", "Tiếng Việt ở", "한국어 문장", "क़लम हिन्दी", "Å ṩ"])
def test_decomposed_letters_are_read_as_composed_ones(builder, text, pretrained) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert composed != decomposed or "क" in text  # NFC composes no letters of Devanagari
    trained = Pretrained(str(pretrained)) if builder is None else builder()
    for of_training in (composed, decomposed):
        tokenizer = trained.train([of_training] * 2)
        assert ids(tokenizer, decomposed) == ids(tokenizer, composed)
        words = words_of(tokenizer, decomposed)
        assert words == words_of(tokenizer, composed)
        assert all(word in composed for word in words)


def test_compatible_letters_stay_different() -> None:
    assert words_of(Word().train(["ﬁn ½"] * 2), "ﬁn fin") == ["ﬁn", "fin"]
    assert ids(Word().train(["ﬁn ½"] * 2), "fin") == [1]


def test_texts_are_encoded_in_their_order() -> None:
    tokenizer = Word(min_frequency=1).train(TEXTS)
    flat, offsets, _ = tokenizer.encode(["the cat", "", "☃ sat the"])
    assert offsets.tolist() == [0, 2, 2, 5]
    assert [tokenizer.vocabulary[i] for i in flat] == ["the", "cat", "<unk>", "sat", "the"]
    assert flat.dtype == np.int32
    assert offsets.dtype == np.int64


def test_only_the_ends_of_a_very_long_text_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encoding takes 0.1 GB per million characters, and a model reads only the first or the last tokens."""
    tokenizer = Word().train(TEXTS)
    monkeypatch.setattr("heedful.runtime.LONGEST", 7)
    long = "a bc de " + "x " * 50 + "fg hi j"
    assert words_of(tokenizer, long) == ["a", "bc", "de", "fg", "hi", "j"]
    assert tokenizer.encode([long])[1].tolist() == [0, 6]


def test_the_vocabulary_is_ordered_by_frequency() -> None:
    assert Word(min_frequency=1).train(TEXTS).vocabulary[2:4] == ("cat", "the")
    assert Word(min_frequency=3).train(TEXTS).vocabulary == ("<pad>", "<unk>", "cat", "the")
    assert Word(vocab_size=3).train(TEXTS).vocabulary == ("<pad>", "<unk>", "cat")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't know...", ["I", "don't", "know", ".", ".", "."]),
        ("it’s 'rock’n’roll'", ["it’s", "'", "rock’n’roll", "'"]),
        ("one<br />two<br/>three", ["one", "two", "three"]),
        ("Ça va, naïf? 10/10", ["Ça", "va", ",", "naïf", "?", "10", "/", "10"]),
        (" \n\t ", []),
        ("👍🏽👍 👩🏽\u200d👧❤️love", ["👍🏽", "👍", "👩🏽\u200d👧", "❤️", "love"]),
        ("🇩🇪🇫🇷 #️⃣1️⃣!!", ["🇩🇪", "🇫🇷", "#️⃣", "1️⃣", "!", "!"]),
    ],
)
def test_words_include_inner_apostrophes_but_no_punctuation(text: str, words: list[str]) -> None:
    assert words_of(Word().train(TEXTS), text) == words


def test_the_whitespace_tokenizer_splits_at_whitespace_only() -> None:
    assert words_of(Whitespace().train(TEXTS), "don't, stop!") == ["don't,", "stop!"]


def test_unknown_words_are_returned_as_written() -> None:
    tokenizer = Word(min_frequency=1).train(TEXTS)
    assert words_of(tokenizer, "The ZEBRA sat") == ["The", "ZEBRA", "sat"]
    assert tokens(tokenizer, "The ZEBRA sat") == ["the", "<unk>", "sat"]
    cased = Word(min_frequency=1, lowercase=False).train(["The the"])
    assert set(cased.vocabulary[2:]) == {"The", "the"}


def test_unseen_words_consist_of_pieces() -> None:
    tokenizer = Bpe(min_frequency=1).train(["low lower lowest new newer newest"] * 3)
    pieces = tokens(tokenizer, "lowerest")
    assert len(pieces) > 1
    assert "".join(pieces) == "lowerest</w>"
    assert "".join(words_of(tokenizer, "lowerest")) == "lowerest"


@pytest.mark.parametrize("builder", LEARNED)
def test_every_token_has_a_word(builder: type[TokenizerBuilder]) -> None:
    tokenizer = builder().train(TEXTS)

    @given(text=st.text(max_size=40))
    def check(text: str) -> None:
        assert len(words_of(tokenizer, text)) == len(ids(tokenizer, text))

    check()


@pytest.mark.parametrize("builder", LEARNED)
def test_a_tokenizer_is_restored_from_json(builder: type[TokenizerBuilder]) -> None:
    tokenizer = builder().train(TEXTS)
    restored = Tokenizer.from_json(tokenizer.to_json())
    assert restored.vocabulary == tokenizer.vocabulary
    assert ids(restored, "The cat, unseen <pad>!") == ids(tokenizer, "The cat, unseen <pad>!")


def test_ties_between_pieces_are_broken_in_a_fixed_order() -> None:
    """Without a fixed order, the library learns five different vocabularies from texts with so many ties."""
    rng = np.random.default_rng(0)
    texts = [" ".join("".join(rng.choice(list("abcdefgh"), rng.integers(1, 5))) for _ in range(7)) for _ in range(53)]
    results = {Bpe(vocab_size=97, min_frequency=1).train(texts).to_json() for _ in range(5)}
    assert len(results) == 1
    (content,) = map(json.loads, results)
    assert [token["content"] for token in content["added_tokens"]] == ["<pad>", "<unk>"]
    assert len(content["model"]["vocab"]) == 97


def test_fingerprints_differ_between_options_and_classes() -> None:
    builders = [Word(), Word(vocab_size=9), Word(lowercase=False), Whitespace(), Bpe()]
    assert len({builder.fingerprint() for builder in builders}) == len(builders)
    assert Word().fingerprint() == Word().fingerprint()


@pytest.fixture
def pretrained(tmp_path: Path) -> Path:
    """A model's tokenizer that pads and truncates, with other ids for padding and unknown words."""
    backend = tokenizers.Tokenizer(models.WordLevel({"film": 0, "[PAD]": 1, "[UNK]": 2, "good": 3}, "[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.enable_padding(length=9, pad_id=1, pad_token="[PAD]")
    backend.enable_truncation(2)
    backend.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


@pytest.mark.parametrize("folder", [True, False])
def test_the_ids_of_a_pretrained_tokenizer_are_shifted_by_two(pretrained: Path, folder: bool) -> None:
    tokenizer = Pretrained(str(pretrained.parent if folder else pretrained)).train([])
    assert tokenizer.vocabulary == ("<pad>", "<unk>", "film", "[PAD]", "[UNK]", "good")
    assert ids(tokenizer, "good film so good") == [5, 2, 4, 5]
    assert ids(Tokenizer.from_json(tokenizer.to_json()), "good film so good") == [5, 2, 4, 5]


def test_the_fingerprint_of_a_pretrained_tokenizer_depends_on_the_file(pretrained: Path) -> None:
    before = Pretrained(str(pretrained)).fingerprint()
    content = json.loads(pretrained.read_text())
    content["model"]["vocab"]["new"] = 4
    pretrained.write_text(json.dumps(content))
    assert Pretrained(str(pretrained)).fingerprint() != before


def test_a_missing_path_is_no_name_on_the_hub_which_cannot_be_reached(pretrained: Path) -> None:
    with pytest.raises(UserError, match=r"did you mean tokenizer.json"):
        Pretrained(str(pretrained.with_name("tokeniser.json"))).train([])
    with pytest.raises(UserError, match="no such file or folder, and it cannot be loaded from the hub"):
        Pretrained("nobody/no-such-model").train([])


def test_glove_words_extend_the_vocabulary() -> None:
    texts = ["a xylograph stood", "a xylograph fell"]
    plain, some, extended = (Whitespace(min_frequency=1, glove_words=n).train(texts) for n in (False, 8, True))
    assert some.vocabulary == (*plain.vocabulary, "the", ",", ".", "of", "to", "and", "in")  # the eighth word is `a`
    assert extended.vocabulary[: len(some.vocabulary)] == some.vocabulary
    assert len(extended.vocabulary) == 100_003  # padding, unknown, and a word that GloVe lacks
    tokens, *_ = extended.encode(["a fantastic gastronomic xylograph gnrt"])
    assert [extended.vocabulary[i] for i in tokens] == ["a", "fantastic", "gastronomic", "xylograph", "<unk>"]


def test_glove_words_extend_the_vocabulary_of_texts_that_contain_reserved_words() -> None:
    tokenizer = Whitespace(min_frequency=1, glove_words=11).train(["<pad> xylograph <unk>", "<pad> <unk>"])
    restored = Tokenizer.from_json(tokenizer.to_json())
    assert restored.vocabulary == tokenizer.vocabulary
    assert len(tokenizer.vocabulary) == 14
    assert ids(tokenizer, "xylograph <pad> <unk> gnrt") == ids(restored, "xylograph <pad> <unk> gnrt") == [2, 1, 1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocab": {}}, "is not a usable"),
        ({"vocab": {"film": 4_294_967_295, "[UNK]": 1}}, "the largest id is 4,294,967,295"),
        ({"unk_token": "gone"}, "is not a usable tokenizer.json .*(UNK|unk|unknown)"),
    ],
)
def test_an_unusable_pretrained_model_is_reported(pretrained: Path, change: dict[str, Any], message: str) -> None:
    content = json.loads(pretrained.read_text())
    content["model"] |= change
    pretrained.write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        Pretrained(str(pretrained)).train([])


def test_a_pretrained_file_of_another_encoding_is_reported(pretrained: Path) -> None:
    pretrained.write_bytes(pretrained.read_text().encode("utf-16"))
    with pytest.raises(UserError, match=r"tokenizer\.json: is text in UTF-16"):
        Pretrained(str(pretrained)).train([])
