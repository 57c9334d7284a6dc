"""Pretrained Hugging Face encoders: BERT (Devlin et al. 2019) and its many kin."""

from typing import Any

import torch
from torch import Tensor, nn

from src.models import pretrained
from src.models.component import Encoder
from src.models.embedding.pretrained import PretrainedEmbedding
from src.models.masking import masked_mean
from src.models.types import Encoded


class PretrainedEncoder(Encoder):
    """All of a pretrained model but its word vectors, frozen or fine-tuned.

    The model is cut in two along Heed's one flow: its table of word vectors is the embedding part
    (`PretrainedEmbedding`), and what reads these vectors, its own positions included, is this part. So no other part
    has to know of token ids, the embedding's options hold for a pretrained model too, and each half has its own
    learning rate (`per_part`).

    The special tokens that the model knows around a text, such as [CLS] and [SEP], are added here and taken off
    again: one state for each token of the text comes out.

    The model's description is read in the constructor and travels in the checkpoint, its weights are read by
    `load_pretrained`: a trained checkpoint needs no file.

    Args:
        input_dim: features of an embedded token; must be those of the model's word vectors.
        name_or_path: the model's folder, or its name on the hub.
        freeze: keep the weights as they are, and leave the model's dropout out.
        max_length: tokens of the longest text; None leaves it open.
        description: what `src.models.pretrained.describe` finds; None asks the model.

    Raises:
        ValueError: if no model is named, if its word vectors have another size, or if it has too few positions.
        UserError: if there is no such model, or it is no encoder.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        name_or_path: str | None = None,
        freeze: bool = False,
        max_length: int | None = None,
        description: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if name_or_path is None:
            raise ValueError(pretrained.MISSING_NAME)
        self.name_or_path = name_or_path
        self.description = pretrained.describe(name_or_path) if description is None else description
        self.description_options = {"description": self.description}
        self.before, self.behind = len(self.description["prefix"]), len(self.description["suffix"])
        self.model = pretrained.untrained(self.description)
        self.output_dim: int = self.model.config.hidden_size
        self._check(input_dim, max_length)
        self.freeze = freeze
        self.model.requires_grad_(not freeze)

    def _check(self, input_dim: int, max_length: int | None) -> None:
        words = self.model.get_input_embeddings().embedding_dim
        if input_dim != words:
            raise ValueError(
                f"the model reads vectors of {words} features, and gets {input_dim}: take "
                "model/embedding=pretrained and model/position=none"
            )
        room, special = pretrained.positions(self.model), self.before + self.behind
        if room is not None and max_length is not None and max_length + special > room:
            raise ValueError(
                f"max_length={max_length}: the model has {room} positions, {special} of them for special tokens: "
                f"write data.max_length={room - special}, or less"
            )

    def require(self, embedding: nn.Module) -> None:
        """Raises ValueError if `embedding` does not hold the word vectors of this model."""
        if not isinstance(embedding, PretrainedEmbedding) or embedding.name_or_path != self.name_or_path:
            raise ValueError(
                f"reads the word vectors of {self.name_or_path} alone: take model/embedding=pretrained, with the "
                "same name_or_path"
            )

    def load_pretrained(self) -> None:
        """Fill the model with its pretrained weights.

        Raises:
            UserError: if they cannot be read, or are not those of the description.
        """
        self.model.load_state_dict(pretrained.trained(self.name_or_path, self.description).state_dict())

    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        """N×L×input_dim → N×L×D; padding must stand at the end of each row.

        The summary is the state of the first special token, [CLS], or the mean where none stands before the text.
        """
        if self.freeze:  # here and not in train(): Lightning sets modes past it, and warns of parts that evaluate
            self.model.eval()
        whole, real = self._surround(states, mask)
        read = self.model(inputs_embeds=whole, attention_mask=real.long()).last_hidden_state  # N×(L+special)×D
        own = read[:, self.before : self.before + mask.shape[1]].masked_fill(~mask.unsqueeze(-1), 0.0)  # N×L×D
        return Encoded(own, mask, read[:, 0] if self.before else masked_mean(own, mask))

    def _surround(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Put the special tokens around each text, its padding behind them: N×L×d, N×L → N×(L+special)×d, its mask."""
        texts, _, dim = states.shape
        special = self.model.get_input_embeddings().weight.to(states.dtype)  # special×d
        prefix = special[: self.before].expand(texts, -1, -1)
        suffix = special[self.before :].expand(texts, -1, -1)
        ends = self.before + mask.sum(1, keepdim=True)  # N×1, where each text stops
        whole = torch.cat([prefix, states, states.new_zeros(texts, self.behind, dim)], 1)
        at = ends + torch.arange(self.behind, device=mask.device)  # N×behind
        whole = whole.scatter(1, at.unsqueeze(-1).expand(-1, -1, dim), suffix)
        return whole, torch.arange(whole.shape[1], device=mask.device) < ends + self.behind
