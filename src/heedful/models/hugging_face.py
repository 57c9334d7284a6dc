"""Hugging Face models; loading them requires the optional package `transformers`."""

import json
from typing import Any

import torch
from torch import Tensor, nn

from heedful.base.errors import UserError
from heedful.base.formatting import format_list
from heedful.base.optional_packages import require_extra
from heedful.data.text_files import local_path
from heedful.data.tokenizer import Pretrained

MISSING_NAME = (
    "name_or_path=null: no pretrained model is selected. Use a model with its own tokenizer and word vectors: write "
    "data/tokenizer=pretrained data.tokenizer.name_or_path=… model/embedding=pretrained model/encoder=pretrained"
)

# Options whose names contain one of these words can make transformers run code from the hub
CODE = ("auto_map", "implementation")


def describe_model(name_or_path: str) -> dict[str, Any]:
    """Return the model's `config` and the ids of the special tokens before and after a text, for a checkpoint."""
    config = _read("AutoConfig", name_or_path)
    if config.is_encoder_decoder:
        raise UserError(f"{name_or_path}: the model has a decoder ({config.model_type}); use an encoder such as BERT")
    plain = json.loads(config.to_json_string(use_diff=False))
    prefix, suffix = Pretrained(name_or_path).train([]).special_ids
    return {"config": {k: v for k, v in plain.items() if k != "_name_or_path"}, "prefix": prefix, "suffix": suffix}


def build_model(description: dict[str, Any]) -> Any:
    """Build a model with random weights from its description.

    The model's table of word vectors has rows for the special tokens only: first the prefix, then the suffix.
    """
    transformers = _transformers()
    options = {key: value for key, value in description["config"].items() if not any(word in key for word in CODE)}
    config = transformers.AutoConfig.for_model(**options)
    return _strip(transformers.AutoModel.from_config(config).float(), description)


def load_model(name_or_path: str, description: dict[str, Any]) -> Any:
    """Load the pretrained model, with the same layers as the result of `build_model`."""
    model, report = _read("AutoModel", name_or_path, output_loading_info=True)
    model = _strip(model, description)
    if missing := sorted(set(report["missing_keys"]) & set(model.state_dict())):
        raise UserError(
            f"{name_or_path}: the weights lack {format_list(missing, plain=True)}; check that they belong to this model"
        )
    return model


def word_dim(name_or_path: str) -> int:
    """Return the number of features of a word vector; states of the model may have more features."""
    config = _read("AutoConfig", name_or_path)
    return getattr(config, "embedding_size", None) or config.hidden_size


def word_vectors(name_or_path: str) -> Tensor:
    """Return the word vectors of all token ids, including any scaling that the model applies: ids×D."""
    words = _read("AutoModel", name_or_path).get_input_embeddings()
    return _vectors(words, range(words.num_embeddings))


def max_tokens(model: Any) -> int | None:
    """Return the maximum number of tokens of a text, including special tokens; None if no limit is known."""
    for name, module in model.named_modules():
        if name.split(".")[-1] == "position_embeddings" and isinstance(module, nn.Embedding):
            # the positions of RoBERTa and similar models start after the padding index
            first = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - first
    return getattr(model.config, "max_position_embeddings", None)


def _strip(model: Any, description: dict[str, Any]) -> Any:
    """Remove the unused pooler and all word vectors, which `PretrainedEmbedding` contains, except special tokens'."""
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
    """Return the vectors of `ids` by calling the module `words`, because some models scale the rows of the table."""
    return words(torch.tensor(list(ids), dtype=torch.long)).float()


def _read(class_name: str, name_or_path: str, **options: Any) -> Any:
    """Return the result of `transformers.<class_name>.from_pretrained`, without running code from the hub."""
    model_class = getattr(_transformers(), class_name)
    path = local_path(name_or_path, "name_or_path")
    folder = path.parent if path is not None and path.is_file() else path  # the path of tokenizer.json is allowed
    try:
        return model_class.from_pretrained(
            str(folder or name_or_path), local_files_only=folder is not None, trust_remote_code=False, **options
        )
    except Exception as error:  # damaged files lead to exceptions of many types
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise UserError(f"{name_or_path}: cannot be read as a pretrained model: {reason}") from error


def _transformers() -> Any:
    require_extra("transformers", by="a pretrained model", extra="pretrained")
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers
