"""No encoder: attention and pooling see the embeddings themselves."""

from torch import Tensor, nn

from src.models.masking import masked_mean
from src.models.types import Encoded


class Identity(nn.Module):
    """Hands the embeddings on; the summary is their mean over real tokens."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        """N×L×D → N×L×D."""
        return Encoded(states.masked_fill(~mask.unsqueeze(-1), 0.0), mask, masked_mean(states, mask))
