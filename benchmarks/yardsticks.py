"""What a competent user would write in plain PyTorch: the loops that Heed is measured against."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

PAD, UNKNOWN = 0, 1


class LuongGeneral(nn.Module):
    """The twenty-model report's attention, without a mask: it looks at padding, too."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.project = nn.Linear(size, size, bias=False)

    def forward(self, states: Tensor, query: Tensor) -> Tensor:
        scores = torch.bmm(self.project(states), query.unsqueeze(2))  # N×L×1
        return (torch.softmax(scores, 1) * states).sum(1)


class ReportModel(nn.Module):
    """Embedding 100 → recurrent 128 → Luong general on the last hidden state → one logit."""

    def __init__(self, vocabulary: int, cell: type[nn.RNNBase] = nn.LSTM, bidirectional: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 100)
        self.encoder = cell(100, 128, batch_first=True, bidirectional=bidirectional)
        size = 128 * (2 if bidirectional else 1)
        self.attention = LuongGeneral(size)
        self.head = nn.Linear(size, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        states, last = self.encoder(self.embedding(tokens))  # N×L×D
        hidden = last[0] if isinstance(last, tuple) else last  # directions×N×128
        query = torch.cat(list(hidden), 1)
        return self.head(self.attention(states, query)).squeeze(1)


def padded(texts: Sequence[str], length: int, size: int = 30_000) -> tuple[Tensor, int]:
    """Word ids N×length, cut and padded at the end, and the size of the vocabulary."""
    words = [re.findall(r"\w+|[^\w\s]", text.lower().replace("<br />", " ")) for text in texts]
    known = [word for word, _ in Counter(word for text in words for word in text).most_common(size - 2)]
    ids = {word: i for i, word in enumerate(known, start=2)}
    rows = torch.full((len(texts), length), PAD)
    for row, text in zip(rows, words, strict=True):
        found = [ids.get(word, UNKNOWN) for word in text[:length]]
        row[: len(found)] = torch.tensor(found)
    return rows, len(known) + 2


def loop(model: nn.Module, rows: Tensor, labels: Tensor, batch_size: int = 32) -> Iterator[int]:
    """Train for ever, a step at a time; yields the number of texts of each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    criterion = nn.BCEWithLogitsLoss()
    loader = DataLoader(TensorDataset(rows, labels.float()), batch_size, shuffle=True, drop_last=True)
    while True:
        for tokens, target in loader:
            optimizer.zero_grad()
            criterion(model(tokens), target).backward()
            optimizer.step()
            yield len(target)
