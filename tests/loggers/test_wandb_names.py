"""The names under which W&B receives pictures, scores and costs."""

from pathlib import Path

from src.loggers.wandb import costs, name_pictures, scores
from src.run_result import RunResult, Score


def test_pictures_of_texts_are_numbered() -> None:
    names = [
        "curves",
        "strip_test_41",
        "heatmap_test_41",
        "strip_test_7",
        "strip_text_0",
        "heatmap_text_0",
        "attention_entropy",
    ]
    pictures = name_pictures([Path(f"{name}.png") for name in names])
    assert {name: path.stem for name, path in pictures.items()} == {
        "curves": "curves",
        "strip_1": "strip_test_41",
        "heatmap_1": "heatmap_test_41",
        "strip_2": "strip_test_7",
        "strip_3": "strip_text_0",
        "heatmap_3": "heatmap_text_0",
        "attention_entropy": "attention_entropy",
    }


def test_undefined_numbers_are_omitted() -> None:
    metrics = {"test/acc": Score(0.5, 0.25, 0.75, 8), "test/auroc": Score(None, None, None, 8)}
    result = RunResult(metrics=metrics, choices={"encoder": "gru"})
    assert scores(result) == {
        "test/acc": 0.5,
        "test/acc_low": 0.25,
        "test/acc_high": 0.75,
        "test/n": 8,
        "of_encoder/gru": 0.5,
    }
    assert costs(RunResult()) == {}
