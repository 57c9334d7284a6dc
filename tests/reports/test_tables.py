import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console, RenderableType

from src.analysis.metrics import Metric, evaluate
from src.reports.tables import files_table, metric_markdown, metric_table, prediction_table
from tests.reports.runs import predictions


def printed(table: RenderableType, width: int = 80) -> str:
    """The output in a pipe."""
    pipe = io.StringIO()
    Console(file=pipe, width=width).print(table)
    return pipe.getvalue()


def row(text: str, name: str) -> str:
    return next(" ".join(line.split()) for line in text.splitlines() if line.split()[:1] == [name])


def test_metric_table_fits_80_columns_without_colour() -> None:
    metrics = {f"test/{name}": metric for name, metric in evaluate(*predictions(8, 2), ["no", "yes"]).items()}
    text = printed(metric_table(metrics, "Test split"))
    assert "\x1b" not in text and max(map(len, text.splitlines())) <= 80
    assert row(text, "test/acc") == "test/acc 0.875 0.529 to 0.978 8"
    assert all(name in text for name in metrics)


def test_undefined_values_are_a_dash() -> None:
    text = printed(metric_table({"test/auroc": Metric(None, None, None, 25000), "ece": Metric(0.5, None, None, 8)}))
    assert row(text, "test/auroc") == "test/auroc – – 25,000"
    assert row(text, "ece") == "ece 0.500 – 8"


def test_markdown() -> None:
    metrics = {"acc": Metric(0.5, 0.25, 0.75, 1234), "a|b": Metric(None, None, None, 1)}
    assert metric_markdown(metrics) == (
        "| metric | value | 95 % interval | n |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| acc | 0.500 | 0.250 to 0.750 | 1,234 |\n"
        "| a\\|b | – | – | 1 |\n"
    )


def test_prediction_shows_label_probabilities_and_words_as_written() -> None:
    words = ["not", "[red]bad[/red]", ":smile:", *"abcdefghij"]
    weights = np.array([0.5, 0.2, 0.1, *[0.02] * 10])
    text = printed(prediction_table(["neg", "[b]pos", "mid"], np.array([0.1, 0.7, 0.2]), words, weights))
    assert text.splitlines()[0] == "[b]pos"
    assert row(text, "[b]pos") == "[b]pos"
    assert "0.700   ███████" in text
    assert [number for number in ("0.700", "0.200", "0.100") if number in text] == ["0.700", "0.200", "0.100"]
    assert text.index("not") < text.index("[red]bad[/red]") < text.index(":smile:")
    assert "0.5000" in text and " i " not in text  # ten words and no more
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("classes", [2, 20])
def test_prediction_of_an_empty_text_and_of_many_classes(classes: int) -> None:
    names = [f"name{c:02}" for c in range(classes)]
    text = printed(prediction_table(names, np.linspace(0, 1, classes), [], np.array([])))
    assert text.splitlines()[0] == names[-1]
    assert sum(name in text for name in names) == min(10, classes)


def test_files_are_listed_by_folder_with_complete_names() -> None:
    folder = Path("outputs/train/runs/2025-01-31_12-00-00_123456")
    names = [f"pictures/strip_test_{index}.png" for index in range(9)] + ["result.json", "checkpoints/best.ckpt"]
    text = printed(files_table(folder, [folder / name for name in names]))
    assert text.splitlines()[0] == f"Written to {folder}/"
    assert [line.split()[0] for line in text.splitlines()[1:3]] == ["result.json", "checkpoints/"]
    assert all(Path(name).name in text.split() for name in names)
