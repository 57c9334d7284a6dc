"""Configurations are written as OmegaConf writes and reads them."""

from pathlib import Path

from omegaconf import OmegaConf

from heedful.base.files import write_yaml


def test_a_configuration_is_written_as_by_omegaconf(tmp_path: Path) -> None:
    numbers = ["1e3", "nan", "y", "No", "0x1F", "1_000", ".5", "0o7", "1:30", "2020-01-01", "null", "~", "="]
    texts = ["é “x”", "a: b", "#x", "", " lead", "two\nlines", f"{'x ' * 99}", "- a", "*a", "!t", "${a}", "it's", '"q"']
    values = [None, 1.5, 1e-7, float("inf"), True, 3, [], {}, {"a": [{"b": "C++"}]}]
    config = {"texts": [numbers, texts, numbers], "values": values}
    write_yaml(tmp_path / "config.yaml", config)
    assert (tmp_path / "config.yaml").read_text(encoding="utf-8") == OmegaConf.to_yaml(config)
