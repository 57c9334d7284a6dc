"""Sources: files, folders, data sets of the hub (replaced by local ones) and of `datasets`."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

from heedful.base.errors import UserError
from heedful.data.sets import as_set
from heedful.data.source import Source
from heedful.runs.data_summary import summarize_data
from heedful.tasks.multiclass import Multiclass
from heedful.tasks.multilabel import Multilabel
from tests.data.conftest import Options
from tests.data.data_files import ready, write, write_parquet


def write_reviews(path: Path, *rows: str) -> str:
    path.write_text("\n".join(["review,stars", *rows]) + "\n")
    return str(path)


def reviews(path: str, source_options: Options, **options: Any) -> Source:
    return Source(path, text="review", label="stars", **source_options, **options)


def test_listed_classes_determine_the_order(tmp_path: Path, source_options: Options) -> None:
    path = write_reviews(tmp_path / "a.csv", "a,2", "b,1")
    corpus = reviews(path, source_options, labels=[3, 2, 1]).read()
    assert corpus.task.classes == ("3", "2", "1")
    assert corpus.train.labels.tolist() == [1, 2]
    message = r"line 2: label '2' is not among the classes 1, 3.*list all labels of each class"
    with pytest.raises(UserError, match=message):
        reviews(path, source_options, labels=[1, 3]).read()


def test_labels_that_look_alike_are_reported_in_every_run(tmp_path, source_options, caplog) -> None:
    rows = (f"t{i},{label}" for i, label in enumerate([*["Pos"] * 3, *["pos"] * 2, *["neg"] * 7]))
    path = str(write(tmp_path / "train.csv", "\n".join(["text,label", *rows])))
    for _ in range(2):  # the second time from the cache
        caplog.clear()
        module = ready(Source(path, **source_options))
        module.setup()
        assert caplog.text.count("look alike are different classes: 'Pos' (3 texts) and 'pos' (2 texts). To merge") == 1
    assert module.class_names == ("Pos", "neg", "pos")
    caplog.clear()
    module = ready(Source(path, labels={"neg": "neg", "Pos": "pos"}, **source_options))
    assert "look alike" not in caplog.text
    assert module.read().train.labels.tolist() == [1] * 5 + [0] * 7
    test_path = str(write(tmp_path / "test.csv", "text,label\na,NEG"))
    with pytest.raises(UserError, match=r"label 'NEG' is not among the classes Pos, neg, pos \(did you mean neg"):
        Source(path, test_path=test_path, **source_options).setup()


def test_splits_may_be_separate_files(tmp_path: Path, source_options: Options) -> None:
    train = write_reviews(tmp_path / "train.csv", *["a,1", "b,2"] * 4)
    val = write_reviews(tmp_path / "val.csv", "c,2")
    test = write_reviews(tmp_path / "test.csv", "d,1", "e,1", "f,2")
    module = ready(reviews(train, source_options, val_path=val, test_path=test))
    assert module.sizes == {"train": 8, "val": 1, "test": 3}
    assert module.texts("test", [2, 0]) == ["f", "d"]
    other = reviews(train, source_options, val_path=test, test_path=val)
    assert other.fingerprint() != module.fingerprint()
    write_reviews(tmp_path / "test.csv", "d,1", "e,7")
    with pytest.raises(UserError, match=r"test\.csv: line 3: label '7' is not among the classes 1, 2"):
        reviews(train, source_options, test_path=test).read()


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"test_path": "a.csv"}, r"a\.csv: has the same rows as the train split, .* trained on these"),
        ({"val_path": "copy.csv"}, r"data\.val_path=.*copy\.csv: has the same rows as the train split"),
        (
            {"val_path": "b.csv", "test_path": "link.csv"},
            r"data\.test_path=.* the same rows as the val split, .* chosen",
        ),
    ],
)
def test_the_same_rows_cannot_be_two_splits(others: dict[str, str], message: str, tmp_path, source_options) -> None:
    path = write_reviews(tmp_path / "a.csv", *["a,1", "b,2"] * 4)
    shutil.copy(path, tmp_path / "copy.csv")
    write_reviews(tmp_path / "b.csv", "c,1", "d,2")
    (tmp_path / "link.csv").symlink_to("b.csv")
    with pytest.raises(UserError, match=message):
        reviews(path, source_options, **{name: str(tmp_path / file) for name, file in others.items()}).setup()


def test_the_same_split_of_a_data_set_cannot_be_two_splits(source_options: Options) -> None:
    data = Dataset.from_dict({"text": [f"t{i}" for i in range(20)], "label": [0, 1] * 10})
    source = Source.of({"train": data, "test": data}, val_split="test", **source_options)
    with pytest.raises(UserError, match=r"data\.test_split=test: has the same rows as the val split"):
        source.setup()


def test_a_model_may_be_evaluated_on_its_training_file(tmp_path: Path, source_options: Options) -> None:
    path = write_reviews(tmp_path / "a.csv", *["a,1", "b,2"] * 4)
    trained = ready(reviews(path, source_options))
    module = reviews(path, source_options, test_path=path)
    module.use_codec(trained.codec)  # evaluates a model, so nothing is trained on these texts
    module.setup()
    assert module.sizes["test"] == 8


@pytest.mark.parametrize("whole", [False, True])
def test_classes_of_an_earlier_version_keep_their_names(whole: bool, tmp_path: Path, source_options: Options) -> None:
    path = write_reviews(tmp_path / "a.csv", *["a,12:30", "b,7.0"] * 7)
    trained = ready(reviews(path, source_options))
    assert trained.class_names == ("12:30", "7")
    module = reviews(path, source_options)
    module.use_codec(trained.codec.model_copy(update={"task": Multiclass(("7.0", "12:30:00"))}))
    if whole:
        module.score_whole("test", [7, 7])
    module.setup()
    assert module.class_names == ("7.0", "12:30:00")
    texts, labels = module.texts("test", range(module.sizes["test"])), module.tokenized("test").labels
    assert {*zip(texts, labels.tolist(), strict=True)} == {("a", 1), ("b", 0)}


def test_a_text_of_weight_zero_is_not_trained_on(tmp_path: Path, source_options: Options) -> None:
    rows = [f"both word{i} only{i % 3},{i % 2},{i % 3}" for i in range(60)]
    path, test = write_reviews(tmp_path / "a.csv", *rows), write_reviews(tmp_path / "test.csv", "both,0", "new,1")
    (tmp_path / "a.csv").write_text("review,stars,w\n" + "\n".join(rows))  # the test file has no weights
    source, plain = (ready(reviews(path, source_options, test_path=test, weight=name)) for name in ("w", None))
    assert source.data_fingerprint == plain.data_fingerprint  # so that a comparison of both accepts them
    assert source.texts("val", range(6)) == plain.texts("val", range(6)) and source.weights("val") is None
    texts = source.texts("train", range(source.sizes["train"]))
    weights = dict(enumerate(source.weights("train").tolist()))
    assert weights == {i: int(text[-1]) for i, text in enumerate(texts)} and set(weights.values()) == {1, 2}
    assert "only0" not in source.vocabulary and {"only1", "only2"} <= set(source.vocabulary)
    assert plain.weights("train") is None and plain.sizes["train"] == 54
    evaluated = reviews(test, source_options, weight="w")
    evaluated.use_codec(source.codec)
    evaluated.score_whole("test", source.class_counts)
    evaluated.setup()
    assert evaluated.sizes == {"test": 2}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("1 -2 3 -1", r"a\.csv: lines 3, 5 \(2 in all\): column 'w' holds '-2', but a weight is a number of 0"),
        ("1  3 1", r"a\.csv: line 3: column 'w' is empty, but a weight"),
        ("1 inf 3 1", r"line 3: column 'w' holds 'inf'"),
        ("1 0,5 3 1", r"line 3: column 'w' holds '0,5'"),
        ("1 0 1 0", r"data\.weight: the training rows with a weight above 0 have one class, or there are none"),
    ],
)
def test_wrong_weights_are_named(cells: str, message: str, tmp_path: Path, source_options: Options) -> None:
    rows = "\n".join(f"t{i};{i % 2};{cell}" for i, cell in enumerate(cells.split(" ")))
    (tmp_path / "a.csv").write_text(f"review;stars;w\n{rows}")
    with pytest.raises(UserError, match=message):
        reviews(str(tmp_path / "a.csv"), source_options, weight="w", val_fraction=0, test_fraction=0).setup()


def test_a_split_may_have_no_label_at_all(source_options: Options) -> None:
    train = {"text": [f"t{i}" for i in range(20)], "label": [["a"], ["b"], ["a", "b"], []] * 5}
    for labels in ([[], []], ["", ""]):
        module = Source.of(
            {"train": Dataset.from_dict(train), "test": as_set({"text": ["u", "v"], "label": labels})}, **source_options
        )
        module.task = Multilabel()
        module.setup()
        assert module.tokenized("test").labels.tolist() == [[False, False]] * 2
    without = Source.of({"train": as_set({**train, "label": [[]] * 20})}, **source_options)
    without.task = Multilabel()
    with pytest.raises(UserError, match="no row has a label; training needs two or more classes"):
        without.setup()


GAPS = 'text,label\n"two\nlines",pos\n,neg\ngood,\nbad,neg\n"  ",pos\n'


def test_rows_without_text_or_label_are_reported_or_dropped(tmp_path, source_options, caplog) -> None:
    path = str(write(tmp_path / "a.csv", GAPS))
    with pytest.raises(UserError, match=r"lines 4, 5, 7 \(3 in all\): no .*data\.on_bad_rows=drop"):
        Source(path, **source_options).read()
    for _ in ("read", "cached"):
        corpus = Source(path, on_bad_rows="drop", **source_options).read()
        assert list(corpus.train.texts) == ["two\nlines", "bad"]
        assert "lines 4, 5, 7 (3 in all): dropped" in caplog.text
        caplog.clear()
    write(tmp_path / "a.csv", "text,label\n,a\n")
    with pytest.raises(UserError, match="no row has 'text' and 'label'"):
        Source(path, on_bad_rows="drop", **source_options).read()


def test_the_delimiter_may_be_set(tmp_path: Path, source_options: Options) -> None:
    path = tmp_path / "a.csv"
    path.write_text("review^stars\n" + "good^1\nbad^2\n" * 5)
    with pytest.raises(UserError, match="no column 'review'"):
        reviews(str(path), source_options).read()
    module = reviews(str(path), source_options, delimiter="^")
    assert module.read().train.texts[:2] == ["good", "bad"]
    assert module.fingerprint() != reviews(str(path), source_options).fingerprint()


def test_options_that_contradict_each_other_are_refused(tmp_path: Path, source_options: Options) -> None:
    path = str(write(tmp_path / "a.csv", "review,label\na,1\n"))
    for option in ("path", "val_path", "test_path"):
        with pytest.raises(UserError, match=rf"data\.{option}=.*did you mean a\.csv"):
            Source(**{"path": path, option: str(tmp_path / "aa.csv")}, **source_options)
    with pytest.raises(ValueError, match=r"text='label': is also the column of labels"):
        Source(path, text="label", **source_options)
    with pytest.raises(UserError, match=r"set data\.path, .*, or data\.name"):
        Source(**source_options).read()


def test_the_fingerprint_depends_on_content_and_format(tmp_path: Path, source_options: Options) -> None:
    path = write_reviews(tmp_path / "a.csv", "a,1", "b,2")
    (tmp_path / "a.tsv").write_bytes(Path(path).read_bytes())
    before = reviews(path, source_options).fingerprint()
    assert reviews(str(tmp_path / "a.tsv"), source_options).fingerprint() != before
    write_reviews(tmp_path / "a.csv", "a,1", "b,3")
    assert reviews(path, source_options).fingerprint() != before


@pytest.fixture
def imdb(tmp_path: Path) -> Path:
    """A folder with the layout of the hub, the training split in two files."""
    for name, labels in (
        ("train-00000-of-00002", [0] * 5),
        ("train-00001-of-00002", [1] * 6),
        ("test-00000-of-00001", [0, 0, 1]),
        ("unsupervised-00000-of-00001", [-1] * 3),
    ):
        texts = [f"{name} {i}" for i in range(len(labels))]
        write_parquet(tmp_path / "imdb" / "plain_text" / f"{name}.parquet", text=texts, label=labels)
    return tmp_path / "imdb"


NAMES = {"0": "negative", "1": "positive"}


def test_a_folder_with_the_layout_of_the_hub_is_read(imdb: Path, source_options, monkeypatch) -> None:
    monkeypatch.chdir(imdb.parent)
    corpus = Source("imdb", labels=NAMES, **source_options).read()
    assert corpus.task.classes == ("negative", "positive")
    assert corpus.train.labels.tolist() == [0] * 5 + [1] * 6
    assert corpus.train.texts[4:6] == ["train-00000-of-00002 4", "train-00001-of-00002 0"]
    assert corpus.val is None
    assert corpus.test is not None and corpus.test.labels.tolist() == [0, 0, 1]
    with pytest.raises(UserError, match=r"data\.path=imbd: .*did you mean imdb"):
        Source("imbd", name="stanfordnlp/imdb", **source_options)


def test_a_missing_file_of_a_split_is_reported(imdb: Path, source_options: Options) -> None:
    with pytest.raises(UserError, match=r"has no file validation\*.*its files are plain_text"):
        Source(str(imdb), val_split="validation", **source_options)


@pytest.mark.parametrize(("names", "found"), [(["validation.csv"], 0), (["dev.csv"], 0), (["dev.csv", "val.jsonl"], 1)])
def test_a_folder_of_ones_own_may_have_a_validation_file(names, found, tmp_path, source_options) -> None:
    for name in ("train.csv", "test.csv", *names):
        write(tmp_path / name, "")
    assert Source(str(tmp_path), **source_options).opener.files["val"] == [tmp_path / names[found]]
    assert "val" not in Source(str(tmp_path), name="owner/name", **source_options).opener.files


def found_files(folder: Path, names: list[str], source_options: Options) -> list[str]:
    """The training files that a source finds among files of these names."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write(folder / name, "")
    return [
        str(file.relative_to(folder))
        for file in Source(str(folder), test_split=None, **source_options).opener.files["train"]
    ]


@pytest.mark.parametrize(
    ("names", "others"),
    [
        (["train.csv"], []),
        (["Train.CSV"], ["validation.csv", "notes_train.csv", "train.py"]),
        (["train_reviews.csv"], []),
        (["data/train.csv.gz"], ["data/old/train.csv"]),  # two folders deep
        (["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"], []),
        (["train-00000-of-00002-a09b74b3ef9c3b56.csv", "train-00001-of-00002-0123456789abcdef.csv"], []),
        (["train.1.csv", "train.10.csv", "train.2.csv"], []),
    ],
)
def test_a_split_is_one_file_or_numbered_parts(names: list[str], others: list[str], tmp_path, source_options) -> None:
    assert found_files(tmp_path, [*names, *others], source_options) == names


@pytest.mark.parametrize(
    "names",
    [
        ["train.csv", "train.jsonl"],
        ["train.csv", "train.csv.gz"],
        ["train.csv", "train_predictions.csv"],
        ["TRAIN.csv", "train.csv"],
        ["train.csv", "train_1.csv"],
        ["train_1.csv", "train_2.jsonl"],
        ["train_1.csv", "train_2.csv.gz"],
        ["a/train.csv", "b/train.csv"],
        ["a/train_1.csv", "b/train_2.csv"],
    ],
)
def test_files_that_may_hold_the_same_rows_are_refused(names: list[str], tmp_path, source_options) -> None:
    with pytest.raises(UserError, match=rf"2 files could be the split 'train': {names[0]}, {names[1]}\. .* twice"):
        found_files(tmp_path, names, source_options)


def test_missing_and_superfluous_parts_are_reported(tmp_path: Path, source_options: Options) -> None:
    names = ["train-00000-of-00002.csv", "train-00000-of-00001.csv", "train-00001-of-00002.csv"]
    with pytest.raises(UserError, match=r"has 1 file \(train-00000-of-00002.csv\), but 2 parts by their names"):
        found_files(tmp_path, names[:1], source_options)
    with pytest.raises(UserError, match=r"has 3 files .*but 2 parts"):
        found_files(tmp_path, names, source_options)


def test_rows_of_a_group_are_in_one_split(tmp_path: Path, source_options: Options) -> None:
    """50 sentences of 7 phrases; each phrase names its sentence, and one is blank."""
    lines = ["PhraseId\tSentenceId\tPhrase\tSentiment"]
    for phrase in range(350):
        sentence = phrase // 7
        lines.append(f"{phrase + 1}\t{sentence + 1}\ts{sentence} p{phrase}\t{(sentence + phrase % 2) % 5}")
    lines[100] = lines[100].rsplit("\t", 2)[0] + "\t \t2"
    path = write(tmp_path / "train.tsv", "\n".join(lines) + "\n")
    columns = {"text": "Phrase", "label": "Sentiment", "group": "SentenceId"}
    module = ready(Source(str(path), **columns, on_bad_rows="drop", **source_options))
    sentences = {
        split: {text.split()[0] for text in module.texts(split, range(size))} for split, size in module.sizes.items()
    }
    assert {split: len(names) for split, names in sentences.items()} == {"train": 35, "val": 5, "test": 10}
    assert len(set.union(*sentences.values())) == 50
    for split, size in module.sizes.items():
        groups, own = module.groups(split), [text.split()[0] for text in module.texts(split, range(size))]
        assert groups is not None and len(set(zip(groups.tolist(), own, strict=True))) == len(set(own))
        assert len(np.unique(groups)) == len(set(own))
    assert sum(module.sizes.values()) == 349


def test_a_row_without_a_group_is_a_group_of_its_own(tmp_path: Path, source_options: Options) -> None:
    lines = ["text,label,review", *(f"t{i},{i % 2},{i if i < 30 else ''}" for i in range(60))]
    source = ready(Source(str(write(tmp_path / "a.csv", "\n".join(lines))), group="review", **source_options))
    assert source.sizes == {"train": 43, "val": 5, "test": 12}
    groups = source.groups("test")
    assert groups is not None and len(np.unique(groups)) == 12
    without = ready(Source(str(tmp_path / "a.csv"), **source_options))
    assert without.groups("test") is None


def origins_of_all(source: Source) -> list[tuple[Any, ...]]:
    """The text, file, place and kept cells of each row, in the order of the source."""
    source.setup()
    rows = []
    for split, size in source.sizes.items():
        columns = source.origins(split, range(size))
        rows += zip(source.tokenized(split).rows, source.texts(split, range(size)), *columns.values(), strict=True)
    return [row[1:] for row in sorted(rows)]


def test_each_text_keeps_its_line_and_columns(tmp_path: Path, source_options: Options) -> None:
    lines = ["id,text,label,line", *(f'{i:02},"t{i}\nmore",{"ab"[i % 2]},{"x" if i % 3 else ""}' for i in range(20))]
    path = write(tmp_path / "a.csv", "\n".join([*lines[:6], ",,a,", *lines[6:]]))
    source = Source(str(path), keep_columns=["line", "id", "line"], on_bad_rows="drop", **source_options)
    expected = [(f"t{i}\nmore", str(path), 2 + 2 * i + (i > 4), "x" if i % 3 else "", f"{i:02}") for i in range(20)]
    assert origins_of_all(source) == expected
    assert list(source.origins("test", [])) == ["file", "line_2", "line", "id"]
    other = Source(str(path), on_bad_rows="drop", **source_options)
    assert [row[1:] for row in origins_of_all(other)] == [row[1:3] for row in expected]
    assert other.data_fingerprint == source.data_fingerprint


def test_kept_cells_of_any_type_become_text(tmp_path: Path, source_options: Options) -> None:
    values = [None, float("nan"), 0.5, "\ud800", True, {"a": [1, None]}, 10**30, "=1", "", [], *range(20)]
    rows = [{"text": f"t{i}", "label": i % 2, "meta": value} for i, value in enumerate(values)]
    write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, [{"text": "t", "label": 0}, *rows])))
    source = Source(str(tmp_path / "a.jsonl"), keep_columns=["meta"], **source_options)
    kept = [row[-1] for row in origins_of_all(source)][1:11]
    assert kept == [None, None, "0.5", "\\ud800", "true", '{"a": [1, null]}', f"{10**30}", "=1", "", "[]"]


def test_each_part_of_a_split_and_each_data_set_is_named(tmp_path: Path, source_options: Options) -> None:
    for part in range(2):
        texts = [f"p{part} {i}" for i in range(10)]
        write_parquet(tmp_path / f"train_{part}.parquet", text=texts, label=[0, 1] * 5, score=[np.nan, 1.5] * 5)
    source = Source(str(tmp_path), test_split=None, keep_columns=["score"], **source_options)
    assert origins_of_all(source) == [
        (f"p{part} {i}", str(tmp_path / f"train_{part}.parquet"), i + 1, "1.5" if i % 2 else None)
        for part in range(2)
        for i in range(10)
    ]
    data = Dataset.from_dict({"text": [f"t{i}" for i in range(20)], "label": [0, 1] * 10, "file": list("abcde") * 4})
    own = Source.of(data, keep_columns=["file"], **source_options)
    assert origins_of_all(own)[6] == ("t6", "Source (train)", 7, "b")
    assert list(own.origins("train", [])) == ["file_2", "row", "file"]
    changed = Source.of(data.map(lambda row: {"file": row["file"] * 2}), keep_columns=["file"], **source_options)
    assert origins_of_all(changed)[6][-1] == "bb"


def test_a_column_of_a_data_set_is_found_in_either_form_of_its_letters(source_options: Options) -> None:
    data = Dataset.from_dict({"e\u0301": [f"t{i}" for i in range(20)], "label": [0, 1] * 10})
    source = ready(Source.of(data, text="é", **source_options))
    assert {text[0] for text in source.texts("train", range(source.sizes["train"]))} == {"t"}


def test_a_column_to_keep_must_exist(tmp_path: Path, source_options: Options) -> None:
    path = write_reviews(tmp_path / "a.csv", *["a,1", "b,2"] * 4)
    reviews(path, source_options).setup()  # the tokens are in the cache
    with pytest.raises(UserError, match=r"a\.csv: no column 'start' \(did you mean stars\?\).* data\.keep_columns"):
        reviews(path, source_options, keep_columns=["start"]).setup()


def test_classes_like_several_labels_are_reported_unless_they_are_listed(tmp_path, source_options, caplog) -> None:
    rows = [f"t{i},{label}" for i, label in enumerate(["a", "b", "a|b"] * 7)]
    path = str(write(tmp_path / "a.csv", "\n".join(["text,label", *rows])))
    Source(path, labels=["a", "b", "a|b"], **source_options).setup()
    assert "several labels" not in caplog.text
    Source(path, **source_options).setup()
    assert "1 of 3 classes look like several labels of a text: 'a|b'" in caplog.text
    caplog.clear()
    write(tmp_path / "a.csv", "\n".join(["text,label", *(f"t{i},a{i}|a{i + 1}" for i in range(9))]))
    with pytest.raises(UserError, match="9 of 9 classes"):  # the warning precedes the error of single rows
        Source(path, **source_options).setup()
    assert "classes look like several labels" in caplog.text


COPIES = ["x,a", "x,a", "y,b", "x,b", "z,a", "y,b", "w,b", *(f"u{i},{'ab'[i % 2]}" for i in range(20))]


def test_a_text_with_two_labels_is_reported_with_both_places(tmp_path, source_options, caplog) -> None:
    train, test = (tmp_path / f"{name}.csv" for name in ("train", "test"))
    write(train, "\n".join(["text,label", *COPIES]))
    write(test, "text,label\nu0,a\nz,b\n")
    for duplicates in (None, "drop"):
        source = Source(str(train), test_path=str(test), duplicates=duplicates, **source_options)
        for _ in range(2):  # the second time from the cache
            caplog.clear()
            source.setup()
            assert "2 texts with different labels in several rows: " in caplog.text
            assert f"'x': 'a' ({train}: line 2) and 'b' ({train}: line 5)" in caplog.text
            assert f"'z': 'a' ({train}: line 6) and 'b' ({test}: line 3)" in caplog.text
            source = Source(str(train), test_path=str(test), duplicates=duplicates, **source_options)
    source.setup()
    assert summarize_data(source, [None]).conflicts == 2


def test_dropped_duplicates_leave_each_text_in_one_split(tmp_path: Path, source_options: Options) -> None:
    path = str(write(tmp_path / "train.csv", "\n".join(["text,label", *COPIES])))
    test = str(write(tmp_path / "test.csv", "text,label\nz,a\nz,a\nu3,b\nnew,a\n"))
    held_out = ready(Source(path, duplicates="drop", **source_options))
    given = ready(Source(path, test_path=test, duplicates="drop", **source_options))
    kept = ready(Source(path, test_path=test, **source_options))
    texts = {split: given.texts(split, range(size)) for split, size in given.sizes.items()}
    assert texts["test"] == ["z", "z", "u3", "new"]
    assert sorted(texts["train"] + texts["val"]) == sorted({"x", "y", "w", *(f"u{i}" for i in range(20))} - {"u3"})
    every = [text for split, size in held_out.sizes.items() for text in held_out.texts(split, range(size))]
    assert sorted(every) == sorted({"x", "y", "z", "w", *(f"u{i}" for i in range(20))})
    assert [summarize_data(source, [None]).dropped for source in (held_out, given, kept)] == [3, 5, None]
    assert len({source.data_fingerprint for source in (held_out, given, kept)}) == 3
    rows = [f"{row},{int(i not in (0, 2))}" for i, row in enumerate(COPIES)]  # the first x and y have copies, too
    weighted = str(write(tmp_path / "weights.csv", "\n".join(["text,label,w", *rows])))
    source = ready(Source(weighted, duplicates="drop", weight="w", test_fraction=0, val_fraction=0, **source_options))
    assert sorted(source.texts("train", range(source.sizes["train"]))) == sorted(every)
    only = str(write(tmp_path / "only.csv", "text,label\n" + "\n".join(row for row in COPIES if row.endswith("b"))))
    with pytest.raises(UserError, match=r"data\.duplicates=drop: 11 different texts of one class are left"):
        Source(path, test_path=only, duplicates="drop", **source_options).setup()


FEATURES = Features({"sentence": Value("string"), "label": ClassLabel(names=["neg", "pos"])})


@pytest.fixture
def hub_sets(monkeypatch: pytest.MonkeyPatch) -> dict[str, DatasetDict]:
    """The data sets of the hub by name."""
    sets = {
        "owner/named": DatasetDict(
            {
                "train": Dataset.from_dict({"sentence": [f"t{i}" for i in range(20)], "label": [0, 1] * 10}, FEATURES),
                "validation": Dataset.from_dict({"sentence": ["v0", "v1"], "label": [1, 0]}, FEATURES),
                "test": Dataset.from_dict({"sentence": ["x0", "x1"], "label": [-1, -1]}, FEATURES),
            }
        ),
        "plain": DatasetDict({"train": Dataset.from_dict({"text": ["a", "b", "c"], "label": ["y", "x", "y"]})}),
    }

    def load_dataset(name: str, config: str | None) -> DatasetDict:
        if name not in sets or config is not None:
            raise datasets.exceptions.DatasetNotFoundError(f"{name} {config} does not exist\nand more")
        return sets[name]

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return sets


def on_hub(name: str, source_options: Options, **options: Any) -> Source:
    return Source(name=name, **source_options, **{"test_split": None, **options})


@pytest.mark.usefixtures("hub_sets")
def test_named_classes_and_splits_of_the_hub_are_used(source_options: Options) -> None:
    module = ready(on_hub("owner/named", source_options, text="sentence", val_split="validation"))
    assert module.class_names == ("neg", "pos")
    assert module.sizes == {"train": 16, "val": 2, "test": 4}
    assert module.texts("val", [1]) == ["v1"]
    assert module.tokenized("val").labels.tolist() == [1, 0]
    corpus = on_hub("owner/named", source_options, text="sentence", labels=["pos", "neg"]).read()
    assert corpus.train.labels.tolist() == [1, 0] * 10
    corpus = on_hub("plain", source_options).read()
    assert (corpus.task.classes, corpus.train.labels.tolist()) == (("x", "y"), [1, 0, 1])
    with pytest.raises(UserError, match=r"owner/named \(test\): .*rows 1, 2"):  # the label -1
        on_hub("owner/named", source_options, text="sentence", test_split="test").read()


def test_named_classes_of_parquet_files_are_matched_by_name(tmp_path: Path, source_options: Options) -> None:
    for name, names in (("train", ["neg", "pos", "mixed"]), ("test", ["pos", "neg", "mixed"])):
        features = Features({"text": Value("string"), "label": ClassLabel(names=names)})
        table = pa.table({"text": ["a", "b"] * 5, "label": [0, 1] * 5}, schema=features.arrow_schema)
        pq.write_table(table, tmp_path / f"{name}.parquet")
    corpus = Source(str(tmp_path), **source_options).read()
    assert corpus.task.classes == ("neg", "pos", "mixed")
    assert (corpus.train.labels[:2].tolist(), corpus.test.labels[:2].tolist()) == ([0, 1], [1, 0])


THREE = ["neg", "pos", "mixed"]


@pytest.mark.parametrize(
    ("names", "labels", "expected"),
    [
        (THREE, pa.array([0.0, 1.0] * 5), ("neg", "pos", "mixed")),  # pandas makes floats where values are missing
        (THREE, pa.array([0.0, -1.0] * 5), "rows 2, 4"),
        (THREE, pa.array([0, 3] * 5), "the metadata name 3 classes, but row 2 has the class '3': correct"),
        (["a", "b", "a "], pa.array([0, 1] * 5), "the metadata name 3 classes, 'a', 'b', 'a ', but two have the same"),
        (["a", None], pa.array([0, 1] * 5), "the metadata name 2 classes, 'a', '', but .* one has none"),
        (5, pa.array([0, 1] * 5), ("0", "1")),
        (None, pa.array([0, 1] * 5), ("0", "1")),
    ],
    ids=range(7),
)
def test_named_classes_are_used_for_integers_and_floats(names, labels, expected, tmp_path, source_options) -> None:
    feature = json.dumps({"_type": "ClassLabel", "names": names}) if names else "[" * 200_000
    metadata = {"huggingface": f'{{"info": {{"features": {{"label": {feature}}}}}}}'}
    table = pa.table({"text": ["a", "b"] * 5, "label": labels}).replace_schema_metadata(metadata)
    pq.write_table(table, tmp_path / "train.parquet")
    source = Source(str(tmp_path / "train.parquet"), **source_options)
    if isinstance(expected, tuple):
        assert source.read().task.classes == expected
    else:
        with pytest.raises(UserError, match=expected):
            source.read()


def test_the_fingerprint_of_a_data_set_depends_on_its_content(source_options, hub_sets: dict[str, DatasetDict]) -> None:
    before = on_hub("plain", source_options).fingerprint()
    assert on_hub("plain", source_options).fingerprint() == before
    hub_sets["plain"]["train"] = hub_sets["plain"]["train"].select([0, 1])
    assert on_hub("plain", source_options).fingerprint() != before


@pytest.mark.usefixtures("hub_sets")
@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("plain", {"test_split": "test"}, r"no split 'test'.*only train.*data\.test_split"),
        ("plain", {"text": "texts"}, r"plain \(train\): no column 'texts' .*'text'"),
        ("nobody/nothing", {}, r"data\.name=nobody/nothing: cannot be loaded from the hub .*hf download nobody/"),
        ("./folder", {}, r"is a path.*data=csv data\.path=\./folder"),
    ],
)
def test_mistakes_about_the_hub_are_reported(source_options, name: str, options: Options, message: str) -> None:
    with pytest.raises(UserError, match=message):
        on_hub(name, source_options, **options).read()


def test_data_sets_from_python_are_sources(source_options: Options) -> None:
    train = Dataset.from_dict({"text": [f"t{i}" for i in range(20)], "label": [True, False] * 10})
    corpus = Source.of(train, **source_options).read()
    assert corpus.task.classes == ("false", "true")
    assert corpus.train.labels.tolist() == [1, 0] * 10
    both = DatasetDict({"train": train, "validation": train.select([3, 5])})
    module = ready(Source.of(both, **source_options))
    assert module.sizes == {"train": 16, "val": 2, "test": 4}
    assert module.texts("val", [0, 1]) == ["t3", "t5"]


class UserSource(Source):
    """A source that a user has written."""

    def load(self) -> Mapping[str, Dataset]:
        return {"train": Dataset.from_dict({"text": [f"t{i}" for i in range(41)], "label": np.arange(41) % 2})}


def test_a_subclass_loads_its_own_data(source_options: Options) -> None:
    module = ready(UserSource(test_split=None, **source_options))
    assert module.class_names == ("0", "1")
    assert sum(module.tokenized(split).labels.sum() for split in ("train", "val", "test")) == 20
