"""Loading of Hugging Face models: description, architecture and weights. `transformers` is optional."""

import json
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from src.data.hub import connection
from src.data.paths import local_path
from src.data.tokenizer import Pretrained
from src.data.trained_tokenizer import Tokenizer
from src.errors import UserError

MISSING_NAME = (
    "name_or_path=null: no pretrained model is named. Use a model with its own tokenizer and word vectors: write "
    "data/tokenizer=pretrained data.tokenizer.name_or_path=… model/embedding=pretrained model/encoder=pretrained"
)

CODE = ("auto_map", "implementation")  # parts of the names of options that can select code on the hub


def describe(name_or_path: str) -> dict[str, Any]:
    """Describe a model for `untrained`, in plain containers that a checkpoint can store.

    Returns:
        `config` of the model; `prefix` and `suffix`, the ids of the special tokens before and after a text.

    Raises:
        UserError: if there is no such model, or it is not an encoder.
    """
    config = _read("AutoConfig", name_or_path)
    if config.is_encoder_decoder:
        raise UserError(f"{name_or_path}: has a decoder ({config.model_type}); use an encoder such as BERT")
    plain = json.loads(config.to_json_string(use_diff=False))
    prefix, suffix = tokenizer(name_or_path).around()
    return {"config": {k: v for k, v in plain.items() if k != "_name_or_path"}, "prefix": prefix, "suffix": suffix}


def untrained(description: dict[str, Any]) -> Any:
    """The model with random weights; its word vectors are only those of the special tokens, prefix before suffix."""
    transformers = _transformers()
    options = {key: value for key, value in description["config"].items() if not any(word in key for word in CODE)}
    config = transformers.AutoConfig.for_model(**options)
    return _strip(transformers.AutoModel.from_config(config).float(), description)


def trained(name_or_path: str, description: dict[str, Any]) -> Any:
    """The same model with its pretrained weights.

    Raises:
        UserError: if they cannot be read or are incomplete.
    """
    model, report = _read("AutoModel", name_or_path, output_loading_info=True)
    missing = set(report["missing_keys"])
    model = _strip(model, description)
    if missing_weights := sorted(missing & set(model.state_dict())):
        raise UserError(
            f"{name_or_path}: its weights lack {', '.join(missing_weights[:3])} …; check that they belong to this model"
        )
    return model


def tokenizer(name_or_path: str) -> Tokenizer:
    """The tokenizer of the model."""
    return Pretrained(name_or_path).train([])


def word_dim(name_or_path: str) -> int:
    """The number of features of a word vector, which may be smaller than that of a state."""
    config = _read("AutoConfig", name_or_path)
    return getattr(config, "embedding_size", None) or config.hidden_size


def word_vectors(name_or_path: str) -> Tensor:
    """The vector of each of the model's ids, rows×D, as the model computes them."""
    words = _read("AutoModel", name_or_path).get_input_embeddings()
    return _vectors(words, range(words.num_embeddings))


def positions(model: Any) -> int | None:
    """The maximum number of tokens, special tokens included; None if unlimited."""
    for name, module in model.named_modules():
        if name.split(".")[-1] == "position_embeddings" and isinstance(module, nn.Embedding):
            first = (
                0 if module.padding_idx is None else module.padding_idx + 1
            )  # RoBERTa and similar models start at this position
            return module.num_embeddings - first
    return getattr(model.config, "max_position_embeddings", None)


def _strip(model: Any, description: dict[str, Any]) -> Any:
    """Remove the word vectors, which belong to the embedding, and the pooler, which is unused."""
    special = description["prefix"] + description["suffix"]
    words = model.get_input_embeddings()
    special_vectors = nn.Embedding(len(special), words.embedding_dim)
    with torch.no_grad():
        special_vectors.weight.copy_(_vectors(words, special))
    model.set_input_embeddings(special_vectors)
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


@torch.no_grad()
def _vectors(words: nn.Module, ids: Any) -> Tensor:
    """The vectors of ids, by a call of the module: some models scale the numbers of their table."""
    return words(torch.tensor(list(ids), dtype=torch.long)).float()


def _read(class_name: str, name_or_path: str, **options: Any) -> Any:
    """`transformers.<class_name>.from_pretrained`, with only the library's own code."""
    model_class = getattr(_transformers(), class_name)
    path = local_path(name_or_path, "name_or_path")
    folder = path.parent if path is not None and path.is_file() else path  # the path of its tokenizer.json
    with connection() if folder is None else nullcontext(False) as online:
        try:
            return model_class.from_pretrained(
                str(folder or name_or_path), local_files_only=not online, trust_remote_code=False, **options
            )
        except Exception as error:  # the libraries raise errors of many types for damaged files
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise UserError(f"{name_or_path}: cannot be read as a pretrained model: {reason}") from error


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise UserError(
            "pretrained models need the package transformers; in Heed's folder, "
            "run: pip install -c constraints.txt '.[pretrained]'"
        ) from error
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers
