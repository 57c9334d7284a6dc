"""Pairs of texts: their tokens and segments, their truncation, and wrong rows and columns."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers, processors

from heedful.base.errors import UserError
from heedful.config.schema import config_mistakes
from heedful.data.schema import Schema
from heedful.data.source import Source
from heedful.data.table import Table, join_parts
from heedful.data.tokenizer import Bpe, Tokenizer, TokenizerBuilder, Whitespace, Word
from heedful.inference.api import as_texts
from heedful.runtime import LONGEST, spans
from heedful.tasks.multiclass import Multiclass
from tests.data.data_files import ready
from tests.helpers import small_config

PAIRS = [("the cat sat", "a cat"), ("a dog", "the dog ran home"), ("", "a")]


def schema_of(tokenizer: Tokenizer, max_length: int = 40, keep: str = "first") -> Schema:
    task = Multiclass(("no", "yes"))
    return Schema.model_validate(
        {"tokenizer": tokenizer, "task": task, "max_length": max_length, "keep": keep, "pairs": True}
    )


def pretrained() -> Tokenizer:
    """A tokenizer with the special tokens of RoBERTa: two separate the texts of a pair."""
    words = ["<s>", "</s>", "[UNK]", "the", "a", "cat", "dog", "sat", "ran", "home"]
    backend = Backend(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    special = [("<s>", 0), ("</s>", 1)]
    backend.add_special_tokens(["<s>", "</s>"])
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B:1 </s>:1", special_tokens=special
    )
    return Tokenizer(backend)


@pytest.mark.parametrize("builder", [Word, Whitespace, Bpe])
def test_a_separator_that_no_text_contains_divides_the_words(builder: type[TokenizerBuilder]) -> None:
    trained = builder(min_frequency=1).train(PAIRS)  # type: ignore[call-arg]
    schema = Schema.model_validate_json(schema_of(trained).model_dump_json())
    assert schema.tokenizer.vocabulary[-1] == "\u241e"
    batches, words = schema.read([*PAIRS, ("a \u241e dog", "cat")])
    inputs = batches(np.arange(4)).inputs
    assert ["".join(own).count("\u241e") for own in words] == [1] * 4
    if builder is Word:
        assert words[:3] == [
            ["the", "cat", "sat", "\u241e", "a", "cat"],
            ["a", "dog", "\u241e", "the", "dog", "ran", "home"],
            ["\u241e", "a"],
        ]
        assert inputs.segments[0][:6].tolist() == [0, 0, 0, 0, 1, 1]
        assert inputs.segments[2].tolist() == [0, 1, 0, 0, 0, 0, 0]  # padding belongs to no text
        assert words[3] == ["a", "dog", "\u241e", "cat"]


def test_a_pretrained_tokenizer_has_its_own_separator() -> None:
    schema = schema_of(pretrained())
    batches, words = schema.read([("the cat", "a dog"), ("</s> cat", "ran")])
    inputs = batches(np.arange(2)).inputs
    assert words == [["the", "cat", "</s>", "</s>", "a", "dog"], ["</s>", "cat", "</s>", "</s>", "ran"]]
    assert inputs.ids.tolist() == [[5, 7, 3, 3, 6, 8], [3, 7, 3, 3, 10, 0]]  # two are added to the ids
    assert inputs.segments.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 0]]


@pytest.mark.parametrize(
    ("first", "second", "length", "kept"),
    [(7, 2, 8, (5, 2)), (2, 7, 8, (2, 5)), (11, 13, 8, (4, 3)), (11, 13, 7, (3, 3)), (3, 3, 7, (3, 3))],
)
def test_the_longer_text_is_cut_first(first: int, second: int, length: int, kept: tuple[int, int]) -> None:
    texts = [(" ".join(f"a{i}" for i in range(first)), " ".join(f"b{i}" for i in range(second)))]
    tokenizer = Whitespace(min_frequency=1).train(texts)
    for keep, start in (("first", (0, 0)), ("last", (first - kept[0], second - kept[1]))):
        batches, (words,) = schema_of(tokenizer, length, keep).read(texts)
        expected = [f"{name}{start[n] + i}" for n, name in enumerate("ab") for i in range(kept[n])]
        assert [word for word in words if word != "\u241e"] == expected
        inputs = batches(np.arange(1)).inputs
        assert [tokenizer.vocabulary[i] for i in inputs.ids[0].tolist()] == words
        assert inputs.segments.sum().item() == kept[1]


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 2), st.integers(4, 19))
def test_truncation_removes_one_token_of_the_longer_text_at_a_time(first, second, marks, max_length) -> None:
    kept_spans = spans(np.array([0, first + marks + second]), np.array([[first, first + marks]]), max_length, "first")
    kept = [first, second]
    while sum(kept) > max_length - marks:
        kept[0 if kept[0] > kept[1] else 1] -= 1
    assert kept_spans.seconds.tolist() == [kept[0] + marks]
    assert kept_spans.lengths.tolist() == [kept[0] + marks + kept[1]]
    expected = [*range(kept[0]), *range(first, first + marks + kept[1])]
    assert kept_spans.positions(0).tolist() == expected


def test_only_the_ends_of_very_long_parts_are_read() -> None:
    tokenizer = Whitespace(min_frequency=1).train(PAIRS)
    long = ("the " * (LONGEST // 2), "a cat")
    assert tokenizer.encode([long]).bounds[0].tolist() == [LONGEST // 2, LONGEST // 2 + 1]  # type: ignore[index]


def test_values_that_are_pairs() -> None:
    assert as_texts([("a", "b"), ["a", "b"], np.array(["a", "b"])]) == [("a", "b")] * 3
    assert as_texts([None, ("a", None), float("nan"), pd.NA]) == ["", ("a", ""), "", ""]  # blank
    for wrong in ((), ("a",), ("a", 3), ("a", "b", "c"), 3, b"ab"):
        with pytest.raises(TypeError):
            as_texts([wrong])
    assert join_parts(("a \u241e", "b")) == "a   \u241e b"
    assert Table([("a", " "), ("", "b"), ("a", "b")]).not_blank() == [2]


def write(path: Path, rows: str) -> str:
    path.write_text("premise,hypothesis,label\n" + rows)
    return str(path)


def source(path: str, tmp_path: Path, **options: Any) -> Source:
    return Source(
        path, text=["premise", "hypothesis"], tokenizer=Word(min_frequency=1), cache_dir=str(tmp_path / "cache"),
        progress=False, **options,
    )  # fmt: skip


def test_a_pair_with_an_empty_side_is_reported_or_dropped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "a.csv", "a b,c,yes\n,d,no\ne, ,no\nf,g,no\n")
    message = r"a\.csv: lines 3, 4 \(2 in all\): no 'premise' or no 'hypothesis' or no 'label'"
    with pytest.raises(UserError, match=message):
        source(path, tmp_path).read()
    corpus = source(path, tmp_path, on_bad_rows="drop").read()
    assert list(corpus.train.texts) == [("a b", "c"), ("f", "g")]
    assert "lines 3, 4 (2 in all): dropped" in caplog.text


def test_a_missing_column_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("premise,hypotheses,label\na,b,yes\n")
    with pytest.raises(UserError, match=r"a\.csv: no column 'hypothesis' \(did you mean hypotheses\?\)"):
        source(str(path), tmp_path).read()


def test_equal_pairs_are_duplicates_and_swapped_ones_are_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = "".join(f"a,b{i},yes\nb{i},a,no\n" for i in range(13))
    caplog.set_level(logging.WARNING)
    data = ready(source(write(tmp_path / "a.csv", rows + "a,b0,no\n"), tmp_path))
    assert data.conflicts == 1
    assert "'a \u241e b0': 'yes'" in caplog.text
    (batch,) = (data.builder("test")(np.arange(1)),)
    assert batch.inputs.segments is not None


@pytest.mark.parametrize("columns", ["[a,a]", "[a,b,c]", "[a]", "[]"])
def test_wrong_numbers_of_columns_are_mistakes(columns: str, tmp_path: Path) -> None:
    cfg = small_config(tmp_path / "run", [f"data.text={columns}"])
    (mistake,) = config_mistakes(cfg, "train")
    assert mistake.path == "data.text"
    assert "two different ones" in mistake.message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "premise"}, "text='premise': is also the column of labels"),
        ({"max_length": 3}, "max_length=3: must be at least 4"),
    ],
)
def test_options_that_contradict_pairs(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        source(write(tmp_path / "a.csv", ""), tmp_path, **options)
