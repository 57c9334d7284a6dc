from pathlib import Path

import pytest

from tests.helpers import small_config


def test_every_component_is_listed_with_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from src.train import main

    options = ["model.encoder.hidden_dim=6", "model.embedding.freeze=true", "trainer.max_epochs=1", "test=false"]
    reporting = ["logger=none", "callbacks=parts_summary"]
    cfg = small_config(tmp_path / "run", [*options, *reporting])
    main.__wrapped__(cfg)  # type: ignore[attr-defined]
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line.split()}
    assert rows["encoder"][1:] == ["Recurrent", "12", "2,784", "2,784"]  # 2 · 4 · 6 · (50 + 6 + 2)
    assert rows["embedding"][1:] == ["GloveEmbedding", "50", "1,800", "0"]
    assert rows["head"][1:] == ["LinearHead", "39", "39"]  # 3 · (12 + 1)
