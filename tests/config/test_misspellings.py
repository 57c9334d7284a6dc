"""Whatever is misspelt by one edit is told what was probably meant."""

from functools import cache

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from src.cli.overrides import command_line_mistakes
from src.config.composition import without_hydra
from src.config.dotted_paths import paths_in
from tests.config.conftest import repository


@cache
def keys() -> dict[str, str]:
    """Every option and group that the fake command line takes, with a value for it."""
    task = OmegaConf.to_container(without_hydra(repository().compose([])), resolve=False)
    groups = {group: choices[0] for group, choices in repository().groups.items() if choices}
    return dict.fromkeys(paths_in(task), "1") | {key: one for key, one in groups.items() if key[:5] != "hydra"}


letters = st.sampled_from("abcdefghijklmnopqrstuvwxyzABC_0189./- :@é(")


@st.composite
def misspellings(draw: st.DrawFn) -> tuple[str, str]:
    key = draw(st.sampled_from(sorted(keys())))
    at = draw(st.integers(0, len(key) - 1))
    letter = draw(letters)
    edits = [
        key[:at] + key[at + 1 :],
        key[:at] + letter + key[at:],
        key[:at] + letter + key[at + 1 :],
        key[:at] + key[at : at + 2][::-1] + key[at + 2 :],
    ]
    return key, draw(st.sampled_from(edits))


@given(misspellings())
@example(("optimizer.lr", "optimizer.l"))
@example(("seed", "sed"))
@example(("data", "@data"))
@example(("model.encoder.hidden_dim", "model.encoder.hidden dim"))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_one_edit_from_a_key_is_one_mistake_with_a_suggestion(pair: tuple[str, str]) -> None:
    key, misspelt = pair
    assume(misspelt not in keys() and not misspelt.endswith("@"))
    found = command_line_mistakes(repository(), [f"{misspelt}={keys()[key]}"], sweeps=False, deep=False)
    assert len(found) == 1
    assert "did you mean " in found[0].what or ": write " in found[0].what
