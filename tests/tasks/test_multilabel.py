"""Any number of labels for each text, against numbers computed by hand, scikit-learn and derivatives."""

import math

import numpy as np
import pytest
import torch
from sklearn import metrics

from heedful.base.errors import UserError
from heedful.runtime import Fault
from heedful.tasks.multilabel import Multilabel
from heedful.tasks.scores import average_precision
from heedful.tasks.stored import read_task, write_task

TASK = Multilabel(("x", "y", "z"))
rng = np.random.default_rng(5)
TARGETS = rng.random((61, 3)) < (0.5, 0.3, 0.1)
PROBABILITIES = (0.5 * TARGETS + 0.7 * rng.random((61, 3))).round(1).clip(0, 1)  # with ties


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        *((["b", "a"], ["b", "a"]), ([], []), ("b|a", ["b", "a"]), ("b", ["b"]), ("", []), (None, [None]), (7, [7])),
        *(('["b|c", "a"]', ["b|c", "a"]), ("['b', 'a']", ["b", "a"]), ("[]", []), ("['b' 'a']", ["b", "a"])),
        *((cell, ["b", "a"]) for cell in ("['b','a']", "['b'\n 'a']", "('b', 'a')", "{'b', 'a'}", "{b,a}", "[b, a]")),
        *(("[2 10\n 3]", ["2", "10", "3"]), ("[ True False]", ["True", "False"]), ("(a, b)|c", ["(a, b)", "c"])),
        *(("('b',)", ["b"]), ("[b]", ["b"]), ('{b,"c d"}', ["b", "c d"]), ("set()", []), ("{}", []), ("(b)", ["(b)"])),
    ],
)
def test_a_cell_has_the_labels_of_a_list_or_between_separators(cell: object, labels: list[object]) -> None:
    assert TASK.split(cell) == labels


@pytest.mark.parametrize(
    "cell",
    ["frozenset({'a', 'b'})", "[Decimal('1.50')]", "['a', nan]", "array(['a'], dtype=object)", "(a, b)", '{"a": 1}'],
)
def test_other_objects_as_python_prints_them_are_refused(cell: str) -> None:
    with pytest.raises(Fault, match="which is no list of labels: write"):
        Multilabel(separator=",").split(cell) if cell == "(a, b)" else TASK.split(cell)


def test_spaces_between_labels_are_refused_unless_the_separator_is_given() -> None:
    cells = ["food travel", "food", "travel", ""]
    with pytest.raises(UserError, match=r"labels such as 'food travel': .* set task\.separator=' ', or task\.sep"):
        Multilabel().suited(cells)
    assert Multilabel(separator=" ").split(cells[0]) == ["food", "travel"]
    assert Multilabel().suited(["New York", "food", "New Delhi", ""])[0].between == "|"


def test_labels_become_booleans_and_names_again() -> None:
    """The labels of four texts: z and x, none, x, and y twice."""
    targets = TASK.encode(["z", "x", "y"], np.array([0, 1, 1, 2, 2]), np.array([2, 0, 1, 2]))
    assert targets.tolist() == [[True, False, True], [False] * 3, [True, False, False], [False, True, False]]
    assert TASK.decode(targets) == ["x|z", "", "x", "y"]
    assert Multilabel(("z", "w", "y", "x")).recode(targets, TASK.classes)[0].tolist() == [True, False, False, True]
    assert TASK.class_counts(targets).tolist() == [2, 1, 1]
    assert TASK.class_counts(targets, groups=np.array([5, 5, 5, 2])).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("cells", "separator", "message"),
    [
        (["a, b", "b, c", "c", "", "a, c"], ",", "task.separator=',': 3 of the first 5 rows have several labels"),
        (["a;b, c", "b, c;d", "a", "d;a"], ";", "3 of the first 4 rows have several labels, such as 'a;b, c'"),
        (["a/b", "a", "b"], "|", "0 of the first 3 rows have several labels; if another character"),
        (["a|b", "c|d", "e"], "|", "2 of the first 3 rows"),
        ([["a", "b"], [], '["a"]'], "|", ""),
    ],
)
def test_the_separator_with_which_most_cells_combine_others_is_found(cells, separator, message) -> None:
    task, said = Multilabel().suited(cells)
    assert (task.between, message in said, bool(said)) == (separator, True, bool(message))
    assert Multilabel(separator="-").suited(cells) == (Multilabel(separator="-"), "")


def test_a_text_is_in_the_stratum_of_its_rarest_label() -> None:
    targets = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=bool)
    assert TASK.strata(targets).tolist() == [1, 0, 2, 1, 0, 3]  # x 4, y 3, z 1 texts


def test_parts_have_their_share_of_every_label() -> None:
    """By hand: of 10 texts with x, 5 of them with y, 4 others with z and 6 without, half have 5 x, 2 or 3 y and 2 z."""
    targets = np.repeat([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]], [5, 5, 4, 6], axis=0).astype(bool)
    half = TASK.draw(targets, 10, spare=1, seed=(0,))
    assert (half == np.unique(half)).all() and len(half) == 10
    assert targets[half].sum(0).tolist() in ([5, 2, 2], [5, 3, 2])
    assert TASK.draw(targets, 10, spare=1, seed=(1,)).tolist() != half.tolist()
    folds = TASK.folds(targets, 5, (0,))
    assert np.bincount(folds).tolist() == [4] * 5
    assert [targets[folds == fold].sum(0)[:2].tolist() for fold in range(5)] == [[2, 1]] * 5
    assert sorted(targets[folds == fold, 2].sum() for fold in range(5)) == [0, 1, 1, 1, 1]


@pytest.mark.parametrize("spare", [0, 1])
def test_few_texts_of_a_label_are_on_both_sides(spare: int) -> None:
    """Of 2 texts with z, 10 % are 0.2; one is drawn, and of the others 8 % to 12 % of 53, in all a tenth of 101."""
    targets = np.zeros((101, 3), dtype=bool)
    targets[:53, 0], targets[50:97, 1], targets[[7, 83], 2] = True, True, True
    drawn = TASK.draw(targets, 10, spare, (0,))
    assert len(drawn) == 10 and (abs(targets[drawn].sum(0) - [5.3, 4.7, 1]) < 1).all()
    assert len(TASK.draw(targets, 0, spare, (0,))) == 4  # one of each rarest label, and one without a label


def test_labels_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(ValueError, match=r"the label 'a\|b' contains '\|'.*task\.separator"):
        TASK.find_classes(["a|b", "c"])
    with pytest.raises(ValueError, match=r"all labels are 0 or 1: .* give columns of 0 and 1, data\.label="):
        TASK.find_classes(["1", "0"])  # the rows of a matrix of scikit-learn


def test_a_text_has_the_classes_whose_probabilities_reach_their_thresholds() -> None:
    task, probabilities = Multilabel(("x", "y"), thresholds=(0.7, 0.25)), np.array([[0.7, 0.2], [0.6, 0.9]])
    assert task.predicted(probabilities).tolist() == [[True, False], [False, True]]
    assert torch.equal(task.predicted(torch.tensor(probabilities)), torch.tensor([[True, False], [False, True]]))
    assert task.confidence(probabilities).tolist() == pytest.approx([0.7, 0.4])
    assert Multilabel(("x", "y")).predicted(probabilities).tolist() == [[True, False], [True, True]]


def test_thresholds_have_the_highest_f1_or_a_precision_on_the_validation_texts() -> None:
    """By hand: of x, F1 is 2/3, 1/2, 4/5, 2/3, 4/7 from the highest probability on; y has no text."""
    probabilities = np.array([[0.9, 0.1], [0.8, 0.4], [0.6, 0.7], [0.4, 0.2], [0.2, 0.9]])
    targets = np.array([[1, 0], [0, 0], [1, 0], [0, 0], [0, 0]], dtype=bool)
    assert Multilabel(("x", "y")).fit(probabilities, targets).thresholds == pytest.approx((0.5, 0.5))
    assert Multilabel(("x", "y"), precision=0.9).fit(probabilities, targets).thresholds == pytest.approx((0.85, 0.5))
    fitted = TASK.fit(PROBABILITIES, TARGETS)
    best = [
        max(metrics.f1_score(TARGETS[:, c], PROBABILITIES[:, c] >= t) for t in np.arange(21) / 20) for c in range(3)
    ]
    found = metrics.f1_score(TARGETS, fitted.predicted(PROBABILITIES), average=None)
    assert found.tolist() == pytest.approx(best)


def test_scores_equal_those_of_scikit_learn() -> None:
    task = Multilabel(("x", "y", "z"), thresholds=(0.5, 0.6, 0.3))
    predicted = PROBABILITIES >= (0.5, 0.6, 0.3)
    expected = {
        "acc": metrics.accuracy_score(TARGETS, predicted),
        "f1_micro": metrics.f1_score(TARGETS, predicted, average="micro"),
        "f1_macro": metrics.f1_score(TARGETS, predicted, average="macro"),
        "hamming": metrics.hamming_loss(TARGETS, predicted),
        "map": metrics.average_precision_score(TARGETS, PROBABILITIES, average="macro"),
    }
    terms = {name: score.terms(PROBABILITIES, TARGETS) for name, score in task.scores.items()}
    assert {name: each.mean() for name, each in terms.items() if each is not None} == pytest.approx(expected)


def test_the_terms_of_average_precision_are_its_derivatives() -> None:
    """The term of a text is the precision plus n times the derivative with respect to the weight of the text."""
    scores, positive, step = PROBABILITIES[:, 1], TARGETS[:, 1], 1e-5
    value, terms = metrics.average_precision_score(positive, scores), average_precision(scores, positive)
    for text in range(0, 61, 7):
        ends = [np.where(np.arange(61) == text, 1 + sign * step, 1.0) for sign in (1, -1)]
        high, low = (metrics.average_precision_score(positive, scores, sample_weight=each) for each in ends)
        assert terms[text] == pytest.approx(value + 61 * (high - low) / (2 * step), abs=1e-4)


def test_probabilities_are_logistic_functions_and_have_logits() -> None:
    logits = torch.tensor([[0.0, math.log(3.0), -math.log(4.0)]])
    probabilities = TASK.probabilities(logits)
    assert probabilities.tolist() == [pytest.approx([0.5, 0.75, 0.2])]
    assert torch.allclose(TASK.logits(probabilities), logits, atol=1e-5)


def test_several_models_have_mean_thresholds_and_folds_their_own() -> None:
    first, second = (Multilabel(("x", "y"), thresholds=each) for each in ((0.2, 0.4), (0.6, 0.8)))
    other = Multilabel(("y", "x"), thresholds=(0.8, 0.6))  # the second in another order
    assert first.joint([first, other]).thresholds == pytest.approx((0.4, 0.6))
    pooled = first.pool([first, second], [1, 2])
    joint = pooled.joint([pooled, first.pool([second, second], [1, 2])])  # of several seeds of a cross-validation
    assert np.asarray(joint.thresholds) == pytest.approx(
        np.mean([[first.thresholds, second.thresholds, second.thresholds], [second.thresholds] * 3], 0)
    )
    assert pooled.predicted(np.full((3, 2), 0.5)).tolist() == [[True, True], [False, False], [False, False]]


def test_a_stored_task_has_its_thresholds() -> None:
    task = Multilabel(("x", "y"), separator=";", thresholds=(0.25, 0.5))
    stored = read_task(write_task(task))
    assert (stored.classes, stored.predicted(np.array([[0.3, 0.3]])).tolist()) == (("x", "y"), [[True, False]])
    assert stored.decode(np.array([[True, True]])) == ["x;y"]


def test_the_threshold_of_a_class_follows_its_name_and_another_class_is_never_predicted() -> None:
    task = Multilabel(("b", "a"), thresholds=(0.25, 0.75)).with_classes(("a", "b", "c"))
    assert task.predicted(np.array([[0.5, 0.5, 0.0]])).tolist() == [[False, True, False]]
