"""A key with one edit is reported with a suggestion."""

from functools import cache

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from heedful.config.compose import without_hydra
from heedful.config.keys import paths_in
from tests.config.conftest import repository


@cache
def keys() -> dict[str, str]:
    """Every option and group of the test configuration, with a value."""
    task = OmegaConf.to_container(without_hydra(repository().compose([])), resolve=False)
    groups = {group: choices[0] for group, choices in repository().groups.items() if choices}
    return dict.fromkeys(paths_in(task), "1") | {key: choice for key, choice in groups.items() if key[:5] != "hydra"}


letters = st.sampled_from("abcdefghijklmnopqrstuvwxyzABC_")


@st.composite
def misspellings(draw: st.DrawFn) -> tuple[str, str]:
    key = draw(st.sampled_from(sorted(keys())))
    position = draw(st.integers(0, len(key) - 1))
    letter = draw(letters)
    edits = [
        key[:position] + key[position + 1 :],
        key[:position] + letter + key[position:],
        key[:position] + letter + key[position + 1 :],
        key[:position] + key[position : position + 2][::-1] + key[position + 2 :],
    ]
    return key, draw(st.sampled_from(edits))


@given(misspellings())
@example(("optimizer.lr", "optimizer.l"))
@example(("seed", "sed"))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_one_edit_from_a_key_is_one_mistake_with_a_suggestion(pair: tuple[str, str]) -> None:
    key, misspelt = pair
    assume(misspelt not in keys() and not misspelt.endswith("."))
    mistakes = repository().check([f"{misspelt}={keys()[key]}"])[1]
    assert len(mistakes) == 1
    assert "did you mean " in mistakes[0].message or "write " in mistakes[0].message
