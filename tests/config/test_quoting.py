import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from src.config.quoting import quote, quote_if_needed


@given(st.text(st.characters(codec="utf-8")) | st.text(alphabet="\\$\"'{}[]=,: ?\n"))
@example('He said "never", and it\'s a {lie}: [1, 2]')
@example("${oc.env:HOME} \\${x} \\\\${y")
@example("new\nline, trailing \\")
@example("null")
def test_hydra_parses_quoted_text_to_the_original(text: str) -> None:
    cfg = OmegaConf.create({"text": None})
    OmegaConf.update(cfg, "text", OverridesParser.create().parse_override(f"text={quote(text)}").value())
    assert cfg.text == text
    assert OmegaConf.to_container(cfg, resolve=True) == {"text": text}


@pytest.mark.parametrize("text", ["runs/a-1/last_2.ckpt", "~/a b", "a,b", "", "???", "${x}", "é/ß.ckpt"])
def test_a_value_is_quoted_only_if_needed(text: str) -> None:
    quoted = quote_if_needed(text)
    cfg = OmegaConf.create({"path": None})
    OmegaConf.update(cfg, "path", OverridesParser.create().parse_override(f"path={quoted}").value())
    assert cfg.path == text
    assert (quoted == text) == (text == "runs/a-1/last_2.ckpt")
