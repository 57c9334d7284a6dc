"""Text quoted in Hydra's grammar of overrides."""

from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import assume, example, given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from heedful.config.compose import VERSION_BASE
from heedful.config.overrides import format_override, quote


@given(st.text(st.characters(codec="utf-8")) | st.text(alphabet="\\$\"'{}[]=,: ?\n"))
@example('He said "never", and it\'s a {lie}: [1, 2]')
@example("${oc.env:HOME} \\${x} \\\\${y")
@example("new\nline, trailing \\")
@example("null")
@example("runs/a-1/last_2.ckpt")
@example("~/a b")
@example("???")
@example("é/ß.ckpt")
def test_hydra_parses_quoted_text_to_the_original(text: str) -> None:
    assume(text != "???" or VERSION_BASE)  # OmegaConf 2.4 refuses a reference to this value
    cfg = OmegaConf.create({"text": None})
    OmegaConf.update(cfg, "text", OverridesParser.create().parse_override(f"text={quote(text)}").value())
    assert cfg.text == text
    assert OmegaConf.to_container(cfg, resolve=True) == {"text": text}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
        lambda children: st.lists(children) | st.dictionaries(st.from_regex(r"[a-z]+", fullmatch=True), children),
        max_leaves=5,
    )
)
@example("multi_head")
@example("Null")
@example([1e-05, "a b", {"x": [True, None]}])
def test_hydra_parses_a_formatted_value_to_the_original(value: object) -> None:
    cfg = OmegaConf.create({"value": None})
    OmegaConf.update(cfg, "value", OverridesParser.create().parse_override(format_override("value", value)).value())
    assert OmegaConf.to_container(cfg, resolve=True) == {"value": value}


def test_a_name_or_a_simple_path_needs_no_quotes() -> None:
    assert format_override("model/attention", "multi_head") == "model/attention=multi_head"
    assert quote("runs/a-1/last_2.ckpt") == "runs/a-1/last_2.ckpt"
