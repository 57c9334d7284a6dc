"""Hugging Face models: what one is, what it looks like untrained, and its weights. `transformers` is optional."""

import json
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from src.data.files import local_path
from src.data.hub import connection
from src.data.tokenizer import Pretrained, Tokenizer
from src.errors import UserError

MISSING_NAME = (
    "name_or_path=null: which pretrained model? It goes with its own tokenizer and word vectors: write "
    "data/tokenizer=pretrained data.tokenizer.name_or_path=… model/embedding=pretrained model/encoder=pretrained"
)

CODE = ("auto_map", "implementation")  # in names of options that let a description choose code, even from the hub


def describe(name_or_path: str) -> dict[str, Any]:
    """All that `untrained` needs, in plain containers that a checkpoint can carry.

    Returns:
        `config`, the model's; `prefix` and `suffix`, its ids of the special tokens around a text.

    Raises:
        UserError: if there is no such model, or it is no encoder.
    """
    config = _read("AutoConfig", name_or_path)
    if config.is_encoder_decoder:
        raise UserError(f"{name_or_path}: has a decoder ({config.model_type}); take an encoder such as BERT")
    plain = json.loads(config.to_json_string(use_diff=False))
    prefix, suffix = tokenizer(name_or_path).around()
    return {"config": {k: v for k, v in plain.items() if k != "_name_or_path"}, "prefix": prefix, "suffix": suffix}


def untrained(description: dict[str, Any]) -> Any:
    """The model with random weights, and with word vectors for its special tokens alone, prefix before suffix."""
    transformers = _transformers()
    options = {key: value for key, value in description["config"].items() if not any(word in key for word in CODE)}
    config = transformers.AutoConfig.for_model(**options)
    return _reduced(transformers.AutoModel.from_config(config).float(), description)


def trained(name_or_path: str, description: dict[str, Any]) -> Any:
    """The same with its pretrained weights.

    Raises:
        UserError: if they cannot be read, or lack a part of the model.
    """
    model, report = _read("AutoModel", name_or_path, output_loading_info=True)
    missing = set(report["missing_keys"])
    model = _reduced(model, description)
    if lacking := sorted(missing & set(model.state_dict())):
        raise UserError(f"{name_or_path}: its weights lack {', '.join(lacking[:3])} …; are they of another model?")
    return model


def tokenizer(name_or_path: str) -> Tokenizer:
    """The model's own."""
    return Pretrained(name_or_path).train([])


def word_dim(name_or_path: str) -> int:
    """Features of a word vector, which may be fewer than those of a state."""
    config = _read("AutoConfig", name_or_path)
    return getattr(config, "embedding_size", None) or config.hidden_size


def word_vectors(name_or_path: str) -> Tensor:
    """The vector of each of the model's ids, rows×D, as the model itself looks them up."""
    words = _read("AutoModel", name_or_path).get_input_embeddings()
    return _vectors(words, range(words.num_embeddings))


def positions(model: Any) -> int | None:
    """How many tokens a model reads, special ones included; None if any number."""
    for name, part in model.named_modules():
        if name.split(".")[-1] == "position_embeddings" and isinstance(part, nn.Embedding):
            first = 0 if part.padding_idx is None else part.padding_idx + 1  # RoBERTa and its kin count from there
            return part.num_embeddings - first
    return getattr(model.config, "max_position_embeddings", None)


def _reduced(model: Any, description: dict[str, Any]) -> Any:
    """Without what nothing here uses: the words' vectors, which are the embedding's, and the pooler."""
    special = description["prefix"] + description["suffix"]
    words = model.get_input_embeddings()
    kept = nn.Embedding(len(special), words.embedding_dim)
    with torch.no_grad():
        kept.weight.copy_(_vectors(words, special))
    model.set_input_embeddings(kept)
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


@torch.no_grad()
def _vectors(words: nn.Module, ids: Any) -> Tensor:
    """Some models scale what their table holds, so it is asked, not read."""
    return words(torch.tensor(list(ids), dtype=torch.long)).float()


def _read(kind: str, name_or_path: str, **options: Any) -> Any:
    """`transformers.<kind>.from_pretrained`, with code of the library alone."""
    maker = getattr(_transformers(), kind)
    path = local_path(name_or_path, "name_or_path")
    folder = path.parent if path is not None and path.is_file() else path  # its tokenizer.json was named
    with connection() if folder is None else nullcontext(False) as online:
        try:
            return maker.from_pretrained(
                str(folder or name_or_path), local_files_only=not online, trust_remote_code=False, **options
            )
        except Exception as error:  # the libraries below raise a different one for each way in which a file is broken
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
