"""A callback that compares the attention weight on the words of a lexicon with chance, on the test split.

Lexicons are lists of words with strengths, such as VADER (Hutto and Gilbert, 2014) and AFINN (Nielsen, 2011).
"""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytorch_lightning as pl
import torch
from pydantic import Field

from src.data.datamodule import TextDataModule
from src.data.files import existing_file, open_text
from src.errors import UserError
from src.files import write_text
from src.formatting import format_repr
from src.terms.intervals import mean_of_terms

MIN_COUNT = 20  # words that occur less often in the test split are omitted from the output
SHOWN = 40  # maximum number of words in the output


class LexiconShare(pl.Callback):
    """Writes `lexicon.json`: the fraction of the attention weight on words of the lexicon, compared with chance.

    Chance is the fraction of a text's words that are in the lexicon: the expected fraction of the weight if weights do
    not depend on words. The ratio is the mean weight divided by the mean chance, where both are means over texts. The
    ratio has a 95 % interval over texts (delta method).

    Args:
        folder: output folder.
        path: a file as `read_lexicon` describes it.
        min_strength: minimum absolute strength of a word.

    Raises:
        UserError: if the file cannot be read, or a strength is not a number.
    """

    def __init__(self, folder: str, path: str, min_strength: Annotated[float, Field(ge=0)] = 0.0) -> None:
        self.folder = Path(folder)
        strengths = read_lexicon(path)
        self.lexicon = {word: strength for word, strength in strengths.items() if abs(strength) >= min_strength}

    def on_test_start(self, trainer: pl.Trainer, pl_module: Any) -> None:
        data: TextDataModule = trainer.datamodule  # type: ignore[attr-defined]
        self.words = [token.lstrip("Ġ▁") for token in data.vocabulary]
        self._listed = torch.tensor([word in self.lexicon for word in self.words], device=pl_module.device)
        self._weight: list[np.ndarray] = []
        self._chance: list[np.ndarray] = []
        self._lift = np.zeros(len(self.words))  # sum of each word's weights, relative to the uniform weight
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
        statistics = compare_with_chance(np.concatenate(self._weight), np.concatenate(self._chance))
        text = json.dumps({**statistics, "words": self._most_attended()}, indent=1)
        write_text(self.folder / "lexicon.json", text)
        for logger in trainer.loggers:
            logger.log_metrics({f"test/lexicon_{name}": statistics[name] for name in ("weight", "chance", "ratio")})

    def _most_attended(self) -> list[dict[str, Any]]:
        """Return the words with the largest mean weight relative to the uniform weight, and their lexicon strengths."""
        frequent = np.flatnonzero(self._count >= MIN_COUNT)
        mean = self._lift[frequent] / self._count[frequent]
        top = frequent[np.argsort(-mean, kind="stable")[:SHOWN]]
        return [
            {
                "word": self.words[index],
                "lift": self._lift[index] / self._count[index],
                "count": int(self._count[index]),
                "strength": self.lexicon.get(self.words[index]),
            }
            for index in top
        ]


def compare_with_chance(weight: np.ndarray, chance: np.ndarray) -> dict[str, float]:
    """Return the mean weight and chance, their ratio with its interval, and the fraction of texts with weight > chance.

    The ratio is 0 if no text contains a word of the lexicon.

    Args:
        weight: fraction of each text's attention weight on words of the lexicon, n.
        chance: fraction of each text's words that are in the lexicon, n.
    """
    mean_weight, mean_chance = float(weight.mean()), float(chance.mean())
    ratio = mean_weight / mean_chance if mean_chance else 0.0
    linearized = ratio + (weight - ratio * chance) / (mean_chance or 1.0)  # its mean is the ratio
    _, low, high = mean_of_terms(linearized)
    return {
        "texts": len(weight),
        "weight": mean_weight,
        "chance": mean_chance,
        "ratio": ratio,
        "low": ratio if low is None else low,
        "high": ratio if high is None else high,
        "texts_above_chance": float((weight > chance).mean()),
    }


def read_lexicon(path: str) -> dict[str, float]:
    """Return the strength of each word of a lexicon file, with the words in lower case; the default is 1.

    Each line has a word and optionally, after a tab (in lines without a tab, after a comma), the word's strength.
    Further columns, blank lines, and lines without a tab that start with `;` or `#` are ignored.

    Raises:
        UserError: if the file does not exist, is not text or has no words, or if a line is not a word with a strength.
    """
    file = existing_file(path, "path of the lexicon")
    lexicon: dict[str, float] = {}
    with open_text(file) as text:
        for number, line in enumerate(text, start=1):
            if not line.strip() or (line.startswith((";", "#")) and "\t" not in line):
                continue
            word, *columns = (field.strip() for field in line.split("\t" if "\t" in line else ","))
            try:
                lexicon[word.lower()] = strength = float(columns[0]) if columns else 1.0
            except ValueError:
                strength = math.nan
            if not word or not math.isfinite(strength):
                entry = format_repr(line.strip())
                raise UserError(f"{file}, line {number}: {entry} is not a word with a finite strength")
    if not lexicon:
        raise UserError(f"{file}: has no words")
    return lexicon
