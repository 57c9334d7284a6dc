import numpy as np
import pytest

from studies.faithfulness.plausibility import areas_under_curve, find_words, iou_f1, mark_tokens, plausibility


def bools(text: str) -> np.ndarray:
    return np.array([letter == "x" for letter in text])


def test_tokens_that_overlap_a_span_are_marked() -> None:
    spans = np.array([[0, 3], [3, 4], [5, 9], [10, 12]])
    assert mark_tokens(spans, [(4, 6), (11, 20)]).tolist() == [False, False, True, True]
    assert not mark_tokens(spans, []).any()


def test_words_are_found_in_their_order() -> None:
    text = "is  this\nhis ?"
    assert [text[start:stop] for start, stop in find_words(text, text.split())] == ["is", "this", "his", "?"]
    assert find_words(text, ["is", "th", "is", "his"])[2].tolist() == [6, 8]


def test_average_precision_and_the_trapezoidal_rule() -> None:
    # marked tokens at ranks 1 and 4 of 5: precision 1, 1/2, 1/3, 1/2
    average, trapezoid = areas_under_curve(np.array([2, 0, 1, 4, 3]), bools("..x.x"))
    assert average == pytest.approx((1 + 1 / 2) / 2)
    assert trapezoid == pytest.approx((1 + (1 / 3 + 1 / 2) / 2) / 2)


def test_iou_f1_matches_runs_of_tokens() -> None:
    # runs 0-2 and 5-6 against 1-3 (IOU 1/3), 5-7 (1/2) and 9-10: precision 1/2, recall 1/3
    assert iou_f1(bools("xx...x...."), bools(".xx..xx..x")) == pytest.approx(0.4)
    assert iou_f1(bools("x.."), bools("..x")) == 0


def test_a_ranking_selects_the_share_of_tokens_that_people_mark() -> None:
    ranked = {"a": [np.array([1, 0, 3, 2]), np.array([0, 1])], "b": [np.array([3, 2, 1, 0]), np.array([1, 0])]}
    scores = plausibility(ranked, [bools("xx.."), bools("..")], share=0.5)
    assert scores["token_f1"] == pytest.approx(np.array([[1, np.nan], [0, np.nan]]), nan_ok=True)
    assert scores["iou_f1"] == pytest.approx(np.array([[1, np.nan], [0, np.nan]]), nan_ok=True)
    assert scores["auprc"][:, 0] == pytest.approx([1, (1 / 3 + 2 / 4) / 2])
    # of three selected tokens of five, two are marked
    (token_f1,) = plausibility({"a": [np.array([0, 1, 4, 2, 3])]}, [bools("x..xx")], share=0.6)["token_f1"]
    assert token_f1 == pytest.approx([2 / 3])
