"""The files of an exported model other than the ONNX files."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from src.checkpoint import Card
from src.config.keys import MODEL_COMPONENTS
from src.errors import UserError
from src.portable.onnx_model import PortableModel
from src.portable.quantization import AccuracyLoss
from src.run_result import RunResult, Score

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
    folder: Path,
    checkpoint: Path,
    card: Card,
    portable: PortableModel,
    difference: float,
    accuracy_loss: AccuracyLoss | None,
) -> None:
    """Write README.md, with the scores of the run if the checkpoint is in the folder of its run.

    Args:
        checkpoint: path of the exported checkpoint.
        difference: largest absolute difference between the outputs of `portable` and of the ONNX model.
        accuracy_loss: comparison of the int8 model with the ONNX model; None if there is no int8 model.
    """
    result = RunResult.load(checkpoint.resolve().parent.parent)
    choices = card.config.get("choices", {})
    values = {
        "class_names": card.codec.class_names,
        "components": _components(choices),
        "parameters": f"{sum(parameter.numel() for parameter in portable.parameters()):,}",
        "max_length": card.codec.truncation.max_length,
        "keep": card.codec.truncation.keep,
        "difference": difference,
        "int8": None if accuracy_loss is None else str(accuracy_loss),
        **_training(card, result),
        **_scores(result),
    }
    environment = Environment(
        loader=FileSystemLoader(FILES), undefined=StrictUndefined, trim_blocks=True, autoescape=False
    )
    text = environment.get_template("README.md.j2").render({name: _plain(value) for name, value in values.items()})
    (folder / "README.md").write_text(text, encoding="utf-8")


def _components(choices: Mapping[str, str]) -> str:
    return ", ".join(f"{part} {choices[part]}" for part in MODEL_COMPONENTS if part in choices) or "not recorded"


def _training(card: Card, result: RunResult) -> dict[str, Any]:
    """Return the values for the model card's rows on data, seed and training."""
    data = card.config["data"]
    source = data.get("path") or data.get("name") or str(data.get("_target_", "")).rpartition(".")[2]
    sizes = ", ".join(f"{size:,} {split}" for split, size in result.data.sizes.items())
    epochs = f"{len(result.seconds.per_epoch)} epochs, {result.seconds.fit:,.0f} s" if result.seconds.fit else ""
    selected = f", selected by {result.best.monitor}" if result.best.monitor else ""
    return {
        "data": f"{Path(str(source)).name} ({sizes})" if sizes else Path(str(source)).name,
        "seed": "not recorded" if result.seed is None else result.seed,
        "training": f"{epochs} on {result.device}{selected}" if epochs else "not recorded",
    }


def _scores(result: RunResult) -> dict[str, Any]:
    """Return the defined final scores on the test split, or on the validation split if the run has no test metrics."""
    split = "test" if any(name.startswith("test/") for name in result.metrics) else "val"
    scores = [
        {
            "name": name.removeprefix(f"{split}/"),
            "value": f"{score.value:.4f}",
            "interval": _interval(score),
            "n": score.n,
        }
        for name, score in result.metrics.items()
        if name.startswith(f"{split}/") and score.value is not None
    ]
    return {"split": split, "scores": scores}


def _interval(score: Score) -> str:
    return "–" if score.low is None or score.high is None else f"{score.low:.4f} to {score.high:.4f}"


def _plain(value: Any) -> Any:
    """Escape the characters in MARKUP in strings and lists of strings, such as class names; return other values as is.

    Each run of whitespace becomes one space, and whitespace at the ends is removed.
    """
    if isinstance(value, str):
        return " ".join("".join(f"\\{c}" if c in MARKUP else c for c in value).split())
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
