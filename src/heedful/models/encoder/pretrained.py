"""Pretrained Hugging Face encoders: BERT (Devlin et al. 2019) and similar models."""

from typing import Any

import torch
from torch import Tensor

from heedful.data.padded_batches import Inputs
from heedful.models import hugging_face
from heedful.models.component import Embedding, Encoded, Encoder, Size, masked_mean
from heedful.models.embedding.pretrained import PretrainedEmbedding


class PretrainedEncoder(Encoder):
    """A pretrained model without its table of word vectors, frozen or fine-tuned.

    The table of word vectors is the embedding (`PretrainedEmbedding`), and the other layers, including the model's own
    positional encoding, are this encoder. It adds the special tokens of the model, such as [CLS] and [SEP], and removes
    their states from the output, which has one state for each token of the text.

    The constructor reads the description of the model, which checkpoints store (`describe_model`), and
    `load_pretrained` reads the weights. Loading a checkpoint does not need the model's files.
    """

    is_pretrained = True
    reads_segments = True

    def __init__(
        self,
        input_dim: int,
        *,
        name_or_path: str | None = None,
        freeze: bool = False,
        max_length: Size | None = None,
        description: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if name_or_path is None:
            raise ValueError(hugging_face.MISSING_NAME)
        self.name_or_path = name_or_path
        self.description = hugging_face.describe_model(name_or_path) if description is None else description
        self.description_options = {"description": self.description}
        self.prefix_length, self.suffix_length = len(self.description["prefix"]), len(self.description["suffix"])
        self.model = hugging_face.build_model(self.description).requires_grad_(not freeze)
        self.output_dim: int = self.model.config.hidden_size
        self.freeze = freeze
        word_dim = self.model.get_input_embeddings().embedding_dim
        if input_dim != word_dim:
            raise ValueError(
                f"the model reads vectors of {word_dim} features, but the input has {input_dim} features: use "
                "model/embedding=pretrained and model/position=none"
            )
        limit, special = hugging_face.max_tokens(self.model), self.prefix_length + self.suffix_length
        if limit is not None and max_length is not None and max_length + special > limit:
            raise ValueError(
                f"max_length={max_length}: the model reads at most {limit} tokens, including {special} special tokens: "
                f"write data.max_length={limit - special}, or less"
            )

    def bind(self, embedding: Embedding) -> None:
        """Raise a ValueError if `embedding` does not contain the word vectors of this model."""
        if not isinstance(embedding, PretrainedEmbedding) or embedding.name_or_path != self.name_or_path:
            raise ValueError(
                f"this encoder needs the word vectors of {self.name_or_path}: use model/embedding=pretrained with "
                "the same name_or_path"
            )

    def load_pretrained(self) -> None:
        self.model.load_state_dict(hugging_face.load_model(self.name_or_path, self.description).state_dict())

    def read(self, states: Tensor, inputs: Inputs) -> Encoded:
        """Encode texts; the second text of a pair, with what follows it, is of type 1 if the model has two types."""
        if inputs.segments is None or getattr(self.model.config, "type_vocab_size", 0) < 2:
            return self(states, inputs.mask)
        firsts = self.prefix_length + (inputs.mask & (inputs.segments == 0)).sum(1, keepdim=True)  # N×1
        steps = torch.arange(states.shape[1] + self.prefix_length + self.suffix_length, device=states.device)
        return self(states, inputs.mask, (steps >= firsts).long())

    def forward(self, states: Tensor, mask: Tensor, types: Tensor | None = None) -> Encoded:
        """Encode texts with padding at the end, and token_type_ids N×(L+special): N×L×input_dim → N×L×D.

        The summary is the state of the first special token, such as [CLS], or else the mean of the real states.
        """
        if self.freeze:
            # eval is not called in `train`, which Lightning does not call, nor in the constructor, because Lightning
            # warns about modules that are in eval mode when training begins
            self.model.eval()
        padded, real = self._add_special_tokens(states, mask)
        options = {} if types is None else {"token_type_ids": types}
        hidden = self.model(inputs_embeds=padded, attention_mask=real.long(), **options).last_hidden_state
        texts = hidden[:, self.prefix_length : self.prefix_length + mask.shape[1]]  # N×(L+special)×D → N×L×D
        texts = texts.masked_fill(~mask.unsqueeze(-1), 0.0)
        return Encoded(texts, mask, hidden[:, 0] if self.prefix_length else masked_mean(texts, mask))

    def _add_special_tokens(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Add special tokens before and after each text: N×L×d, N×L → N×(L+special)×d, N×(L+special)."""
        texts, _, dim = states.shape
        special = self.model.get_input_embeddings().weight.to(states.dtype)  # special×d
        prefix = special[: self.prefix_length].expand(texts, -1, -1)
        suffix = special[self.prefix_length :].expand(texts, -1, -1)
        ends = self.prefix_length + mask.sum(1, keepdim=True)  # N×1, index after the last token of each text
        padded = torch.cat([prefix, states, states.new_zeros(texts, self.suffix_length, dim)], 1)
        positions = ends + torch.arange(self.suffix_length, device=mask.device)  # N×suffix
        padded = padded.scatter(1, positions.unsqueeze(-1).expand(-1, -1, dim), suffix)
        return padded, torch.arange(padded.shape[1], device=mask.device) < ends + self.suffix_length
