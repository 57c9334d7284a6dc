"""Whether attention falls on the words of a lexicon more than by chance, measured on the whole test split."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch

from src.data.datamodule import TextDataModule
from src.data.lexicon import read_lexicon

RESAMPLES = 1000
OFTEN = 20  # occurrences of a word whose weight is worth a mean
SHOWN = 40  # words


class LexiconShare(pl.Callback):
    """Writes `lexicon.json`: the share of each text's weight that its lexicon words get, against their share of words.

    Weights that know nothing of words give the second on average, whatever their distribution: that is chance. The
    ratio is of both means over texts, with a 95 % percentile bootstrap interval over texts.

    Args:
        folder: where to write.
        path: a file with a word at the start of each line and, behind a tab or comma, perhaps its strength, such as
            VADER's or AFINN's.
        min_strength: a word counts if its strength, without its sign, is as large.

    Raises:
        ValueError: if `min_strength` is negative.
        UserError: if the file is not there, or has a strength that is no number.
    """

    def __init__(self, folder: str, path: str, min_strength: float = 0.0) -> None:
        if min_strength < 0:
            raise ValueError(f"min_strength={min_strength} must not be negative")
        self.folder = Path(folder)
        strengths = read_lexicon(path)
        self.lexicon = {word: strength for word, strength in strengths.items() if abs(strength) >= min_strength}

    def on_test_start(self, trainer: pl.Trainer, pl_module: Any) -> None:
        data: TextDataModule = trainer.datamodule  # type: ignore[attr-defined]
        self.words = [token.lstrip("Ġ▁") for token in data.vocabulary]
        self._listed = torch.tensor([word in self.lexicon for word in self.words], device=pl_module.device)
        self._weight: list[np.ndarray] = []
        self._chance: list[np.ndarray] = []
        self._lift = np.zeros(len(self.words))  # weight of each word over its even share, summed
        self._count = np.zeros(len(self.words))

    @torch.inference_mode()
    def on_test_batch_end(self, trainer: pl.Trainer, pl_module: Any, outputs: Any, batch: Any, *args: Any) -> None:
        weights = pl_module.model.token_weights(batch.tokens, batch.mask).double()  # N×L
        listed = self._listed[batch.tokens] & batch.mask  # N×L
        length = batch.mask.sum(1)  # N
        self._weight.append((weights * listed).sum(1).cpu().numpy())
        self._chance.append((listed.sum(1) / length.clamp(min=1)).cpu().numpy())
        tokens = batch.tokens[batch.mask].cpu().numpy()
        lift = (weights * length[:, None])[batch.mask].cpu().numpy()
        self._lift += np.bincount(tokens, lift, len(self.words))
        self._count += np.bincount(tokens, minlength=len(self.words))

    def on_test_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        if not trainer.is_global_zero:
            return
        found = share(np.concatenate(self._weight), np.concatenate(self._chance))
        text = json.dumps({**found, "words": self._heaviest()}, indent=1)
        (self.folder / "lexicon.json").write_text(text, encoding="utf-8")
        for logger in trainer.loggers:
            logger.log_metrics({f"test/lexicon_{name}": found[name] for name in ("weight", "chance", "ratio")})

    def _heaviest(self) -> list[dict[str, Any]]:
        """The words with the most weight an occurrence, in even shares, and their strength in the lexicon."""
        often = np.flatnonzero(self._count >= OFTEN)
        mean = self._lift[often] / self._count[often]
        chosen = often[np.argsort(-mean, kind="stable")[:SHOWN]]
        return [
            {
                "word": self.words[at],
                "lift": self._lift[at] / self._count[at],
                "count": int(self._count[at]),
                "strength": self.lexicon.get(self.words[at]),
            }
            for at in chosen
        ]


def share(weight: np.ndarray, chance: np.ndarray) -> dict[str, float]:
    """Means over texts of both shares (n each), and their ratio with its interval.

    The ratio is 0 where no text holds a word of the lexicon.
    """
    rng = np.random.default_rng(0)
    means = [weight.mean(), chance.mean()]
    draws = np.array(
        [np.bincount(rng.integers(0, len(weight), len(weight)), minlength=len(weight)) for _ in range(RESAMPLES)]
    )
    ratios = np.divide(draws @ weight, draws @ chance, out=np.zeros(RESAMPLES), where=draws @ chance > 0)
    low, high = np.percentile(ratios, [2.5, 97.5])
    ratio = means[0] / means[1] if means[1] else 0.0
    return {
        "texts": len(weight),
        "weight": float(means[0]),
        "chance": float(means[1]),
        "ratio": float(ratio),
        "low": float(low),
        "high": float(high),
        "texts_above_chance": float((weight > chance).mean()),
    }
