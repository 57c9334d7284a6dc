"""The base class of pooling components, which combine the states of a text into one vector."""

from abc import abstractmethod

from torch import Tensor

from src.models.component import Component
from src.models.types import Encoded


class Pooling(Component):
    """Combines states into one vector: N×T×D → N×`width`·D.

    Args:
        input_dim: D, number of features of a state.

    Attributes:
        width: number of vectors of D features that are concatenated.
    """

    width = 1

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = self.width * input_dim

    @abstractmethod
    def forward(self, encoded: Encoded) -> Tensor:
        """Return one vector for each text: N×T×D → N×`width`·D."""
