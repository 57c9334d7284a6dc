"""One class for each text, against numbers computed by hand."""

import math

import numpy as np
import pytest
import torch

from heedful.tasks.multiclass import Multiclass
from heedful.tasks.stored import read_task, write_task

TASK = Multiclass(("x", "y", "z"))


def test_labels_become_numbers_and_names_again() -> None:
    """Of five texts, whose labels are the numbers of the distinct labels z and x."""
    targets = TASK.encode(["z", "x"], np.array([0, 1, 1, 0, 1]), np.ones(5, dtype=int))
    assert (targets.tolist(), TASK.decode(targets)) == ([2, 0, 0, 2, 0], ["z", "x", "x", "z", "x"])
    assert TASK.recode(np.array([0, 1]), ["z", "y"]).tolist() == [2, 1]
    assert TASK.class_counts(targets).tolist() == [3, 0, 2]
    assert TASK.class_counts(targets, groups=np.array([7, 3, 3, 7, 3])).tolist() == [1, 0, 1]


def test_probabilities_are_the_softmax_or_those_of_a_single_log_odds() -> None:
    logits = torch.tensor([[math.log(2.0), math.log(3.0), math.log(5.0)]])
    assert TASK.probabilities(logits).tolist() == [pytest.approx([0.2, 0.3, 0.5])]
    assert TASK.probabilities(TASK.logits(torch.tensor([[0.2, 0.3, 0.5]]))).tolist() == [pytest.approx([0.2, 0.3, 0.5])]
    assert Multiclass(("x", "y")).probabilities(torch.tensor([[math.log(4.0)]])).tolist() == [pytest.approx([0.2, 0.8])]


def test_a_stored_task_is_the_same_and_a_file_without_its_name_is_multiclass() -> None:
    assert read_task(write_task(TASK)) == TASK == read_task({"classes": ["x", "y", "z"]})
    with pytest.raises(ValueError, match="there is no task 'dance' in this version"):
        read_task({"name": "dance"})
