"""The share of the weight on words of a lexicon, compared with chance."""

import numpy as np
import pytest

from studies.lexicon import compare_with_chance, main


def test_shares_equal_numbers_computed_by_hand() -> None:
    result = compare_with_chance(np.array([0.6, 0.2, 0.0]), np.array([0.2, 0.2, 0.0]))
    assert result["weight"] == pytest.approx(0.8 / 3)
    assert result["chance"] == pytest.approx(0.4 / 3)
    assert result["ratio"] == pytest.approx(2)
    assert result["texts_above_chance"] == pytest.approx(1 / 3)


def test_uniform_weights_are_exactly_at_chance(store, tmp_path, capsys) -> None:
    (tmp_path / "words.txt").write_text("good\t2\nbad\t-2\nnot\t-0.5\n")
    main(str(store("model/attention=uniform") / "checkpoints" / "best.ckpt"), str(tmp_path / "words.txt"))
    lines = dict(line.split(": ") for line in capsys.readouterr().out.splitlines()[-6:])
    assert 0 < float(lines["chance"]) < 1
    assert float(lines["ratio"]) == pytest.approx(1)
    assert float(lines["texts_above_chance"]) == 0
