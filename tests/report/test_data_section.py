"""The table of the data in the terminal."""

import pytest

from heedful.report.data_section import data_section, trained_note
from heedful.report.section import Lines
from heedful.runs.result import Data, SplitSummary
from tests.report.test_score_sections import print_table

LONG = SplitSummary(
    texts=30,
    class_counts={"neg": 24, "[b]pos": 6},
    majority_accuracy=0.8,
    tokens=500_000,
    lengths={"min": 600, "max": 20_000},
    cut_texts=30,
    cut_share=0.97,
    unknown_share=0.0001,
    duplicates=2,
)
DATA = Data(class_names=("neg", "[b]pos"), max_length=500, majority_class="neg", splits={"train": LONG, "test": LONG})


def content(data: Data) -> tuple[list[list[str]], list[str]]:
    """The rows of the table, and the sentences below it."""
    section = data_section(data)
    table = section.content[0]
    return [list(row) for row in table.rows], [item.lines[0] for item in section.content if isinstance(item, Lines)]


def test_every_row_fits_80_columns() -> None:
    text = print_table(data_section(DATA))
    assert max(map(len, text.splitlines())) <= 80
    rows = {name: cells[0] for name, *cells in content(DATA)[0]}
    assert rows["[b]pos"] == "6 (20.0 %)" and "[b]pos" in text
    assert rows["accuracy of always predicting “neg”"] == "0.800"
    assert rows["tokens per text, max"] == "20,000"
    assert rows["unknown tokens"] == "<0.1 %"
    assert rows["texts that the model was trained on"] == "–"
    assert "tokens with a pretrained vector" not in rows


def test_truncated_and_repeated_texts_are_stated() -> None:
    repeated = SplitSummary(texts=9, tokens=9, cut_texts=0, cut_share=0.0, in_train=4, checked=9)
    (truncated,) = content(DATA)[1]
    assert truncated.startswith("60 of 60 texts are longer than 500 tokens; 97.0 % of the tokens are not read")
    (overlap,) = content(Data(max_length=500, splits={"test": repeated}))[1]
    assert overlap == "The model was trained on 4 of 9 test texts, so the scores of this split may be too high"
    assert data_section(Data()) is None


def test_dropped_rows_and_texts_with_different_labels_are_stated() -> None:
    rows, notes = content(Data(dropped=7, conflicts=2, splits={"train": LONG, "test": SplitSummary(texts=5)}))
    assert ["rows dropped by data.duplicates", "7", "0"] in rows
    assert notes[0].startswith("2 texts with different labels in several rows")
    assert "rows dropped" not in str(content(DATA)[0])


@pytest.mark.parametrize(("share", "is_low"), [(0.52, True), (0.83, False), (None, False)])
def test_few_tokens_with_a_vector_suggest_learned_embeddings(share: float | None, is_low: bool) -> None:
    notes = content(Data(vectors=9, splits={"train": SplitSummary(texts=9, tokens=9, vector_share=share)}))[1]
    assert [note.startswith("52.0 % of the training tokens") for note in notes] == [True] * is_low
    assert all("model/embedding=learned" in note for note in notes)


@pytest.mark.parametrize(
    ("summary", "sentence"),
    [
        (SplitSummary(texts=9, in_train=0, checked=9), "The model was trained on 0 of 9 test texts"),
        (SplitSummary(texts=1234), "It is unknown how many of the test texts the model was trained on: its checkpoint"),
        (
            SplitSummary(texts=1234, in_train=5, checked=61),
            "The model was trained on 5 of the 61 of 1,234 test texts that can be checked, so the scores of this split",
        ),
    ],
)
def test_the_number_of_texts_that_the_model_was_trained_on_is_stated(summary: SplitSummary, sentence: str) -> None:
    assert trained_note(Data(splits={"test": summary}), "test").startswith(sentence)


def test_the_most_frequent_of_many_classes_are_listed() -> None:
    names = tuple(f"c{i}" for i in range(30))
    split = SplitSummary(texts=435, class_counts={name: i for i, name in enumerate(names)})
    rows, _ = content(Data(class_names=names, splits={"train": split}))
    assert [row[0] for row in rows][1:12] == [*names[20:], "20 other classes"]
    assert rows[11][1:] == ["190 (43.7 %)"]
