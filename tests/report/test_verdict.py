"""The verdict of a run, made from its scores."""

from typing import Any

import pytest

from heedful.report.verdict import run_verdict
from heedful.runs.result import Baseline, Best, ClassScore, Data, RunResult, Score, Seconds, SplitSummary

ACC = Score(0.829, 0.79, 0.86, 444)


def result(score: Score = ACC, difference: Score | None = None, name: str = "test/acc", **fields: Any) -> RunResult:
    differences = {} if difference is None else {name: difference}
    return RunResult(metrics={name: score}, baseline=Baseline(differences=differences), **fields)


RIGHT = "82.9 % of 444 test texts are right"
LINEAR = "the linear model"
CLASSES = {"test": {"BILLING": ClassScore(0.8, 0.9, 0.847, 443), "REFUND": ClassScore(0.0, 0.0, 0.0, 1)}}
ABSENT = {
    "test": {"a": ClassScore(1.0, 0.5, 0.667, 2), "b": ClassScore(0.5, 1.0, 0.667, 1), "c": ClassScore(support=0)}
}
VERDICTS: dict[str, tuple[RunResult, str]] = {
    "unclear": (
        result(difference=Score(0.021, -0.004, 0.046, 444), classes=CLASSES),
        f"{RIGHT}; 444 texts cannot tell this model from {LINEAR} (2.1 points; -0.4 to 4.6). "
        "Weakest class: REFUND, F1 0.00, 1 test text.",
    ),
    "unclear, probably worse": (
        result(difference=Score(-0.021, -0.046, 0.004, 444)),
        f"{RIGHT}; 444 texts cannot tell this model from {LINEAR} (-2.1 points; -4.6 to 0.4).",
    ),
    "better": (
        result(difference=Score(0.021, 0.004, 0.038, 444)),
        f"{RIGHT}; this model is 2.1 points better than {LINEAR} on these texts (0.4 to 3.8); another seed may differ.",
    ),
    "worse": (
        result(difference=Score(-0.021, -0.041, -0.001, 444)),
        f"{RIGHT}; this model is 2.1 points worse than {LINEAR} on these texts (0.1 to 4.1); another seed may differ.",
    ),
    "tie": (
        result(difference=Score(0.0, -0.003, 0.003, 444)),
        f"{RIGHT}; this model is as good as {LINEAR} (-0.3 to 0.3).",
    ),
    "8 texts": (
        result(Score(0.75, 0.4, 0.9, 8), Score(0.0, None, None, 8)),
        f"75.0 % of 8 test texts are right; 8 texts cannot tell this model from {LINEAR} (0.0 points).",
    ),
    "no interval": (
        result(Score(1.0, 0.2, 1.0, 1), Score(1.0, None, None, 1)),
        f"100.0 % of 1 test text is right; 1 text cannot tell this model from {LINEAR} (100.0 points).",
    ),
    "equal predictions": (
        result(difference=Score(0.0, None, None, 444)),
        f"{RIGHT}; this model is as good as {LINEAR}.",
    ),
    "many labels": (
        RunResult(metrics={"test/acc": ACC, "test/hamming": Score(0.1, 0.05, 0.2, 444), "test/map": ACC}),
        "82.9 % of 444 test texts are right in all labels.",
    ),
    "a small unit": (
        result(Score(7.6e-05, 7e-05, 8e-05, 444), Score(-1e-06, -3e-06, 1e-06, 444), "test/rmse"),
        "Root mean squared error is 7.6e-05 on 444 test texts; "
        f"444 texts cannot tell this model from {LINEAR} in root mean squared error (1e-06; -1e-06 to 3e-06).",
    ),
    "no baseline": (
        RunResult(metrics={"test/acc": ACC, "test/majority_acc": Score(0.5, 0.4, 0.6, 444)}),
        f"{RIGHT}; always predicting the most frequent training class would get 50.0 %.",
    ),
    "only accuracy": (result(), f"{RIGHT}."),
    "all right": (result(Score(1.0, 0.9, 1.0, 1234)), "100.0 % of 1,234 test texts are right."),
    "nearly all right": (result(Score(0.9999, 0.9, 1.0, 25000)), ">99.9 % of 25,000 test texts are right."),
    "none right": (result(Score(0.0, 0.0, 0.3, 7)), "0.0 % of 7 test texts are right."),
    "one wrong text": (result(Score(0.0, 0.0, 0.8, 1)), "0.0 % of 1 test text is right."),
    "classes of equal F1, and one without texts": (result(classes=ABSENT), f"{RIGHT}."),
    "validation texts": (result(name="val/acc"), "82.9 % of 444 validation texts are right."),
    "without accuracy, an undefined score is passed over": (
        RunResult(metrics={"test/auroc": Score(n=7), "test/nll": Score(0.5, 0.4, 0.6, 7)}),
        "Negative log-likelihood is 0.500 on 7 test texts.",
    ),
    "lower is better": (
        result(Score(0.5, 0.4, 0.6, 7), Score(-0.2, -0.3, -0.1, 7), "test/nll"),
        "Negative log-likelihood is 0.500 on 7 test texts; this model is 0.200 better in negative log-likelihood than "
        f"{LINEAR} on these texts (0.100 to 0.300); another seed may differ.",
    ),
    "texts that were trained on": (
        result(data=Data(splits={"test": SplitSummary(texts=444, in_train=13, checked=444)})),
        f"{RIGHT}. The model was trained on 13 of 444 test texts, so the scores of this split may be too high.",
    ),
    "the last epoch was the best": (
        result(best=Best("best.ckpt", "val/loss", 0.5, 2), seconds=Seconds(per_epoch=(1.0, 1.0, 1.0))),
        f"{RIGHT}. The best epoch was the last of 3: val/loss still improved, so train longer (trainer.max_epochs).",
    ),
    "the best epoch was not the last": (
        result(best=Best("best.ckpt", "val/loss", 0.5, 1), seconds=Seconds(per_epoch=(1.0, 1.0, 1.0))),
        f"{RIGHT}.",
    ),
    "no score": (RunResult(data=Data(test=7)), ""),
}


@pytest.mark.parametrize(("run", "verdict"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_of_a_run(run: RunResult, verdict: str) -> None:
    assert run_verdict(run) == verdict
