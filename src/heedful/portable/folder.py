"""The files of an exported model other than the ONNX files."""

import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from heedful.base.errors import UserError
from heedful.base.files import write_text
from heedful.config.keys import MODEL_COMPONENTS
from heedful.portable.onnx_model import PortableModel
from heedful.runs.checkpoint import Card
from heedful.runs.result import RunResult

FILES = Path(__file__).parent / "files"
FORMAT = 1  # format version of config.json
MARKUP = "\\`*_{}[]<>#|"  # characters with a meaning in Markdown or HTML


@contextmanager
def new_folder(out: str) -> Iterator[Path]:
    """Yield a new folder next to `out`; it becomes `out` if the block raises no exception, and is deleted otherwise."""
    target = Path(out).absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"out={out}: exists and is not an empty folder: choose another name")
    folder = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"out={out}: cannot be created ({error.strerror})") from error
    try:
        yield folder
        folder.replace(target)
    except OSError as error:
        error.filename = str(target)  # the error for a full disk has no file name
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_model(folder: Path, card: Card, portable: PortableModel) -> None:
    """Write the tokenizer, the configuration, the weights, and the script that classifies texts."""
    from safetensors.torch import save

    codec = card.codec
    ids = torch.arange(portable.vocab_size).unsqueeze(1)  # a text for each token
    known = portable.model.has_known_token(ids, torch.ones_like(ids, dtype=torch.bool), codec.tokenizer.unknown_id)
    config = {
        "format": FORMAT,
        "class_names": codec.class_names,
        "max_length": codec.max_length,
        "keep": codec.keep,
        "id_shift": codec.tokenizer.shift,
        "unknown_ids": (~known).nonzero().flatten().tolist(),
        "training": {name: card.config[name] for name in ("model", "loss")},
    }
    write_text(folder / "config.json", json.dumps(config, indent=2, ensure_ascii=False))
    write_text(folder / "tokenizer.json", codec.tokenizer.to_json())
    weights = {name: weight.detach().clone().contiguous() for name, weight in portable.state_dict().items()}
    (folder / "model.safetensors").write_bytes(save(weights))
    shutil.copyfile(FILES / "predict.py", folder / "predict.py")


def write_model_card(
    folder: Path, card: Card, checkpoint: str, portable: PortableModel, difference: float, int8: str
) -> None:
    """Write README.md, with the scores on the test split, or on the validation split if the run was not tested.
    The scores are known if the checkpoint is in the folder of its run. `int8` describes the accuracy of the int8 model;
    it is empty if there is none.
    """
    result = RunResult.load(Path(checkpoint).resolve().parent.parent)
    data, choices = card.config["data"], card.choices
    source = data.get("path") or data.get("name") or str(data.get("_target_", "")).rpartition(".")[2]
    scores = {
        name.removeprefix(f"{result.split}/"): score
        for name, score in result.metrics.items()
        if name.startswith(f"{result.split}/") and score.value is not None
    }
    environment = Environment(
        loader=FileSystemLoader(FILES), undefined=StrictUndefined, trim_blocks=True, finalize=_escape, autoescape=False
    )
    text = environment.get_template("README.md.j2").render(
        codec=card.codec,
        architecture=RunResult(choices=choices).architecture,
        components=[f"{part} {choices[part]}" for part in (*MODEL_COMPONENTS, "branch") if part in choices],
        parameters=sum(parameter.numel() for parameter in portable.parameters()),
        data=Path(str(source)).name,
        sizes=[f"{size:,} {split}" for split, size in result.data.sizes.items()],
        result=result,
        split=result.split,
        scores=scores,
        difference=difference,
        int8=int8,
    )
    write_text(folder / "README.md", text)


def _escape(value: Any) -> Any:
    """Escape the characters in MARKUP in a string, such as a class name; each run of whitespace becomes one space."""
    if not isinstance(value, str):
        return value
    return " ".join("".join(f"\\{c}" if c in MARKUP else c for c in value).split())
