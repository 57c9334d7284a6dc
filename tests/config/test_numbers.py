"""A number that an option does not accept is reported; any other number passes the dry build."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig, OmegaConf

from src.config.validation import config_mistakes, option_at
from src.config.values import matches_type
from src.dry_build import build_mistakes
from tests.helpers import CONF, no_skipped_component, small_config

VALUES = (0, -1, -7, 10**9, 10**30, float("nan"), float("inf"), "x", None)
REQUIRED = {  # choice → the overrides that it requires
    "data/csv": ["data.path={file}", "data.text=text", "data.label=label"],
    "data/rotten_tomatoes": ["data.path={file}"],
    "data/eraser_movies": ["data.path={file.parent}"],
    "data/hub": ["data.name=owner/name"],
    "data/tokenizer/pretrained": ["data.tokenizer.name_or_path=owner/name"],
    "callbacks/lexicon": ["callbacks.lexicon.path={file}"],
    "model/position/rotary": ["model/encoder=transformer"],
}
GROUPS = ("callbacks", "data", "extras", "logger", "loss", "model", "optimizer", "scheduler", "trainer")
SKIPPED = {"data/base", "callbacks/default", "callbacks/eval", "model/encoder/pretrained", "model/embedding/pretrained"}
SKIPPED |= {f"model/encoder/{name}" for name in ("bigru", "birnn", "gru", "lstm", "rnn")}  # same options as bilstm
SKIPPED |= {f"trainer/{name}" for name in ("cpu", "ddp", "ddp_sim", "gpu", "mps")}  # same options as default
CHOICES = [
    name
    for group in GROUPS
    for path in sorted((Path(CONF) / group).rglob("*.yaml"))
    if (name := str(path.relative_to(CONF).with_suffix(""))) not in SKIPPED
]


def config(choice: str, folder: Path) -> DictConfig:
    """The nodes of a configuration with this choice that its dry build needs."""
    group, _, name = choice.rpartition("/")
    file = folder / "file.csv"
    file.write_text("good,1\n" if choice == "callbacks/lexicon" else "text,label\nPhrase,0\n")
    for split in ("train", "validation", "test") if choice == "data/eraser_movies" else ():
        (folder / f"{split}.parquet").touch()
    # Torch traces a recurrent encoder slowly on its meta device; the other components do not depend on it.
    small_overrides = ["model/encoder=identity"] if group.startswith("model/") and group != "model/encoder" else []
    small_overrides += (
        ["model/embedding=learned", "model.embedding.dim=16"]
        if group in ("model/attention", "model/pooling", "model/head")
        else []
    )
    required = [option.format(file=file) for option in REQUIRED.get(choice, [])]
    composed: Any = OmegaConf.to_container(
        small_config(folder, [*small_overrides, f"{group}={name}", *required]), resolve=True
    )
    top = group.split("/")[0]
    cfg = OmegaConf.create({key: composed[key] for key in (top, "extras", "seed", "train", "test", "ckpt_path")})
    if top == "optimizer":
        cfg.param_groups = {"head": dict(composed["optimizer"])}
        del cfg.param_groups.head["_target_"]
    if top == "scheduler":
        cfg.optimizer = composed["optimizer"]
    return cfg


def numbers(node: Any, cfg: DictConfig, path: str = "") -> Iterator[str]:
    """Yield the path of each option whose value is a number, and of each null option that accepts a number."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        inner = f"{path}[{key}]" if isinstance(node, list) else f"{path}.{key}" if path else str(key)
        option = option_at(cfg, "train", inner) if value is None else None
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number or (option is not None and matches_type(3, option.hint)):
            yield inner
        yield from numbers(value, cfg, inner)


@pytest.mark.parametrize("choice", CHOICES)
def test_every_number_is_refused_with_a_message_or_passes_the_dry_build(choice: str, tmp_path: Path) -> None:
    cfg = config(choice, tmp_path)
    with no_skipped_component():
        assert build_mistakes(cfg) == list(config_mistakes(cfg, "train")) == []
    prefixes = (choice.rpartition("/")[0].replace("/", "."), "seed" if choice.startswith("extras") else "param_groups")
    for path in [path for path in numbers(OmegaConf.to_container(cfg), cfg) if path.startswith(prefixes)]:
        original = OmegaConf.select(cfg, path)
        for value in VALUES:
            OmegaConf.update(cfg, path, value)
            mistakes = list(config_mistakes(cfg, "train"))
            if not mistakes or value == "x":  # the dry build resets an invalid option
                try:
                    with no_skipped_component():
                        mistakes += build_mistakes(cfg, mistakes)
                except Exception as error:
                    raise AssertionError(f"{path}={value} raises {error!r} instead of a reported mistake") from error
            assert all(entry and message for entry, message in mistakes)
            if value != value or value == 10**30:
                assert mistakes, f"{path}={value} is accepted"
        OmegaConf.update(cfg, path, original)
