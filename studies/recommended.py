"""Compare experiment=recommended with linear models: `python -m studies.recommended DATA OUT` prints a table.

DATA is a folder with the folders imdb and sst2 and the file rotten_tomatoes_phrases/train.tsv. The data sets are sst2,
the sentences of rotten_tomatoes with two and with five classes, the short and the long third of IMDb's training reviews
and, if DATA has a folder trec with a copy of data=trec, its questions. For each, three seeds are trained into a folder
in OUT; LinearSVC of scikit-learn and, if it is installed (`pip install fasttext-wheel`), fastText are fitted to the
same texts.
"""

import csv
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from omegaconf import OmegaConf
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from heedful.base.files import csv_line, write_text
from heedful.runs.result import RunResult
from heedful.training import build

SEEDS = (0, 1, 2)
SIZE = 6_000  # texts of each third of IMDb
MIDDLE = 2  # the neutral one of five classes
FASTTEXT = {"wordNgrams": 2, "dim": 10, "epoch": 25}  # Joulin et al. 2016, section 3.1, but with 25 epochs
RATES = (0.05, 0.1, 0.25, 0.5)  # learning rates, as there
STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0)  # of LinearSVC's C; 1 is its default
TOKEN = r"\w+|[^\w\s]"


def data_sets(data: Path, out: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the overrides of each data set; those that are made are written to `out`."""
    yield "sst2", ["data=sst2", f"data.path={data / 'sst2'}"]
    with (data / "rotten_tomatoes_phrases" / "train.tsv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    sentences = {row["SentenceId"]: row for row in reversed(rows)}  # the first phrase of a sentence is the sentence
    five = [(row["Phrase"], int(row["Sentiment"])) for row in sentences.values() if row["Phrase"].strip()]
    two = [(text, int(label > MIDDLE)) for text, label in five if label != MIDDLE]
    table = pq.read_table(next((data / "imdb").rglob("train*.parquet")), columns=["text", "label"])
    reviews = list(zip(table["text"].to_pylist(), table["label"].to_pylist(), strict=True))
    order = np.argsort([len(text.split()) for text, _ in reviews], kind="stable")
    thirds = {"imdb, short": order[: len(order) // 3], "imdb, long": order[-(len(order) // 3) :]}
    made = {"sentences, 2 classes": two, "sentences, 5 classes": five}
    for name, rows_of_third in thirds.items():
        chosen = np.random.default_rng(0).choice(rows_of_third, SIZE, replace=False)
        made[name] = [reviews[row] for row in chosen]
    for number, (name, texts) in enumerate(made.items()):
        path = out / f"data{number}.csv"
        write_text(path, "".join(map(csv_line, [("text", "label"), *texts])))
        yield name, ["data=csv", f"data.path={path}"]
    if (data / "trec").is_dir():
        yield "questions, 6 classes", ["data=trec", f"data.path={data / 'trec'}"]


def splits(run: Path) -> dict[str, tuple[list[str], list[int]]]:
    """Return the texts and the labels of each split of a run."""
    data = build.datamodule(OmegaConf.load(run / "config.yaml"))  # type: ignore[arg-type]
    names = ("train", "val", "test")
    return {name: (data.texts(name, range(data.sizes[name])), data.tokenized(name).labels.tolist()) for name in names}


def svm_accuracy(texts: dict[str, tuple[list[str], list[int]]]) -> float:
    """Fit TF-IDF of words, punctuation and bigrams with LinearSVC to the training texts; return its test accuracy in %.

    The validation texts choose the inverse strength of its penalty, as they do for `recommended`.
    """

    def fit(c: float) -> Any:
        features = TfidfVectorizer(token_pattern=TOKEN, ngram_range=(1, 2), sublinear_tf=True)
        return make_pipeline(features, LinearSVC(C=c)).fit(*texts["train"])

    model = max(map(fit, STRENGTHS), key=lambda model: model.score(*texts["val"]))
    return 100 * float(model.score(*texts["test"]))


def fasttext_accuracies(texts: dict[str, tuple[list[str], list[int]]], out: Path) -> list[float]:
    """Return fastText's test accuracy in % for each seed, with the learning rate that is best on validation texts."""
    if importlib.util.find_spec("fasttext") is None:
        return []
    files = {name: str(out / f"fasttext_{name}.txt") for name in texts}
    for name, pairs in texts.items():
        rows = [(label, " ".join(re.findall(TOKEN, text.lower()))) for text, label in zip(*pairs, strict=True)]
        order = np.random.default_rng(0).permutation(len(rows))  # because fastText does not shuffle
        write_text(Path(files[name]), "".join(f"__label__{rows[row][0]} {rows[row][1]}\n" for row in order))

    def fit(**options: float) -> Any:
        fasttext: Any = importlib.import_module("fasttext")
        return fasttext.train_supervised(files["train"], **FASTTEXT, thread=1, verbose=0, **options)

    rate = max(RATES, key=lambda lr: fit(lr=lr, seed=SEEDS[0]).test(files["val"])[1])
    return [100 * fit(lr=rate, seed=seed).test(files["test"])[1] for seed in SEEDS]


def spread(accuracies: list[float]) -> str:
    """Format the mean with the lowest and the highest value."""
    if not accuracies:
        return "not measured"
    return f"{np.mean(accuracies):.1f} ({min(accuracies):.1f} to {max(accuracies):.1f})"


def main() -> None:
    data, out = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    names = "data, training texts, recommended, linear model, difference, LinearSVC, fastText, seconds of training"
    print(f"| {names.replace(',', ' |')} |\n|{'---|' * 8}")
    for number, (name, overrides) in enumerate(data_sets(data, out)):
        results = []
        for seed in SEEDS:
            run = out / f"{number}_{seed}"
            command = [
                "-m",
                "src.train",
                "experiment=recommended",
                "logger=csv",
                f"seed={seed}",
                f"hydra.run.dir={run}",
            ]
            if RunResult.load(run).status != "completed":
                subprocess.run([sys.executable, *command, *overrides], check=True, stdout=subprocess.DEVNULL)
            results.append(RunResult.load(run))
        accuracies = [100 * (result.score("test/acc") or 0) for result in results]
        texts = splits(run)
        linear = 100 * (results[0].baseline.metrics["test/acc"].value or 0)
        cells = [
            name,
            f"{results[0].data.train:,}",
            spread(accuracies),
            f"{linear:.1f}",
            f"{np.mean(accuracies) - linear:+.1f}",
            f"{svm_accuracy(texts):.1f}",
            spread(fasttext_accuracies(texts, out)),
            f"{np.median([result.seconds.fit for result in results]):.0f}",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
