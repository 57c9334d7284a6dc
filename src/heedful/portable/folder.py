"""The files of an exported model other than the ONNX files."""

import ast
import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import ValidationError
from torch import nn

from heedful import runtime
from heedful.base.errors import UserError
from heedful.base.files import first_mistake, write_text
from heedful.base.formatting import format_count
from heedful.base.optional_packages import require_extra
from heedful.base.process import typed
from heedful.config.keys import MODEL_COMPONENTS
from heedful.data.padded_batches import Inputs
from heedful.data.schema import Schema
from heedful.models.ensemble import Member
from heedful.models.loss import plain_loss
from heedful.portable import CONFIG_FILE, TOKENIZER_FILE
from heedful.portable.onnx_model import OnnxClassifier, PortableModel, convert, load_session
from heedful.runs.checkpoint import Card
from heedful.runs.result import RunResult

FILES = Path(__file__).parent / "files"
FORMAT = 1  # format version of config.json
MARKUP = "\\`*_{}[]<>#|"  # characters with a meaning in Markdown or HTML


@contextmanager
def new_folder(out: str, option: str = "out") -> Iterator[Path]:
    """Yield a new folder next to `out`; it becomes `out` if the block raises no exception, and is deleted otherwise."""
    target = Path(out).absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{option}={out}: exists and is not an empty folder: choose another name")
    folder = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"{option}={out}: cannot be created ({error.strerror})") from error
    try:
        yield folder
        folder.replace(target)
    except OSError as error:
        error.filename = str(target)  # the error for a full disk has no file name
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def export_member(member: Member, out: str) -> float:
    """Write the files of a trained model, and return the largest difference between its outputs and those of ONNX."""
    require_extra("onnx", "onnxruntime", "onnxscript", "safetensors", by=typed("export"), extra="export")
    path, card, model, _ = member
    codec = card.codec
    size = len(codec.tokenizer.vocabulary)
    portable = PortableModel(model, codec.task, size, codec.max_length, codec.pairs, codec.features).eval()
    with new_folder(out) as folder:
        difference = convert(portable, folder / "model.onnx")
        write_model(folder, card, portable)
        write_model_card(folder, card, path, portable, difference)
    return difference


def write_model(folder: Path, card: Card, portable: PortableModel) -> None:
    """Write the tokenizer, the configuration, the weights, and the script that classifies texts."""
    from safetensors.torch import save

    codec = card.codec
    ids = torch.arange(portable.vocab_size).unsqueeze(1)  # a text for each token
    inputs = Inputs(ids, torch.ones_like(ids, dtype=torch.bool))
    known = portable.model.has_known_token(inputs, codec.tokenizer.unknown_id)
    content = codec.model_dump(mode="json", exclude={"tokenizer"})
    config = {
        "format": FORMAT,
        "class_names": content["task"].pop("classes"),
        **content,
        # numbers of special tokens before and after a pair, which the model does not read
        "special": codec.tokenizer.special_counts,
        "id_shift": codec.tokenizer.shift,  # is added to the ids of tokenizer.json
        "unknown_ids": (~known).nonzero().flatten().tolist(),  # of tokens that the model does not use
        "training": {"data": {"text": card.text_column}, **{name: card.config[name] for name in ("model", "loss")}},
    }
    write_text(folder / CONFIG_FILE, json.dumps(config, indent=2, ensure_ascii=False))
    write_text(folder / TOKENIZER_FILE, codec.tokenizer.to_json())
    weights = {name: weight.detach().clone().contiguous() for name, weight in portable.state_dict().items()}
    (folder / "model.safetensors").write_bytes(save(weights))
    write_text(folder / "predict.py", one_file(FILES / "predict.py", Path(runtime.__file__)))


def one_file(script: Path, module: Path) -> str:
    """Return the source of a script with that of a module in place of its import, so that no two scripts share it."""
    source, inlined = (path.read_text(encoding="utf-8") for path in (script, module))
    (statement,) = (node for node in ast.parse(source).body if getattr(node, "module", "") == f"heedful.{module.stem}")
    lines = source.splitlines(keepends=True)
    return "".join([*lines[: statement.lineno - 1], inlined, *lines[statement.end_lineno :]])


def read_export(path: Path) -> Member:
    """Return the model of an ONNX file in the folder of an export; no code in the folder is run."""
    require_extra("onnxruntime", by=str(path), extra="export")
    try:
        config = json.loads((path.parent / CONFIG_FILE).read_text(encoding="utf-8"))
        if (found := config["format"]) > FORMAT:
            raise UserError(f"{path}: has format {found}, and this version of Heedful reads {FORMAT}: update Heedful")
        tokenizer = (path.parent / TOKENIZER_FILE).read_text(encoding="utf-8")
        codec = Schema.model_validate({**config, "tokenizer": tokenizer})
        counts = [0] * len(codec.class_names)
        card = Card(config={"data": {}, **config["training"]}, codec=codec, class_counts=counts)
        model: Any = OnnxClassifier(load_session(path), codec.task, config["unknown_ids"])
    except UserError:
        raise
    except Exception as error:  # onnxruntime raises many types
        reason = first_mistake(error) if isinstance(error, ValidationError) else str(error)
        reason = reason.strip().partition("\n")[0][:200]
        raise UserError(f"{path}: is not the model of an export, or is damaged ({reason}): export it again") from error
    return Member(str(path), card, model, plain_loss(codec.task, counts))


def write_model_card(
    folder: Path, card: Card, checkpoint: str, model: nn.Module, difference: float | None = None
) -> None:
    """Write README.md, with the scores on the test split, or on the validation split if the run was not tested.

    The scores are known if the checkpoint is in the folder of its run.

    Args:
        difference: between the outputs of the ONNX model and of the trained model; None if there is no ONNX model.
    """
    result = RunResult.load(Path(checkpoint).resolve().parent.parent) if checkpoint else RunResult()
    data, choices = card.config["data"], card.choices
    source = data.get("path") or data.get("name") or choices.get("data", "")
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
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        data=Path(str(source)).name,
        sizes=[f"{size:,} {split}" for split, size in result.data.sizes.items()],
        result=result,
        epochs=format_count(len(result.seconds.per_epoch), "epoch"),
        split=result.split,
        scores=scores,
        difference=difference,
    )
    write_text(folder / "README.md", text)


def _escape(value: Any) -> Any:
    """Escape the characters in MARKUP in a string, such as a class name; each run of whitespace becomes one space."""
    if not isinstance(value, str):
        return value
    return " ".join("".join(f"\\{c}" if c in MARKUP else c for c in value).split())
