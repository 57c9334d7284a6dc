"""No encoder: attention and pooling receive the embeddings."""

from torch import Tensor

from heedful.models.component import Encoded, Encoder, masked_mean, zero_padding


class Identity(Encoder):
    """Returns the embeddings; the summary is their mean over the real tokens."""

    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        return Encoded(zero_padding(states, mask), mask, masked_mean(states, mask))
