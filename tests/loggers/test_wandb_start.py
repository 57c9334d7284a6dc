"""The start of a W&B run."""

from pathlib import Path

import pytest

from src.errors import UserError
from tests.helpers import one_class_data, train


@pytest.mark.parametrize(("mode", "offline"), [("online", True), (None, False)])
def test_an_online_run_without_an_account_is_refused_before_data_are_read(
    mode: str | None, offline: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_MODE")
    if mode:
        monkeypatch.setenv("WANDB_MODE", mode)
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with pytest.raises(UserError, match="needs a W&B account: run `wandb login`"):
        train(tmp_path / "run", "logger=wandb", f"logger.wandb.offline={offline}", *one_class_data(tmp_path))
    assert not (tmp_path / "run" / "wandb").exists()
