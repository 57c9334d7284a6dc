"""The benchmark's competent loop trains the same with CUDA graphs."""

import pytest
import torch

from benchmarks.baselines import Reviews, Training
from benchmarks.speed import WORKLOADS


@pytest.mark.parametrize("name", ["bilstm", "self_attention_256"])
def test_a_loop_with_graphs_trains_the_same(name: str, device: str) -> None:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 60, (97,), generator=generator)
    texts = [torch.randint(1, 101, (length,), generator=generator) for length in lengths.tolist()]
    reviews = Reviews.of(texts, torch.arange(97) % 2, device)
    models = []
    for has_graphs in (False, device == "cuda"):
        torch.manual_seed(0)
        training = Training(WORKLOADS[name].loops[0], 101, device, has_graphs=has_graphs)
        for module in training.model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        for _ in range(8):
            training.epoch(reviews, torch.arange(97), 8)
        models.append(training.model.eval())
    tokens = reviews.tokens[:, :64].clone()
    with torch.no_grad():
        plain, graphed = (model(tokens) for model in models)
    torch.testing.assert_close(graphed, plain, rtol=1e-2, atol=1e-2)
