"""A configuration is resolved once; a value that cannot be resolved does not hide the others."""

import pytest
from omegaconf import DictConfig, OmegaConf

from src.config.plain import MISSING, Unresolved, join_path, plain_value, plain_values, value_at


@pytest.fixture
def cfg() -> DictConfig:
    return OmegaConf.create(
        {"a": {"b": 3, "c": "${a.b}"}, "d": ["${gone}", "${a.c}"], "e": "???", "f": "${a}", "g": "${e}", "h": None}
    )


def test_values_are_resolved_and_failures_are_values(cfg: DictConfig) -> None:
    values = plain_values(cfg)
    assert values["a"] == values["f"] == {"b": 3, "c": 3}
    assert values["d"] == [Unresolved("${gone}", "Interpolation key 'gone' not found"), 3]
    assert (values["e"], values["h"]) == (MISSING, None)
    assert values["g"].written == "${e}"
    assert plain_values(cfg, lambda written, reason: written)["d"] == ["${gone}", 3]


def test_values_are_selected_by_their_paths(cfg: DictConfig) -> None:
    assert [plain_value(cfg, path) for path in ("a", "f.c", "a.x", "x.y", "g")] == [
        {"b": 3, "c": 3},
        3,
        None,
        None,
        None,
    ]
    assert [value_at({"a": {"b": 5}}, path) for path in ("a.b", "a", "a.c", "a.b.c", "x")] == [
        *(5, {"b": 5}, None, None, None)
    ]
    assert [join_path("a", 2), join_path("a", "b"), join_path("", "b")] == ["a[2]", "a.b", "b"]
