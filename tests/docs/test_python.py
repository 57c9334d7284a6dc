"""The examples in docs/python.md."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
MULTI_HEAD = '"model/attention=multi_head"'
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(heading: str) -> list[str]:
    """The examples below a heading of the second level, with trainings of one epoch."""
    (section,) = [part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE) if part.startswith(heading)]
    return [re.sub(r"max_epochs=\d", "max_epochs=1", block) for block in BLOCK.findall(section)]


@pytest.mark.filterwarnings("ignore")  # Lightning's hints
def test_the_script_with_lightning_runs(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names: dict[str, Any] = {}
    for block in blocks("Your own Lightning script"):
        exec(block, names)
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "checkpoints", "lightning_logs"}
    assert names["probabilities"].shape == (8, 3) and len(names["predicted"]) == 8
    assert names["module"].lr == names["trainer"].optimizers[0].param_groups[0]["lr"] == 0.0005
    assert set(capsys.readouterr().out.splitlines()) & set(names["data"].class_names)


@pytest.mark.filterwarnings("ignore")  # wandb's
def test_the_examples_of_train_scikit_learn_and_load_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.training.run.write_run_report", lambda *_: [])  # drawing takes most of the time
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names: dict[str, Any] = {}
    for heading in ("Train", "scikit-learn", "Load, save and share models"):
        for block in blocks(heading):
            short = block.replace("[0.001, 0.01]", "[0.01]").replace(', "bahdanau"]', "]")  # a search of a quarter
            short = short.replace(MULTI_HEAD, f"[{MULTI_HEAD}, 'trainer.max_epochs=1']")
            exec(short, names)
    run = names["run"]
    assert run.result.choices["branch"] == "ngrams" and run.result.status == "completed"
    assert names["search"].best_params_.keys() == {"model/attention", "optimizer.lr"}
    assert names["model"].predict(["Great fun"]) == run.model.predict(["Great fun"])
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "my_model", "outputs"}
