"""`python -m benchmarks.time_to_accuracy`: fastText and Heedful."""

import importlib.util

from benchmarks import time_to_accuracy


def test_fasttext_is_omitted_if_it_is_not_installed(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    options = time_to_accuracy.parse_arguments([])
    assert not list(time_to_accuracy.fasttext_rows(None, tmp_path, options))  # type: ignore[arg-type]
    assert "pip install fasttext-wheel" in capsys.readouterr().err
