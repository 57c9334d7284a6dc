"""The files of an exported model other than the ONNX files."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from src.checkpoint import Card
from src.config.keys import MODEL_COMPONENTS
from src.errors import UserError
from src.portable.onnx_model import PortableModel
from src.run_result import RunResult

FILES = Path(__file__).parent / "files"
FORMAT = 1  # format version of config.json
MARKUP = "\\`*_{}[]<>#|"  # characters with a meaning in Markdown or HTML


@contextmanager
def new_folder(path: str) -> Iterator[Path]:
    """Yield a temporary folder; rename it to `path` if the block raises no exception, and delete it otherwise.

    Raises:
        UserError: if `path` exists and is not an empty folder, or if it cannot be created.
    """
    target = Path(path)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"out={path}: exists and is not an empty folder: choose another name")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".export_", dir=target.parent))
    except OSError as error:
        raise UserError(f"out={path}: cannot be created ({error.strerror})") from error
    try:
        yield folder
        folder.chmod(0o755)  # mkdtemp creates a folder that only its owner can read
        folder.replace(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_model(folder: Path, card: Card, portable: PortableModel) -> None:
    """Write the tokenizer, the configuration, the weights, and the script that classifies texts."""
    from safetensors.torch import save_file

    codec = card.codec
    config = {
        "format": FORMAT,
        "class_names": codec.class_names,
        "max_length": codec.truncation.max_length,
        "keep": codec.truncation.keep,
        "id_shift": codec.tokenizer.shift,
        "training": {name: card.config[name] for name in ("model", "loss")},
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False), encoding="utf-8")
    (folder / "tokenizer.json").write_text(codec.tokenizer.to_json(), encoding="utf-8")
    weights = {name: weight.detach().clone().contiguous() for name, weight in portable.state_dict().items()}
    save_file(weights, folder / "model.safetensors")
    (folder / "model.safetensors").chmod(0o644)  # safetensors creates a file that only its owner can read
    shutil.copyfile(FILES / "predict.py", folder / "predict.py")


def write_model_card(
    folder: Path, card: Card, result: RunResult, parameters: int, difference: float, int8: str | None
) -> None:
    """Write README.md, with the scores on the test split, or on the validation split if the run was not tested.

    Args:
        result: record of the training run; without a value if the checkpoint is not in the folder of its run.
        parameters: number of parameters.
        difference: largest absolute difference between the outputs of torch and of the ONNX model.
        int8: description of the int8 model's accuracy; None if there is no int8 model.
    """
    data, choices = card.config["data"], card.config.get("choices", {})
    source = data.get("path") or data.get("name") or str(data.get("_target_", "")).rpartition(".")[2]
    split = "test" if any(name.startswith("test/") for name in result.metrics) else "val"
    scores = {
        name.removeprefix(f"{split}/"): score
        for name, score in result.metrics.items()
        if name.startswith(f"{split}/") and score.value is not None
    }
    environment = Environment(
        loader=FileSystemLoader(FILES), undefined=StrictUndefined, trim_blocks=True, finalize=_escape, autoescape=False
    )
    text = environment.get_template("README.md.j2").render(
        codec=card.codec,
        components=[f"{part} {choices[part]}" for part in MODEL_COMPONENTS if part in choices],
        parameters=parameters,
        data=Path(str(source)).name,
        sizes=[f"{size:,} {split}" for split, size in result.data.sizes.items()],
        result=result,
        split=split,
        scores=scores,
        difference=difference,
        int8=int8,
    )
    (folder / "README.md").write_text(text, encoding="utf-8")


def _escape(value: Any) -> Any:
    """Escape the characters in MARKUP in a string, such as a class name; each run of whitespace becomes one space."""
    if not isinstance(value, str):
        return value
    return " ".join("".join(f"\\{c}" if c in MARKUP else c for c in value).split())
