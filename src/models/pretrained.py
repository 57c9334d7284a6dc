"""Loading of Hugging Face models: description, architecture and weights. The package `transformers` is optional."""

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
from src.extras import require

MISSING_NAME = (
    "name_or_path=null: no pretrained model is named. Use a model with its own tokenizer and word vectors: write "
    "data/tokenizer=pretrained data.tokenizer.name_or_path=… model/embedding=pretrained model/encoder=pretrained"
)

CODE = ("auto_map", "implementation")  # parts of the names of options that can select code on the hub


def describe(name_or_path: str) -> dict[str, Any]:
    """Describe a pretrained model, so that `untrained` can build the model without its files.

    Returns:
        A dictionary of plain containers, which a checkpoint can store: the model's `config`, and the ids of the special
        tokens before (`prefix`) and after (`suffix`) a text.

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
    """Build a model from its description, with random weights.

    Its table of word vectors has rows only for the special tokens: first the prefix, then the suffix.
    """
    transformers = _transformers()
    options = {key: value for key, value in description["config"].items() if not any(word in key for word in CODE)}
    config = transformers.AutoConfig.for_model(**options)
    return _strip(transformers.AutoModel.from_config(config).float(), description)


def trained(name_or_path: str, description: dict[str, Any]) -> Any:
    """Return the same model as `untrained`, but with its pretrained weights.

    Raises:
        UserError: if the weights cannot be read or are incomplete.
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
    """Return the tokenizer of the model."""
    return Pretrained(name_or_path).train([])


def word_dim(name_or_path: str) -> int:
    """Return the number of features of a word vector, which may be smaller than that of a state."""
    config = _read("AutoConfig", name_or_path)
    return getattr(config, "embedding_size", None) or config.hidden_size


def word_vectors(name_or_path: str) -> Tensor:
    """Return the model's word vectors, one row for each token id, as the model computes them: ids×D."""
    words = _read("AutoModel", name_or_path).get_input_embeddings()
    return _vectors(words, range(words.num_embeddings))


def positions(model: Any) -> int | None:
    """Return the maximum number of tokens of a text, including special tokens; None if it is unlimited."""
    for name, module in model.named_modules():
        if name.split(".")[-1] == "position_embeddings" and isinstance(module, nn.Embedding):
            first = (
                0 if module.padding_idx is None else module.padding_idx + 1
            )  # RoBERTa and similar models start at this position
            return module.num_embeddings - first
    return getattr(model.config, "max_position_embeddings", None)


def _strip(model: Any, description: dict[str, Any]) -> Any:
    """Remove the unused pooler, and the word vectors except those of special tokens; the embedding has the others."""
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
    """Return the vectors of `ids` by a call of the module `words`: some models scale the rows of their table."""
    return words(torch.tensor(list(ids), dtype=torch.long)).float()


def _read(class_name: str, name_or_path: str, **options: Any) -> Any:
    """Return the result of `transformers.<class_name>.from_pretrained`, without running code from the hub."""
    model_class = getattr(_transformers(), class_name)
    path = local_path(name_or_path, "name_or_path")
    folder = path.parent if path is not None and path.is_file() else path  # a path may name its tokenizer.json
    with connection() if folder is None else nullcontext(False) as online:
        try:
            return model_class.from_pretrained(
                str(folder or name_or_path), local_files_only=not online, trust_remote_code=False, **options
            )
        except Exception as error:  # the libraries raise errors of many types for damaged files
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise UserError(f"{name_or_path}: cannot be read as a pretrained model: {reason}") from error


def _transformers() -> Any:
    require("transformers", by="a pretrained model", extra="pretrained")
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers
