"""The names under which W&B receives scores and costs."""

from src.loggers.wandb import costs, scores
from src.run_result import RunResult, Score


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
