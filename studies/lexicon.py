"""Compare the attention weight on the words of a lexicon with chance: `python -m studies.lexicon CHECKPOINT LEXICON`.

A line of the lexicon has a word and, after a tab, further columns, as in VADER's file (Hutto and Gilbert 2014). The
data is that of the checkpoint, or has the options that follow, such as `data.path=imdb`.
"""

import sys

import numpy as np
import torch
from omegaconf import OmegaConf

from heedful.inference.api import evaluation_data
from heedful.terms.intervals import mean_of_terms
from heedful.training import restoring


def compare_with_chance(weight: np.ndarray, chance: np.ndarray) -> dict[str, float | None]:
    """Return the mean weight and chance, and their ratio with its 95 % interval over texts (delta method).

    Args:
        weight: share of each text's attention weight on words of the lexicon, n.
        chance: share of each text's words that are in the lexicon, n.
    """
    ratio = weight.mean() / chance.mean()
    _, low, high, _ = mean_of_terms(ratio + (weight - ratio * chance) / chance.mean())  # its mean is the ratio
    above = float((weight > chance).mean())
    values = {"weight": float(weight.mean()), "chance": float(chance.mean()), "ratio": float(ratio)}
    return {**values, "low": low, "high": high, "texts_above_chance": above}


@torch.inference_mode()
def main(checkpoint: str, lexicon: str, *options: str) -> None:
    cfg = OmegaConf.merge({"data": {}, "extras": {"trusted_modules": []}}, OmegaConf.from_dotlist(list(options)))
    cfg = OmegaConf.merge(cfg, {"ckpt_path": checkpoint})
    _, card, model, _ = restoring.restore(checkpoint, cfg.extras)
    data = evaluation_data(cfg, card)  # type: ignore[arg-type]
    with open(lexicon, encoding="utf-8") as file:
        listed = {line.split("\t")[0].strip().lower() for line in file}
    is_listed = torch.tensor([token.lstrip("Ġ▁") in listed for token in data.vocabulary])
    weight, chance = [], []
    for inputs, *_ in data.test_dataloader():
        in_lexicon = is_listed[inputs.ids] & inputs.mask  # N×L
        weight.append((model.eval().token_weights(inputs).double() * in_lexicon).sum(1))
        chance.append(in_lexicon.sum(1) / inputs.mask.sum(1).clamp(min=1))
    for name, value in compare_with_chance(torch.cat(weight).numpy(), torch.cat(chance).double().numpy()).items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main(*sys.argv[1:])
