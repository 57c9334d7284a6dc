"""A run composes and validates its configuration once, and validates the names of its options first."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from omegaconf import OmegaConf

import src.cli.configuration
import src.config.validation
import src.dry_build
import src.train
from src.config.validation import is_validated, mark_validated
from src.errors import UserError
from tests.helpers import ROOT


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Counter[str]:
    """The number of calls of each counted function; a run ends before it reads data."""
    counts: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)

        def counting(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, counting)

    def end(*args: Any) -> None:
        raise UserError("the end of the test")

    count(ConfigLoaderImpl, "_load_configuration_impl")
    count(src.cli.configuration, "config_mistakes")
    count(src.config.validation, "config_mistakes")
    count(src.dry_build, "build_mistakes")
    monkeypatch.setattr("src.build.loggers", end)
    monkeypatch.setenv("PL_GLOBAL_SEED", "0")  # restored after the test
    monkeypatch.chdir(tmp_path)
    return counts


@pytest.mark.parametrize(
    "overrides",
    [[], ["model/attention=luong_general"], ["experiment=speedrun", "optimizer.lr=0.1", "hydra.verbose=false"]],
)
def test_a_run_composes_and_validates_once(
    calls: Counter[str], monkeypatch: pytest.MonkeyPatch, overrides: list[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["src/train.py", *overrides])
    with pytest.raises(SystemExit, match="the end of the test"):
        src.train.main()
    assert calls == {"_load_configuration_impl": 1, "config_mistakes": 1, "build_mistakes": 1}


def test_a_copy_of_a_validated_configuration_is_not_marked() -> None:
    cfg = OmegaConf.create({"seed": 1})
    mark_validated(cfg)
    assert is_validated(cfg)
    assert not is_validated(cfg.copy())


@pytest.mark.parametrize("arguments", [["optimizer.lrr=3"], ["model/attention=luong"], ["-m", "sede=1,2"]])
def test_wrong_names_are_reported_before_torch_is_imported(arguments: list[str]) -> None:
    code = (
        f"import sys, src.train; sys.argv[1:] = {arguments}\n"
        "try: src.train.main()\nexcept SystemExit as end: print(end)\nprint(*sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    message, _, modules = process.stdout.strip().rpartition("\n")
    assert message.startswith("Error: 1 mistake in the configuration; nothing was started.")
    assert not {"torch", "pytorch_lightning", "datasets", "numpy"} & set(modules.split())
