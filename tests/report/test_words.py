import json
from dataclasses import replace

import numpy as np
import pytest

from heedful.inference.predictions import print_predictions
from heedful.report.section import Strip
from heedful.report.words import clean_text, colour_limit, example_content, example_notes, top_words
from heedful.runs.examples import BranchWords, Example


@pytest.mark.parametrize(
    ("words", "weights", "top"),
    [
        ("good film good end", [0.2, 0.4, 0.2, 0.2], [(1, "film", 0.4), (0, "good", 0.2), (2, "good", 0.2)]),
        ("a b c", [np.nan, 0.5, np.inf], [(1, "b", 0.5), (0, "a", 0.0), (2, "c", 0.0)]),  # not finite: last
        ("", [], []),
    ],
)
def test_top_words_by_weight_then_position_with_each_occurrence(words, weights, top) -> None:
    assert top_words(words.split(), np.array(weights), 3) == top


@pytest.mark.parametrize(
    ("weights", "limit"),
    [([0.7, 0.1, 0.1, 0.1], 0.75), ([0.91] + [0.01] * 9, 0.91), ([0.1] * 10, 0.3), ([1.0], 1.0), ([], 1.0)],
)
def test_the_colour_limit_makes_uniform_weights_light(weights: list[float], limit: float) -> None:
    assert colour_limit(np.array(weights)) == pytest.approx(limit)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("film", "film"),
        ("two\nlines\t", "twolines"),
        ("", "␣"),
        (" ", "␣"),
        ("\ud800x\x00", "x"),
        ("日本", "日本"),
        ("a" * 40, "a" * 27 + "…"),
        ("\u200bمی\u200cخواهم\u202e", "می\u200cخواهم"),
        ("👩🏽\u200d👧\u200d", "👩🏽\u200d👧"),
    ],
)
def test_clean_text(text: str, cleaned: str) -> None:
    assert clean_text(text) == cleaned


def test_the_linear_branch_is_shown_with_its_weight(capsys: pytest.CaptureFixture[str]) -> None:
    words, branch = ["not", "a", "film"], BranchWords(0.9, np.array([-0.5, 0.25, 0.0]))
    example = Example("text", 0, None, "good", {"good": 1.0}, words, np.ones(3) / 3, None, branch=branch)
    strip = example_content(example).content[1]
    assert isinstance(strip, Strip) and strip.title == "linear branch, 90 % of the logits"
    assert [(word.depth, word.tooltip) for word in strip.words] == [
        (-1.0, "log odds -0.500"),
        (0.5, "log odds +0.250"),
        (0.0, "log odds +0.000"),
    ]
    print_predictions(["not a film"], {0: example}, as_json=True, top=2)
    record = json.loads(capsys.readouterr().out)
    assert record["branch"] == {
        "weight": 0.9,
        "words": [{"word": "not", "log_odds": -0.5}, {"word": "a", "log_odds": 0.25}],
    }
    assert "lowers (red) the linear branch's log odds of the predicted class" in example_notes([example])
    number = replace(example, branch=replace(branch, measure="number"))
    assert "lowers (red) the linear branch's number; its share" in example_notes([number])
    print_predictions(["not a film"], {0: example}, as_json=False, top=2)
    assert "linear branch, 90 % of the logits" in capsys.readouterr().out
